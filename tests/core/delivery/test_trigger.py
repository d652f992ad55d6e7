"""What starts something elsewhere, and with which values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.delivery.format import Wish
from kova_auto.core.delivery.formats.trigger import bounded, facts_of, is_test, values_of
from kova_auto.core.delivery.limits import Unit
from kova_auto.core.delivery.needs import NEEDS, problems_of
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome
from kova_auto.core.delivery.payload import FORMATS
from kova_auto.core.delivery.sample import sample_notice
from kova_auto.core.delivery.target import FormatName
from kova_auto.core.delivery.text import border
from kova_auto.core.ids import EndpointName
from kova_auto.core.job import Outcome
from tests.core.delivery.notices import A_TEST, AT, ID, RUN, a_late_job, a_report, a_trouble, an_approval, wish_of

GITHUB, GITLAB = FormatName.GITHUB, FormatName.GITLAB
KINDS: dict[str, Notice] = {
    "outcome": a_report(),
    "approval": an_approval(),
    "unreached": an_approval(unreached="desk: HTTP 500"),
    "late": a_late_job(),
    "recovered": a_late_job(what="recovered"),
    "trouble": a_trouble(),
    "test": A_TEST,
}


def settled(name: FormatName, notice: Notice, on: str) -> str:
    result = FORMATS[name].declines(notice, wish_of(name, on=on))
    return result.outcome if result else "sent"


@pytest.mark.parametrize("name", [GITHUB, GITLAB])
@pytest.mark.parametrize(
    ("on", "becomes"),
    [
        ("outcome", ["sent", "policy_block", "expired", "expired", "expired", "expired", "sent"]),
        ("approval", ["expired", "sent", "expired", "expired", "expired", "expired", "sent"]),
        ("alert", ["expired", "policy_block", "sent", "sent", "sent", "sent", "sent"]),
        ("outcome, approval,alert", ["sent"] * 7),
    ],
)
def test_it_starts_for_what_was_asked_and_never_calls_the_rest_delivered(
    name: FormatName, on: str, becomes: list[str]
) -> None:
    assert [settled(name, notice, on) for notice in KINDS.values()] == becomes


@pytest.mark.parametrize("name", [GITHUB, GITLAB])
def test_by_default_a_pipeline_is_started_for_outcomes_alone(name: FormatName) -> None:
    wish = wish_of(name)
    sent = [kind for kind, notice in KINDS.items() if FORMATS[name].declines(notice, wish) is None]
    assert sent == ["outcome", "test"]


def test_what_is_not_sent_says_why() -> None:
    result = FORMATS[GITHUB].declines(a_late_job(), wish_of(GITHUB))
    assert result
    assert result.detail == "not sent: this endpoint starts nothing for an alert: on = outcome"
    asked = FORMATS[GITHUB].declines(an_approval(), wish_of(GITHUB))
    assert asked
    assert asked.outcome is AttemptOutcome.POLICY_BLOCK
    assert asked.detail == "it starts something, and puts no question to a person: on = outcome"


def test_every_other_format_takes_every_notice() -> None:
    for name in set(FormatName) - {GITHUB, GITLAB}:
        assert [FORMATS[name].declines(notice, Wish(ID)) for notice in KINDS.values()] == [None] * len(KINDS), name


def test_values_say_where_they_come_from() -> None:
    table = {
        "fixed": "as it is",
        "outcome": "run:outcome",
        "scripted": "run:scripted",
        "cost": "run:cost_usd",
        "commit": "input:commit",
        "none": "input:missing",
        "said": "untrusted:answer",
        "why": "untrusted:reason",
    }
    report = a_report(inputs={"commit": "abc"}, answer="I", reason="because", cost_usd=None)
    assert values_of(table, report, Wish(ID)) == {
        "fixed": "as it is",
        "outcome": "done",
        "scripted": "false",
        "cost": "",
        "commit": "abc",
        "none": "",
        "said": "I",
        "why": "because",
    }


def test_a_name_that_looks_like_a_reference_but_is_none_is_refused_with_the_settings() -> None:
    needs = NEEDS[GITLAB]
    given_options = {"project": "1", "ref": "main"}
    for value in ("run:outcom", "run:answer", "untrusted:outcome", "input:", "a\nb"):
        assert [place for place, _, _ in problems_of(needs, {**given_options, "variables": {"A": value}})] == [
            ("variables", "A")
        ], value
    for value in ("run:outcome", "input:commit", "untrusted:answer", "", "plain: text", "x" * 1000):
        assert list(problems_of(needs, {**given_options, "variables": {"A": value}})) == [], value


def test_every_fact_that_the_settings_allow_is_there() -> None:
    pattern = NEEDS[GITLAB].options["variables"].pattern
    names = set(pattern.partition("run:(?:")[2].partition(")")[0].split("|"))
    assert set(facts_of(a_report(), Wish(ID))) == names
    assert facts_of(a_report(), Wish(ID))["run_id"] == RUN


@given(st.text(max_size=60), st.integers(0, 40), st.sampled_from([Unit.BYTES, Unit.CHARACTERS]))
def test_a_bounded_text_is_whole_characters_within_its_bound(text: str, most: int, unit: Unit) -> None:
    text = text.encode("utf-8", "replace").decode()
    found = bounded(text, most, unit.size)
    assert unit.size(found) <= most
    if unit.size(text) <= most:
        assert found == text
    else:
        kept = found.removesuffix("…")
        assert text.startswith(kept)
        assert border(text, len(kept)) == len(kept) or kept == text[: len(kept)].rstrip()


@pytest.mark.parametrize(
    ("notice", "tries"),
    [
        (A_TEST, True),
        (sample_notice(EndpointName("ci"), Outcome.FAILED, AT), True),
        (a_report(), False),
        (an_approval(), False),
    ],
)
def test_a_test_is_known_from_the_real_thing(notice: Notice, tries: object) -> None:
    assert is_test(notice) is tries
