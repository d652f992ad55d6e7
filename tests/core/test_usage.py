"""Sums of what calls of models have used: by anything, with what nobody knows the price of set apart."""

from __future__ import annotations

from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest

from kova_auto.core.errors import ConfigError
from kova_auto.core.ids import JobName, RunId
from kova_auto.core.usage import By, UsageReport, Used, parse_by, report
from kova_auto.core.view import UsageRow
from tests.support import at

UTC_ZONE = ZoneInfo("UTC")
TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


def row(run_id: str = "nightly@1", *, when: datetime | None = None, **changes: object) -> UsageRow:
    """Return what one call used: ten tokens read, one written, for a quarter of a dollar."""
    fields: dict[str, object] = dict.fromkeys(TOKENS, 0) | {"input_tokens": 10, "output_tokens": 1, "cost_usd": 0.25}
    fields |= {"run_id": run_id, "job": run_id.partition("@")[0], "at": when or at("06:00:00"), "model": "test/small"}
    return UsageRow.model_validate(
        {**fields, "seq": 5, "attempt": 1, "iteration": 1, "failed": False, "agent": "", **changes}
    )


def used(calls: int, cost_usd: float | None = 0.0, **changes: object) -> Used:
    """Return the sum of as many such calls."""
    fields = {"calls": calls, "input_tokens": 10 * calls, "output_tokens": calls, "cost_usd": cost_usd}
    return Used.model_validate({**fields, **changes})


def test_a_day_is_that_of_the_zone() -> None:
    rows = [row(when=at("22:59:59")), row(when=at("23:00:00")), row(when=at("23:30:00"))]

    assert report(rows, {By.DAY}, ZoneInfo("Europe/Berlin")).rows == (
        used(1, 0.25, day=date(2026, 12, 1)),
        used(2, 0.5, day=date(2026, 12, 2)),
    )


def test_sums_are_of_what_was_asked_for_and_their_total_of_everything() -> None:
    rows = [row("weekly@1"), row("nightly@1"), row("nightly@1", model="test/big"), row("nightly@2")]
    nightly, weekly = JobName("nightly"), JobName("weekly")

    def parts(*by: By) -> tuple[Used, ...]:
        found = report(rows, by, UTC_ZONE)
        assert found.total == used(4, 1.0)
        return found.rows

    assert parts(By.JOB) == (used(3, 0.75, job=nightly), used(1, 0.25, job=weekly))
    assert parts(By.MODEL) == (used(3, 0.75, model="test/small"), used(1, 0.25, model="test/big"))
    assert parts(By.RUN) == (
        used(1, 0.25, run_id=RunId("weekly@1")),
        used(2, 0.5, run_id=RunId("nightly@1")),
        used(1, 0.25, run_id=RunId("nightly@2")),
    )
    assert parts(By.JOB, By.MODEL) == (
        used(2, 0.5, job=nightly, model="test/small"),
        used(1, 0.25, job=nightly, model="test/big"),
        used(1, 0.25, job=weekly, model="test/small"),
    )


def test_subagents_are_summed_up_by_what_they_are_beside_the_runs_that_nobody_dispatched() -> None:
    rows = [row(), row("nightly@1~1.1", agent="fixer"), row("nightly@1~1.2", agent="fixer"), row("nightly@2")]
    one = RunId("nightly@1")

    assert report(rows, {By.AGENT}, UTC_ZONE).rows == (used(2, 0.5, agent=""), used(2, 0.5, agent="fixer"))
    assert report(rows[:3], {By.RUN, By.AGENT}, UTC_ZONE).rows == (
        used(1, 0.25, run_id=one, agent=""),
        used(2, 0.5, run_id=one, agent="fixer"),
    )


def test_iterations_are_those_of_a_run_and_count_calls_without_a_reply() -> None:
    rows = [row(failed=True), row(seq=7), row(iteration=2), row("nightly@2")]
    one, two = RunId("nightly@1"), RunId("nightly@2")

    assert report(rows, {By.ITERATION}, UTC_ZONE).rows == (
        used(2, 0.5, run_id=one, iteration=1, failed=1),
        used(1, 0.25, run_id=one, iteration=2),
        used(1, 0.25, run_id=two, iteration=1),
    )


def test_a_price_that_is_not_known_is_in_no_sum_and_counted() -> None:
    rows = [
        row(),
        row(model="house/a", cost_usd=None),
        row(model="house/a", cost_usd=None),
        row(model="free/b", cost_usd=0),
    ]

    assert report(rows, {By.MODEL}, UTC_ZONE) == UsageReport(
        rows=(
            used(1, 0.25, model="test/small"),
            used(2, None, model="house/a", unpriced=2),
            used(1, 0.0, model="free/b"),
        ),
        total=used(4, 0.25, unpriced=2),
        unpriced_models=("house/a",),
    )


def test_a_script_is_no_model() -> None:
    found = report([row(model="scripted/look", cost_usd=0.0)], {By.DAY}, UTC_ZONE)

    assert found == UsageReport(rows=(), total=Used(), unpriced_models=())


def test_parts_are_read_with_commas_between_them() -> None:
    assert parse_by("day, model") == {By.DAY, By.MODEL}
    with pytest.raises(ConfigError, match=r"wanted day, job, run, agent, model, iteration, .*found 'week'"):
        parse_by("day,week")


def test_what_subagents_use_is_in_the_sum_of_the_run_that_began_their_line() -> None:
    rows = [row("nightly@1"), row("nightly@1~1.1"), row("nightly@1~1.1~2.1"), row("nightly@2")]
    sums = report(rows, {By.RUN}, UTC_ZONE).rows

    assert [(one.run_id, one.calls) for one in sums] == [("nightly@1", 3), ("nightly@2", 1)]


def test_iterations_are_those_of_each_run() -> None:
    rows = [row("nightly@1"), row("nightly@1~1.1")]

    assert [one.run_id for one in report(rows, {By.ITERATION}, UTC_ZONE).rows] == ["nightly@1", "nightly@1~1.1"]
