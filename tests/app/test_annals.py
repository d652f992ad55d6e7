"""What is on record for a stretch of time is whole up to where it ends."""

from __future__ import annotations

from kova_auto.app.annals import annals
from kova_auto.core.ids import JobName
from kova_auto.core.ledger import Occurrence, OccurrenceStatus, ScheduleVersion
from tests.doubles.journal import MemoryJournal
from tests.support import a_request, at

LOOK, OTHER = JobName("look"), JobName("other")


async def filled() -> MemoryJournal:
    journal = MemoryJournal()
    await journal.begin([ScheduleVersion(job=job, begun_at=at("05:30:00"), schedule="a") for job in (LOOK, OTHER)])
    for hour in (6, 7, 8):
        instant = at(f"0{hour}:00:00")
        row = Occurrence(job=LOOK, schedule="a", nominal_at=instant, due_at=instant, status=OccurrenceStatus.RAN)
        run = a_request(f"look@{hour}", nominal_at=instant, due_at=instant)
        await journal.claim(LOOK, "a", was=await journal.cursor(LOOK, "a"), cursor=instant, rows=[row], runs=[run])
    return journal


async def test_everything_of_a_stretch_is_there() -> None:
    journal = await filled()
    found = await annals(journal, journal, LOOK, at("06:00:00"), at("08:00:00"))

    assert [row.nominal_at for row in found.rows] == [at("06:00:00"), at("07:00:00")]
    assert [run.run_id for run in found.runs] == ["look@6", "look@7"]
    assert ([one.job for one in found.standings], [one.job for one in found.versions]) == ([LOOK], [LOOK])
    assert found.ends_at is None


async def test_where_there_is_too_much_it_says_up_to_where_it_is_whole() -> None:
    journal = await filled()
    found = await annals(journal, journal, None, at("06:00:00"), at("09:00:00"), most=2)

    assert found.ends_at == at("07:00:00")
    assert [row.nominal_at for row in found.rows] == [at("06:00:00")]
    assert [run.run_id for run in found.runs] == ["look@6"]
