"""What schedules implied, beside what the ledger says: every instant once, and what has no row is named."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from kova_auto.core.ids import JobName, RunId
from kova_auto.core.ledger import Occurrence, OccurrenceStatus, ScheduleVersion
from kova_auto.core.run import opened
from kova_auto.core.schedule.calendar import Fate, Line, Record, Spell, calendar, spells
from kova_auto.core.schedule.timetable import Timetable
from kova_auto.core.view import RunRow, run_row
from tests.core.schedule.timetables import excluding, timetable
from tests.support import a_request, at

NIGHTLY = JobName("nightly")
HOURLY = timetable("0 * * * *", zone="UTC", job=NIGHTLY)
HALF_HOURLY = timetable("30 * * * *", zone="UTC", job=NIGHTLY)


def row(clock: str, status: str = "ran", schedule: str = "a", **more: object) -> Occurrence:
    fields = {"job": NIGHTLY, "schedule": schedule, "nominal_at": at(clock), "due_at": at(clock), "status": status}
    return Occurrence.model_validate({**fields, **more})


def spell(cursor: str, *, begun: str = "05:30:00", ended: str = "", of: Timetable | None = HOURLY) -> Spell:
    return Spell("a", of, at(begun), at(ended) if ended else None, at(cursor))


def run(key: str, clock: str) -> RunRow:
    return run_row(opened(a_request(key, nominal_at=at(clock), due_at=at(clock))))


def said(lines: Sequence[Line]) -> list[str]:
    return [
        f"{line.nominal_at:%H:%M}"
        + (f"-{line.until_at:%H:%M} x{line.count}" if line.until_at else "")
        + f" {line.fate}"
        + (f" ({line.why})" if line.why else "")
        for line in lines
    ]


def shown(
    spells_: Sequence[Spell],
    rows: Sequence[Occurrence],
    since: str = "06:00:00",
    until: str = "10:00:00",
    now: str = "08:30:00",
    limit: int = 100,
) -> list[str]:
    return said(calendar(Record(NIGHTLY, spells_, rows), at(since), at(until), at(now), limit=limit))


def test_every_instant_is_there_with_what_became_of_it() -> None:
    rows = [row("06:00:00"), row("07:00:00", "skipped", why="overlap"), row("08:00:00", "pending", why="queued")]

    assert shown([spell("08:00:00")], rows) == [
        "06:00 ran",
        "07:00 skipped (overlap)",
        "08:00 pending (queued)",
        "09:00 upcoming",
    ]


def test_the_beginning_is_included_and_the_end_is_not() -> None:
    assert shown([spell("05:30:00")], [], now="05:30:00", since="07:00:00", until="09:00:00") == [
        "07:00 upcoming",
        "08:00 upcoming",
    ]


def test_an_instant_that_the_ledger_went_past_without_a_row_is_missing() -> None:
    assert shown([spell("08:00:00")], [row("06:00:00"), row("08:00:00")], until="09:00:00") == [
        "06:00 ran",
        "07:00 missing",
        "08:00 ran",
    ]


def test_what_is_due_and_was_not_looked_at_is_no_missing_row() -> None:
    assert shown([spell("06:00:00")], [row("06:00:00")], until="09:00:00") == [
        "06:00 ran",
        "07:00 due (no service has looked since)",
        "08:00 due (no service has looked since)",
    ]


def test_what_jitter_delays_is_still_to_come() -> None:
    late = timetable("0 * * * *", zone="UTC", job=NIGHTLY, jitter=timedelta(minutes=50))
    due_at = late.due_at(at("08:00:00"))
    assert due_at > at("08:00:00")

    lines = calendar(Record(NIGHTLY, [spell("07:00:00", of=late)], []), at("08:00:00"), at("09:00:00"), due_at, limit=9)
    before = calendar(
        Record(NIGHTLY, [spell("07:00:00", of=late)], []), at("08:00:00"), at("09:00:00"), at("08:00:00"), limit=9
    )
    assert [line.fate for line in (*before, *lines)] == ["upcoming", "due"]
    assert [line.due_at for line in lines] == [due_at]


def test_one_row_stands_for_all_instants_of_its_span() -> None:
    rows = [row("06:00:00", "missed", why="outside_window", until_at=at("08:00:00"), count=3), row("09:00:00")]

    assert shown([spell("09:00:00")], rows, now="09:30:00") == ["06:00-08:00 x3 missed (outside_window)", "09:00 ran"]
    assert shown([spell("09:00:00")], rows[:1], since="07:00:00", until="08:30:00", now="09:30:00") == [
        "06:00-08:00 x3 missed (outside_window)"
    ]


def test_each_version_implies_what_lies_between_its_beginning_and_the_next() -> None:
    both = [
        Spell("a", HOURLY, at("05:30:00"), at("07:15:00"), at("07:00:00")),
        Spell("b", HALF_HOURLY, at("07:15:00"), None, at("07:30:00")),
    ]
    rows = [row("06:00:00"), row("07:00:00"), row("07:30:00", schedule="b")]

    assert shown(both, rows, now="08:00:00") == [
        "06:00 ran",
        "07:00 ran",
        "07:30 ran",
        "08:30 upcoming",
        "09:30 upcoming",
    ]


def test_what_nobody_had_looked_at_when_the_schedule_was_changed_is_said_so() -> None:
    gone = [spell("06:00:00", ended="08:30:00"), Spell("", None, at("08:30:00"), None, at("08:30:00"))]

    assert shown(gone, [row("06:00:00")]) == [
        "06:00 ran",
        "07:00 superseded (the schedule was changed before anybody looked)",
        "08:00 superseded (the schedule was changed before anybody looked)",
    ]


def test_what_is_excluded_is_said_of_what_is_to_come_too() -> None:
    early = timetable("0 * * * *", zone="UTC", job=NIGHTLY, exclude=excluding(hours=("09:00-10:00",)))

    (line,) = shown([spell("08:00:00", of=early)], [], since="09:00:00")
    assert line.startswith("09:00 upcoming (excluded")


def test_rows_that_no_version_implies_are_shown_all_the_same() -> None:
    assert shown([], [row("06:17:00", why="")]) == ["06:17 ran"]


def test_the_oldest_lines_are_shown_where_there_are_too_many() -> None:
    lines = shown([spell("06:00:00")], [row("06:00:00")], until="10:00:00", limit=3)

    assert [line[:5] for line in lines] == ["06:00", "07:00", "08:00"]


def test_a_line_brings_the_runs_that_were_meant_for_it() -> None:
    rows = [row("06:00:00", run_id="nightly@6"), row("07:00:00", "missed", why="outside_window")]
    record = Record(NIGHTLY, [spell("07:00:00")], rows, [run("nightly@6", "06:00:00"), run("nightly+7", "07:00:00")])
    lines = calendar(record, at("06:00:00"), at("08:00:00"), at("07:30:00"), limit=9)

    assert [[meant.run_id for meant in line.runs] for line in lines] == [["nightly@6"], ["nightly+7"]]
    assert [line.run_id for line in lines] == [RunId("nightly@6"), None]


def test_lateness_is_from_when_it_was_due_to_when_it_was_settled() -> None:
    record = Record(NIGHTLY, [], [row("06:00:00", settled_at=at("06:00:07")), row("07:00:00")])
    lines = calendar(record, at("06:00:00"), at("08:00:00"), at("07:30:00"), limit=9)

    assert [line.late_s for line in lines] == [7.0, None]


def version(clock: str, schedule: str) -> ScheduleVersion:
    return ScheduleVersion(job=NIGHTLY, begun_at=at(clock), schedule=schedule, body="{}")


def test_an_earlier_version_is_accounted_for_up_to_its_newest_row_and_the_last_up_to_the_cursor() -> None:
    versions = [version("05:00:00", "a"), version("07:15:00", "b"), version("08:15:00", "a")]
    rows = [
        row("06:00:00"),
        row("09:00:00"),
        row("07:00:00", "missed", until_at=at("07:10:00"), count=2),
        row("07:30:00", schedule="b"),
    ]

    found = spells(versions, [HOURLY, HALF_HOURLY, HOURLY], at("09:00:00"), rows)
    assert [(one.schedule, one.ended_at, one.cursor) for one in found] == [
        ("a", at("07:15:00"), at("07:10:00")),
        ("b", at("08:15:00"), at("07:30:00")),
        ("a", None, at("09:00:00")),
    ]


def test_a_version_that_no_service_has_seen_is_accounted_for_up_to_its_beginning() -> None:
    (found,) = spells([version("05:00:00", "a")], [HOURLY], None, [])

    assert found == Spell("a", HOURLY, at("05:00:00"), None, at("05:00:00"))


def test_a_job_that_never_had_a_schedule_has_none() -> None:
    assert spells([], [], None, []) == []


def test_every_status_of_the_ledger_is_a_fate() -> None:
    assert {status.value for status in OccurrenceStatus} <= {fate.value for fate in Fate}


def waiting(**changes: object) -> RunRow:
    """Return a run that was opened for eight o'clock and has not begun."""
    return run("nightly@8", "08:00:00").model_copy(update=changes)


