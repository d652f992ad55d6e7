"""What an endpoint may be given: keys that only mean something beside others."""

from __future__ import annotations

import pytest

from kova_auto.core.delivery.needs import NEEDS, Needs, Option, options_of, problems_of
from kova_auto.core.delivery.target import FormatName

GITHUB = NEEDS[FormatName.GITHUB]
KINDS = Needs(
    options={
        "kind": Option("a or b", "a|b", default="a"),
        "of_a": Option("a text", where=("kind", "a"), required=True),
        "of_b": Option("names", named=True, most=2, where=("kind", "b")),
    }
)


def problems(given: dict[str, object]) -> list[str]:
    return [f"{'.'.join(place)}: {what} ({hint})" for place, what, hint in problems_of(KINDS, given, {"url"})]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"of_a": "x"}, []),
        ({"kind": "b"}, []),
        ({}, ["of_a: wanted this key, found none (a text)"]),
        ({"kind": "b", "of_a": "x"}, ['of_a: it means nothing here: it is for kind = "a" (leave it out)']),
        ({"of_a": "x", "of_b": {}}, ['of_b: it means nothing here: it is for kind = "b" (leave it out)']),
        ({"kind": "b", "of_b": {"a": "1", "b": "2", "c": "3"}}, ["of_b: wanted at most 2 names, found 3 ()"]),
        ({"kind": "b", "ofb": "x"}, ["ofb: unknown key (did you mean of_b?)"]),
    ],
)
def test_a_key_that_means_nothing_beside_the_others_is_a_problem(given: dict[str, object], found: list[str]) -> None:
    assert problems(given) == found


@pytest.mark.parametrize(
    ("given", "keys"),
    [
        ({"repository": "acme/app"}, []),
        ({"repository": "acme/app", "send": "workflow-dispatch"}, ["workflow", "ref"]),
        ({"repository": "acme/app", "send": "commit-status"}, ["sha"]),
        ({"repository": "acme/app", "send": "commit-status", "sha": "main"}, ["sha"]),
        ({"repository": "acme/app", "send": "commit-status", "sha": "input:commit"}, []),
        ({"repository": "acme/app", "send": "check-run"}, ["send"]),
        ({"repository": "acme/..", "on": "outcome"}, ["repository"]),
        ({"repository": "acme"}, ["repository"]),
        ({"repository": "acme/app", "on": "everything"}, ["on"]),
        ({"repository": "acme/app", "on": "outcome, alert"}, []),
        ({"repository": "acme/app", "event_type": "x" * 101}, ["event_type"]),
        ({"repository": "acme/app", "send": "workflow-dispatch", "workflow": "../x.yml", "ref": "main"}, ["workflow"]),
        ({"repository": "acme/app", "send": "workflow-dispatch", "workflow": "x.yml", "ref": "-main"}, ["ref"]),
        ({"repository": "acme/app", "send": "workflow-dispatch", "workflow": "x.yml", "ref": "a b"}, ["ref"]),
    ],
)
def test_what_github_cannot_do_is_said_with_the_settings(given: dict[str, object], keys: list[str]) -> None:
    assert [place[0] for place, _, _ in problems_of(GITHUB, given)] == keys


def test_defaults_are_there_as_if_they_had_been_written() -> None:
    assert options_of(GITHUB, {"repository": "acme/app"}) == {
        "send": "repository-dispatch",
        "on": "outcome",
        "event_type": "kova-run",
        "detail": "thin",
        "repository": "acme/app",
    }
