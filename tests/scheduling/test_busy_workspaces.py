"""Another job's run has the workspace: whether an instant is skipped or its run waits is the overlap rule's choice."""

from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.core.event import RunAcquired, RunFinished
from kova_auto.core.ids import RunId
from kova_auto.core.job import Outcome
from tests.scheduling.desks import HOURLY, Desk, at_each
from tests.support import a_job, a_request, at

WRITES = 'automation = "workspace-write"\n'
OTHER = RunId("other+1")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Hold an empty directory of jobs."""
    return Desk(tmp_path)


async def other_has(desk: Desk, workspace: Path) -> None:
    """Let another job's run have a workspace."""
    job = a_job("other", workspace=str(workspace), automation="full")
    state, _ = await desk.journal.open(a_request(OTHER, job=job, at=desk.clock.now()))
    await desk.journal.append(state, RunAcquired(at=desk.clock.now(), epoch=1, worker="one"))


async def test_an_instant_is_skipped_while_another_jobs_run_has_the_workspace(desk: Desk) -> None:
    desk.write(WRITES + HOURLY)
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    await other_has(desk, desk.directory)
    await at_each(desk, scheduler, "07:00:00")
    end = RunFinished(at=desk.clock.now(), outcome=Outcome.DONE, answer="Well.")
    await desk.journal.append(await desk.journal.load(OTHER), end)
    await at_each(desk, scheduler, "08:00:00")

    assert await desk.rows() == ["07:00 skipped (workspace busy: other+1 of other)", "08:00 ran"]


async def test_a_job_that_allows_overlap_opens_its_run_which_waits(desk: Desk) -> None:
    desk.write(WRITES + HOURLY + '[policy]\noverlap = "allow"\n')
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    await other_has(desk, desk.directory)
    await at_each(desk, scheduler, "07:00:00")

    assert await desk.rows() == ["07:00 ran"]


@pytest.mark.parametrize(
    ("keys", "where"),
    [('automation = "read-only"\n', "."), (WRITES + 'isolation = "copy"\n', "."), (WRITES, "elsewhere")],
)
async def test_a_job_that_changes_nothing_there_is_not_in_the_way(desk: Desk, keys: str, where: str) -> None:
    (desk.directory / "elsewhere").mkdir()
    (desk.directory / "here").mkdir()
    desk.write('workspace = "here"\n' + keys + HOURLY)
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    await other_has(desk, desk.directory / ("here" if where == "." else where))
    await at_each(desk, scheduler, "07:00:00")

    assert await desk.rows() == ["07:00 ran"]


async def test_a_run_of_the_job_itself_is_an_overlap_as_ever(desk: Desk) -> None:
    desk.write(WRITES + HOURLY)
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    state = await desk.journal.load(RunId(f"nightly@{at('07:00:00'):%Y%m%dT%H%M%SZ}"))
    await desk.journal.append(state, RunAcquired(at=desk.clock.now(), epoch=1, worker="one"))
    await at_each(desk, scheduler, "08:00:00")

    assert await desk.rows() == ["07:00 ran", "08:00 skipped (overlap)"]
