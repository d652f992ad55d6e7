"""The frozen answers of other implementations, and the reports of what went wrong in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypedDict

import pytest

from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.cron import parse_cron
from tests.core.schedule.schedule_oracle import fires


class Vector(TypedDict):
    """One line of the file: an expression, and what at least two implementations make of it."""

    expr: str
    tz: str
    start: str
    count: int
    expected: list[str]
    kind: str
    tag: str


VECTORS: list[Vector] = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "cases/cron.jsonl").read_text(encoding="utf-8").splitlines()
]


def of_kind(kind: str) -> list[Vector]:
    return [vector for vector in VECTORS if vector["kind"] == kind]


def named(vector: Vector) -> str:
    return f"{vector['tag']}: {vector['expr']} {vector['tz']} {vector['start']}"


@pytest.mark.parametrize("vector", of_kind("ok"), ids=named)
def test_an_expression_fires_when_other_implementations_say(vector: Vector) -> None:
    assert fires(vector["expr"], vector["tz"], vector["start"], vector["count"]) == vector["expected"]


@pytest.mark.parametrize("vector", of_kind("invalid"), ids=named)
def test_a_malformed_expression_is_refused_with_a_suggestion(vector: Vector) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_cron(vector["expr"])
    assert (caught.value.key, bool(caught.value.hint)) == ("cron", True)


def test_what_can_never_fire_is_refused_unless_only_its_years_are_over() -> None:
    outcomes: dict[str, list[str]] = {}
    for vector in of_kind("never"):
        try:
            outcomes[vector["expr"]] = fires(vector["expr"], vector["tz"], vector["start"], 1)
        except ConfigError as exc:
            outcomes[vector["expr"]] = [exc.hint]
    refused = ["this would never fire; the last day of any month is L"]
    assert outcomes == {
        "0 0 30 2 *": refused,
        "0 0 31 4 *": refused,
        "0 0 30-31 2 *": refused,
        "0 0 0 1 1 * 2025": [],
    }


def test_no_kind_of_vector_is_left_out() -> None:
    assert {vector["kind"] for vector in VECTORS} == {"ok", "invalid", "never"}
