"""Presses of buttons: who may, and what is read of what Slack sends."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.answering.buttons import Ignored, Press, Pressers, note_to_one, press_of, replacement
from kova_auto.core.approval.levels import Decision

ALLOWED = Pressers("T1", ("U1", "U2"), "A1")


def sent(**changes: object) -> bytes:
    payload: dict[str, object] = {
        "type": "block_actions",
        "team": {"id": "T1"},
        "user": {"id": "U1"},
        "api_app_id": "A1",
        "response_url": "https://hooks.slack.com/actions/T1/2/3",
        "actions": [{"action_id": "kova_allow", "value": "token"}],
    }
    return urlencode({"payload": json.dumps({**payload, **changes})}).encode()


def test_a_press_says_what_was_decided_and_by_whom() -> None:
    assert press_of(sent(), ALLOWED) == Press(
        Decision.ONCE, "token", "T1", "U1", "https://hooks.slack.com/actions/T1/2/3"
    )
    denied = press_of(sent(actions=[{"action_id": "kova_deny", "value": "t"}]), ALLOWED)
    assert isinstance(denied, Press)
    assert denied.decision is Decision.DENY


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"team": {"id": "T2"}}, Ignored.TEAM),
        ({"team": None}, Ignored.TEAM),
        ({"user": {"id": "U3"}}, Ignored.USER),
        ({"user": {}}, Ignored.USER),
        ({"api_app_id": "A2"}, Ignored.APP),
        ({"type": "view_submission"}, Ignored.OTHER),
        ({"actions": []}, Ignored.OTHER),
        ({"actions": [{"action_id": "kova_open_0"}]}, Ignored.OTHER),
        ({"actions": [{"action_id": "kova_allow"}, {"action_id": "kova_deny"}]}, Ignored.OTHER),
        ({"actions": "kova_allow"}, Ignored.OTHER),
    ],
)
def test_a_press_that_does_not_count_is_ignored(changes: dict[str, object], why: Ignored) -> None:
    assert press_of(sent(**changes), ALLOWED) is why


def test_any_app_that_knows_the_secret_may_where_none_is_named() -> None:
    assert isinstance(press_of(sent(api_app_id="A9"), Pressers("T1", ("U1",))), Press)


@pytest.mark.parametrize("body", [b"", b"payload=", b"payload={", b"payload=[]&payload=[]", b"\xff", b"payload=%5B%5D"])
def test_what_does_not_read_is_ignored(body: bytes) -> None:
    assert isinstance(press_of(body, ALLOWED), Ignored)


@given(
    st.recursive(
        st.none() | st.text(max_size=5) | st.integers(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["type", "team", "user", "id", "actions", "action_id"]), inner)
        ),
        max_leaves=12,
    )
)
def test_whatever_shape_it_has_nothing_breaks(payload: object) -> None:
    assert isinstance(press_of(urlencode({"payload": json.dumps(payload)}).encode(), ALLOWED), Ignored)


def test_what_replaces_the_message_mentions_nobody() -> None:
    body = json.loads(replacement("Denied by <!channel> @here"))

    assert body["replace_original"] is True
    assert "<!" not in json.dumps(body)
    assert "@here" not in body["text"]


def test_a_note_to_one_leaves_the_message() -> None:
    body = json.loads(note_to_one("Not taken"))

    assert (body["replace_original"], body["response_type"]) == (False, "ephemeral")


def test_a_press_shows_neither_its_token_nor_its_address() -> None:
    press = press_of(sent(), ALLOWED)

    assert "token" not in repr(press).replace("token=", "")
    assert "hooks.slack.com" not in repr(press)
