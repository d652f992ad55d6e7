"""Explain why a job did or did not run at an instant: what its schedule implied, and what the ledger says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from kova_auto.cli.accounted import Accounted, accounted
from kova_auto.cli.calendar_lines import late, line_json, unsuccessful
from kova_auto.cli.frame import FAILED
from kova_auto.cli.instants import instant, named
from kova_auto.cli.job_rows import JsonDict, iso, local
from kova_auto.cli.job_source import JobSource
from kova_auto.cli.output import say, say_json
from kova_auto.core.day import BUDGET
from kova_auto.core.errors import ConfigError
from kova_auto.core.pausing import PAUSED
from kova_auto.core.schedule.calendar import Fate, Line, Meant, Record
from kova_auto.core.schedule.search import TICK, newest
from kova_auto.core.schedule.triggers import WebhookTrigger
from kova_auto.core.state import Execution

if TYPE_CHECKING:
    from kova_auto.settings.model import Settings

_FAR: Final = timedelta(days=366)
_FATES: Final = {
    Fate.RAN: "It ran",
    Fate.PENDING: "It waits",
    Fate.SKIPPED: "It was skipped",
    Fate.MISSED: "It was missed",
    Fate.UPCOMING: "It is still to come",
    Fate.DUE: "Its time has come, and nobody has accounted for it yet; is kova-auto serve running?",
    Fate.SUPERSEDED: "It was never looked at: the schedule was changed before a service did",
    Fate.MISSING: "The ledger has gone past it and has no row of it: that must not be; "
    "kova-auto jobs calendar --check names every such instant",
}
_WHYS: Final = {
    "overlap": "a run of the job was still going on, and policy.overlap says to skip then",
    "queue_full": "as many instants as policy.queue_limit allows were waiting already",
    "replaced": "a newer instant took its place in the queue, as policy.overlap = buffer_one says",
    "stuck": "the run before was asked to end for it, and did not in time",
    "expired": "it had waited longer than policy.start_deadline",
    "changed": "the schedule was changed while it waited",
    "outside_window": "it was noticed when it was older than policy.missed_window",
    "a later one runs": "several had been missed, and a newer one runs in their place",
    "policy.missed = skip": "it was noticed too late, and policy.missed = skip says to let it go then",
    PAUSED: "the schedule was paused",
    BUDGET: "the job had spent what it may on that day",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold what there is to say of one instant.

    Attributes:
        line: What became of it; None where no schedule implied it.
        nearest: The implied instants before and behind it, where it is none itself.
        is_asked: No clock implies the job's instants: a webhook asks for them.
    """

    job: str
    instant: datetime
    zone: ZoneInfo
    line: Line | None
    nearest: tuple[datetime, ...]
    is_asked: bool = False

    @property
    def sentences(self) -> list[str]:
        """Say it."""
        if self.line is None:
            return list(self._nothing())
        if self.is_asked:
            return [f"A webhook asked for it: kova-auto hooks list {self.job}.", *_said(self.line, self.zone)]
        return [f"The schedule implied this instant.{self._span(self.line)}", *_said(self.line, self.zone)]

    @property
    def json(self) -> JsonDict:
        """Return it for a program; the names stay."""
        return {
            "job": self.job,
            "instant": iso(self.instant),
            "implied": self.line is not None,
            "occurrence": line_json(self.line, self.zone) if self.line else None,
            "nearest": [iso(at) for at in self.nearest],
            "sentences": self.sentences,
        }

    def _span(self, line: Line) -> str:
        if line.until_at is None:
            return ""
        first, last = local(line.nominal_at, self.zone), local(line.until_at, self.zone)
        return f" It shares a row with others: {line.count} from {first} to {last}."

    def _nothing(self) -> Iterator[str]:
        if self.is_asked:
            yield f"No webhook asked for it, so nothing was to run; kova-auto hooks list {self.job} shows what came."
            return
        yield "The schedule implied no such instant, so nothing was to run."
        if self.nearest:
            yield f"The nearest are {' and '.join(local(at, self.zone) for at in self.nearest)}."
        else:
            yield "It implied none within a year."


def is_instant(words: list[str]) -> bool:
    """Say whether what a person asks about is JOB@INSTANT."""
    name, separator, text = words[0].rpartition("@") if len(words) == 1 else ("", "", "")
    return bool(separator and name and text[:1].isdigit())


