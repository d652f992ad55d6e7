"""Write a ledger into a person's home, as a service would have left it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

from kova_auto.core.event import RunFinished, RunRequested
from kova_auto.core.ids import JobName
from kova_auto.core.job import Job, Outcome
from kova_auto.core.ledger import Occurrence, ScheduleVersion
from kova_auto.settings.load import load_settings
from kova_auto.store.store import open_store
from tests.cli.command import Home
from tests.support import ALONE


def version(job: Job, begun_at: datetime, schedule: str = "a") -> ScheduleVersion:
    """Return the version that begins with a job's schedule."""
    body = job.schedule.model_dump_json() if job.schedule else ""
    return ScheduleVersion(job=JobName(job.name), begun_at=begun_at, schedule=schedule, body=body)


def write_ledger(
    home: Home,
    versions: Sequence[ScheduleVersion],
    cursor: datetime | None = None,
    rows: Sequence[Occurrence] = (),
    runs: Sequence[tuple[RunRequested, Outcome | None]] = (),
) -> None:
    """Leave versions, rows and runs behind; the cursor is that of the newest version."""
    settings = load_settings(None, {"HOME": str(home.path), **ALONE})

    async def write() -> None:
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        store = open_store(settings.database_file, create=True)
        for each in versions:
            await store.ledger.begin([each])
        newest = versions[-1]
        was = await store.ledger.cursor(newest.job, newest.schedule)
        if cursor is not None:
            await store.ledger.claim(newest.job, newest.schedule, was=was, cursor=cursor, rows=rows)
        for request, outcome in runs:
            state, _ = await store.journal.open(request)
            if outcome:
                await store.journal.append(state, RunFinished(at=request.at, outcome=outcome, answer="Well."))
        await store.close()

    asyncio.run(write())