def eight(found: RunRow, **more: datetime) -> Line:
    """Return what becomes of eight o'clock, which has a run."""
    rows = [row("08:00:00", "ran", "a", run_id="nightly@8", **more)]
    (line,) = calendar(Record(NIGHTLY, [], rows, [found]), at("06:00:00"), at("10:00:00"), at("08:30:00"), limit=100)
    return line


def test_an_instant_whose_run_waits_for_a_slot_or_for_its_workspace_is_pending_and_says_so() -> None:
    lines = [
        eight(waiting()),
        eight(waiting(waits_for=RunId("other@1"))),
        eight(waiting(started_at=at("08:00:01"))),
        eight(waiting(finished_at=at("08:00:01"))),
    ]

    assert said(lines) == [
        "08:00 pending (waits for a slot)",
        "08:00 pending (waits for its workspace: other@1 has it)",
        "08:00 ran",
        "08:00 ran",
    ]


def test_a_row_that_waits_for_the_run_before_it_says_so() -> None:
    assert shown([], [row("08:00:00", "pending")]) == ["08:00 pending (waits for the job's run before it)"]


def test_an_instant_that_was_late_keeps_since_when_and_until_when() -> None:
    instants = {"expect_at": at("08:15:00"), "late_at": at("08:15:01"), "recovered_at": at("08:20:00")}
    line = eight(waiting(started_at=at("08:00:01")), **instants)

    assert (line.expect_at, line.late_at, line.recovered_at) == tuple(instants.values())
