"""What lies in a stretch of time, as a calendar asks for it: rows that reach into it, runs that were meant for it."""

from __future__ import annotations

from kova_auto.core.ids import JobName
from kova_auto.core.ledger import Ledger, Occurrence, OccurrenceStatus
from kova_auto.core.ports import Journal, Views
from tests.support import a_request, at

NIGHTLY, WEEKLY = JobName("nightly"), JobName("weekly")


def row(clock: str, until: str | None = None, job: JobName = NIGHTLY) -> Occurrence:
    return Occurrence(
        job=job,
        schedule="hash",
        nominal_at=at(clock),
        due_at=at(clock),
        status=OccurrenceStatus.MISSED,
        until_at=at(until) if until else None,
        count=2 if until else 1,
    )


async def test_a_row_lies_in_every_stretch_into_which_its_span_reaches(ledger: Ledger) -> None:
    rows = [row("05:00:00"), row("06:00:00", until="08:00:00"), row("09:00:00"), row("09:00:00", job=WEEKLY)]
    for each in rows:
        await ledger.claim(
            each.job, "hash", was=await ledger.cursor(each.job, "hash"), cursor=each.nominal_at, rows=[each]
        )

    assert await ledger.between(NIGHTLY, at("08:00:00"), at("09:00:00")) == [rows[1]]
    assert await ledger.between(NIGHTLY, at("08:00:01"), at("09:00:00")) == []
    assert await ledger.between(NIGHTLY, at("05:00:00"), at("09:00:01")) == rows[:3]
    assert await ledger.between(None, at("09:00:00"), at("10:00:00")) == rows[2:]
    assert await ledger.between(None, at("00:00:00"), at("10:00:00"), limit=2) == rows[:2]


async def test_runs_are_found_by_the_instant_that_they_are_meant_for(journal: Journal, views: Views) -> None:
    for key, nominal, staged in (
        ("nightly@1", "05:00:00", False),
        ("nightly+2", "06:00:00", False),
        ("nightly+3", "06:00:00", True),
        ("nightly+4", None, False),
        ("weekly@5", "06:00:00", False),
    ):
        moment = at(nominal) if nominal else None
        await journal.open(a_request(key, nominal_at=moment, due_at=moment, staged=staged))

    async def meant(job: JobName | None, since: str, until: str) -> list[str]:
        return [found.run_id for found in await views.meant_for(job, at(since), at(until))]

    assert await meant(NIGHTLY, "05:00:00", "06:00:01") == ["nightly@1", "nightly+2"]
    assert await meant(None, "05:00:00", "06:00:00") == ["nightly@1"]
    assert await meant(None, "05:00:01", "07:00:00") == ["nightly+2", "weekly@5"]
    assert await meant(JobName("another"), "05:00:00", "07:00:00") == []
