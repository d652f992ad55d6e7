"""Look into a SQLite journal without opening it, for commands that must answer at once.

SQLAlchemy alone would take them longer than all the rest. A connection that only reads needs no owner's lock, holds up
nobody, and never checkpoints.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from kova_auto.core.errors import JournalError
from kova_auto.core.fault import LASTING
from kova_auto.core.ids import JobName
from kova_auto.core.ledger import ScheduleVersion
from kova_auto.core.pausing import JobMark, Pause, pauses

PATIENCE_S = 1.0

T = TypeVar("T")

_HAS = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
_VERSIONS = "SELECT job, begun_at, schedule, body FROM schedule_version ORDER BY begun_at"
_MARKS = 'SELECT job, at, paused, "by", reason FROM job_mark'
_PAUSING = """
SELECT job, finished_at, run_id, pauses FROM run
WHERE pauses <> '' AND finished_at IS NOT NULL AND staged = 0 AND NOT EXISTS (
  SELECT 1 FROM run AS newer
  WHERE newer.job = run.job AND newer.staged = 0 AND (newer.finished_at, newer.run_id) > (run.finished_at, run.run_id)
  AND (newer.pauses <> '' OR newer.fault NOT IN (SELECT value FROM json_each(?)))
)
"""


def pauses_in(path: Path) -> dict[JobName, Pause]:
    """Return the jobs whose schedules rest; none where there is no journal, or one from before there were pauses.

    Raises:
        JournalError: It cannot be read.
    """
    return _looked(path, "job_mark", lambda driver: pauses(list(_marks(driver)), list(_pausing(driver)))) or {}


def schedules_in(path: Path) -> dict[JobName, ScheduleVersion]:
    """Return the schedule that each job had last; none where there is no journal, or an old one.

    Raises:
        JournalError: It cannot be read.
    """
    found = _looked(path, "schedule_version", lambda driver: list(_versions(driver))) or []
    return {version.job: version for version in found}


def _looked(path: Path, table: str, look: Callable[[sqlite3.Connection], T]) -> T | None:
    """Return what is seen in a journal; None where there is none, or one from before there was a table."""
    if not path.is_file():
        return None
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=PATIENCE_S)) as driver:
            return look(driver) if driver.execute(_HAS, [table]).fetchone() else None
    except sqlite3.Error as exc:
        msg = f"the journal {path} could not be read: {exc}"
        raise JournalError(msg) from exc


def _marks(driver: sqlite3.Connection) -> Iterator[JobMark]:
    for job, at, paused, by, reason in driver.execute(_MARKS):
        yield JobMark(job=JobName(job), at=_instant(at), paused=bool(paused), by=by, reason=reason)


def _pausing(driver: sqlite3.Connection) -> Iterator[Pause]:
    for job, at, run_id, reason in driver.execute(_PAUSING, [json.dumps(sorted(LASTING))]):
        yield Pause(job=JobName(job), at=_instant(at), by=f"run {run_id}", reason=reason)


def _versions(driver: sqlite3.Connection) -> Iterator[ScheduleVersion]:
    for job, at, schedule, body in driver.execute(_VERSIONS):
        yield ScheduleVersion(job=JobName(job), begun_at=_instant(at), schedule=schedule, body=body)


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
