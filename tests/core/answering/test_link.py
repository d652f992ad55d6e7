"""Links are good for one call as it was asked about, until an instant, and for nothing that was not made here."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.answering.link import AnswerKey, Claim, Unusable, claim_of, digest_of, read_token, token_of
from kova_auto.core.consent import ApprovalRequested, Target
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.run import CallState
from tests.support import at, tool_call

KEY, OTHER = AnswerKey(b"k" * 32), AnswerKey(b"o" * 32)
CLAIM = Claim(RunId("nightly@20261201T060000Z"), CallId("1.1"), "d" * 32, "team-slack", at("12:00:00"))


def asked(**changes: object) -> ApprovalRequested:
    return ApprovalRequested.model_validate({"at": at("06:00:00"), "call_id": "1.1", **changes})


def test_a_link_says_what_it_was_made_for() -> None:
    assert read_token(KEY, token_of(KEY, CLAIM), at("11:59:59")) == CLAIM


def test_a_link_fits_an_address_and_a_button() -> None:
    token = token_of(KEY, CLAIM)

    assert len(token) < 300
    assert token.isascii()
    assert set(token) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")


def test_a_link_is_good_before_its_time_is_over_and_not_at_it() -> None:
    assert read_token(KEY, token_of(KEY, CLAIM), at("12:00:00")) is Unusable.OVER


def test_another_key_makes_other_links() -> None:
    assert read_token(OTHER, token_of(KEY, CLAIM), at("07:00:00")) is Unusable.BROKEN


@given(st.integers(0, 400), st.characters(codec="utf-8"))
def test_a_link_that_was_changed_anywhere_is_none(place: int, by: str) -> None:
    token = token_of(KEY, CLAIM)
    at_index = place % len(token)
    changed = token[:at_index] + by + token[at_index + 1 :]

    if changed != token:
        assert read_token(KEY, changed, at("07:00:00")) is Unusable.BROKEN


@given(st.text(max_size=300))
def test_whatever_is_sent_is_read_without_harm(text: str) -> None:
    assert read_token(KEY, text, at("07:00:00")) is Unusable.BROKEN


@pytest.mark.parametrize("cut", [1, 2, 10, 43, 44, 60])
def test_a_link_that_was_cut_is_none(cut: int) -> None:
    assert read_token(KEY, token_of(KEY, CLAIM)[:-cut], at("07:00:00")) is Unusable.BROKEN


def test_a_link_s_time_is_that_of_the_request() -> None:
    call = CallState(tool_call("write", file_path="a"), approval=asked(expires_at=at("18:00:00.500000")))
    assert call.approval is not None

    claim = claim_of(RunId("r@1"), call, call.approval, "ci")

    assert claim.expires_at == at("18:00:00")


def test_a_request_without_an_end_has_links_that_have_one() -> None:
    call = CallState(tool_call("write", file_path="a"), approval=asked())
    assert call.approval is not None

    assert claim_of(RunId("r@1"), call, call.approval, "ci").expires_at == at("06:00:00") + timedelta(days=30)


def test_what_is_shown_decides_whether_it_is_still_the_same_call() -> None:
    first = CallState(tool_call("write", file_path="a"), approval=asked(), asked_seq=7)
    others = [
        CallState(tool_call("write", file_path="b"), approval=asked(), asked_seq=7),
        CallState(tool_call("bash", file_path="a"), approval=asked(), asked_seq=7),
        CallState(tool_call("write", file_path="a"), approval=asked(), asked_seq=9),
        CallState(tool_call("write", file_path="a"), approval=asked(targets=(Target(path="/a"),)), asked_seq=7),
    ]

    assert digest_of(first) == digest_of(CallState(tool_call("write", file_path="a"), approval=asked(), asked_seq=7))
    assert len({digest_of(call) for call in (first, *others)}) == 5


def test_a_key_is_not_shown() -> None:
    assert "kkk" not in repr(KEY)


def test_an_instant_in_another_zone_is_the_same_link() -> None:
    moved = Claim(CLAIM.run_id, CLAIM.call_id, CLAIM.digest, CLAIM.endpoint, datetime(2026, 12, 1, 12, tzinfo=UTC))

    assert token_of(KEY, moved) == token_of(KEY, CLAIM)
