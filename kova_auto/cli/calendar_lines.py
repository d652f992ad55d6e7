"""Show a calendar: what each instant came to, in a line for a person and in names for a program."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from kova_auto.cli.job_rows import JsonDict, iso, local
from kova_auto.core.schedule.calendar import Fate, Line, Meant

CALENDAR_HEAD = ("LOCAL", "UTC", "JOB", "WHAT", "LATE", "WHY")


def cells(line: Line, zone: ZoneInfo) -> tuple[str, ...]:
    """Return a line as a person reads it."""
    what = f"{line.fate} x{line.count}" if line.count > 1 else str(line.fate)
    return local(line.nominal_at, zone), iso(line.nominal_at) or "", line.job, what, late(line.late_s), why(line, zone)


def why(line: Line, zone: ZoneInfo) -> str:
    """Say why an instant came to what it did, and which runs there were for it."""
    said = [f"until {local(line.until_at, zone)}"] if line.until_at else []
    said += [line.why] if line.why else []
    if line.fate is Fate.MISSING:
        said.append("the ledger has gone past it without a row")
    said += [unsuccessful(line, zone)] if line.late_at else []
    return "; ".join([*said, *(spell_run(meant, is_own=meant.run_id == line.run_id) for meant in line.runs)])


def unsuccessful(line: Line, zone: ZoneInfo) -> str:
    """Say that no success came by when it was expected, and when one came after all."""
    by = f"no success by {local(line.expect_at, zone)}" if line.expect_at else "no success in time"
    return f"{by}, one at {local(line.recovered_at, zone)}" if line.recovered_at else by


def spell_run(meant: Meant, *, is_own: bool) -> str:
    """Say what came of a run; of one that is not the schedule's own, that it came afterwards."""
    came = meant.outcome or meant.execution
    more = f" ({meant.reason})" if meant.reason else ""
    return f"{meant.run_id}: {came}{more}" if is_own else f"filled in by {meant.run_id}: {came}{more}"


def late(seconds: float | None) -> str:
    """Say how late something was."""
    if seconds is None:
        return ""
    if seconds < 1:
        return "on time"
    return str(timedelta(seconds=int(seconds)))


def line_json(line: Line, zone: ZoneInfo) -> JsonDict:
    """Return a line as a program reads it; the names stay."""
    return {
        "job": line.job,
        "nominal_at": iso(line.nominal_at),
        "local": _local(line.nominal_at, zone),
        "timezone": zone.key,
        "until_at": iso(line.until_at),
        "count": line.count,
        "due_at": iso(line.due_at),
        "schedule": line.schedule,
        "what": line.fate.value,
        "why": line.why,
        "settled_at": iso(line.settled_at),
        "late_s": line.late_s,
        "expect_at": iso(line.expect_at),
        "late_at": iso(line.late_at),
        "recovered_at": iso(line.recovered_at),
        "run_id": line.run_id,
        "runs": [
            {
                "run_id": run.run_id,
                "execution": run.execution,
                "outcome": run.outcome,
                "reason": run.reason,
                "started_at": iso(run.started_at),
                "finished_at": iso(run.finished_at),
            }
            for run in line.runs
        ],
    }


def _local(instant: datetime, zone: ZoneInfo) -> str:
    return instant.astimezone(zone).isoformat()