def explain_instant(settings: Settings, word: str, now: datetime, *, as_json: bool) -> int:
    """Say why a job did or did not run at an instant; return the exit code.

    Raises:
        KovaError: There is no such job or no answer, or what follows the @ is no instant.
    """
    name, _, text = word.rpartition("@")
    moment = named("INSTANT", lambda written: instant(written, _zone_of(settings, name)), text).astimezone(UTC)
    answer = _answer(accounted(settings, [name], moment, moment + TICK, now), moment)
    if as_json:
        say_json(answer.json)
    else:
        clock = f"{local(moment, answer.zone)} ({iso(moment)})"
        say("\n".join([f"{answer.job} at {clock}", *(f"  {sentence}" for sentence in answer.sentences)]))
    return 0 if answer.line else FAILED


def _zone_of(settings: Settings, name: str) -> str:
    """Return the zone of a job's schedule as its file has it, or else the service's."""
    source = JobSource(settings)
    try:
        job = source.load(source.paths([name])[0])
    except ConfigError:
        return settings.timezone
    return job.schedule.timezone or settings.timezone if job.schedule else settings.timezone


def _answer(found: Accounted, moment: datetime) -> Answer:
    (record,) = found.records
    lines = [line for line in found.lines(10) if line.nominal_at == moment or _implied(record, moment)]
    line = next(iter(lines), None)
    nearest = () if line else tuple(_nearest(record, moment))
    return Answer(record.job, moment, found.zones()[record.job], line, nearest, _is_asked(record, moment))


def _is_asked(record: Record, moment: datetime) -> bool:
    """Say whether the job was started by a webhook then."""
    return any(
        spell.timetable is not None
        and spell.begun_at <= moment <= (spell.ended_at or moment)
        and isinstance(spell.timetable.trigger, WebhookTrigger)
        for spell in record.spells
    )


def _implied(record: Record, moment: datetime) -> bool:
    """Say whether one of the job's schedules, while it was in effect, implied an instant."""
    return any(
        spell.timetable is not None
        and spell.begun_at < moment <= (spell.ended_at or moment)
        and spell.timetable.implies(moment)
        for spell in record.spells
    )


def _nearest(record: Record, moment: datetime) -> Iterator[datetime]:
    """Yield the implied instants before and behind one, where there are any within a year."""
    before: list[datetime] = []
    behind: list[datetime] = []
    for spell in record.spells:
        if spell.timetable is None:
            continue
        end = min(moment, spell.ended_at or moment)
        last = newest(spell.timetable.next_nominal, max(spell.begun_at, moment - _FAR), end)
        following = spell.timetable.next_nominal(max(moment, spell.begun_at))
        before += [last] if last else []
        behind += [following] if following and following <= min(spell.ended_at or following, moment + _FAR) else []
    yield from ([max(before)] if before else [])
    yield from ([min(behind)] if behind else [])


def _said(line: Line, zone: ZoneInfo) -> Iterator[str]:
    """Say what became of an instant."""
    said = _FATES[line.fate]
    if line.fate is Fate.PENDING and line.why.startswith("waits "):
        said = f"It {line.why}"
    elif line.why and line.fate in {Fate.PENDING, Fate.SKIPPED, Fate.MISSED, Fate.UPCOMING, Fate.RAN}:
        said += f": {_WHYS.get(line.why, line.why)}"
    yield said if said.endswith("?") else f"{said}."
    if line.late_s is not None:
        yield f"That was settled {_after(line.late_s)}."
    if line.late_at is not None:
        yield f"It is late: {unsuccessful(line, zone)} (policy.expect_within)."
    for meant in line.runs:
        yield _of_run(meant, is_own=meant.run_id == line.run_id)


def _after(seconds: float) -> str:
    return "in time" if seconds < 1 else f"{late(seconds)} after it was due"


def _of_run(meant: Meant, *, is_own: bool) -> str:
    who = f"Run {meant.run_id}" if is_own else f"Run {meant.run_id}, which was asked for afterwards,"
    more = f": {meant.reason}" if meant.reason else ""
    if meant.outcome:
        return f"{who} ended as {meant.outcome}{more}. kova-auto runs loop {meant.run_id} shows how."
    came = {
        Execution.QUEUED: "has not begun yet",
        Execution.RUNNING: "is going on",
        Execution.SUSPENDED: "waits for a person",
    }
    return f"{who} {came.get(Execution(meant.execution), meant.execution)}{more}."
