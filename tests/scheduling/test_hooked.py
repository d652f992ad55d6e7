"""Requests from outside start runs: each once, with what it brought, as the job's policy says of any instant."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from kova_auto.core.event import RunFinished
from kova_auto.core.ids import JobName, run_id
from kova_auto.core.inbound.hook import HookRequest, HookStatus, hook_id
from kova_auto.core.job import Outcome
from kova_auto.core.pausing import JobMark
from kova_auto.scheduling.book import JobBook
from kova_auto.scheduling.means import Means
from kova_auto.scheduling.scheduler import Scheduler
from tests.doubles.hooks import MemoryHooks
from tests.doubles.journal import MemoryJournal
from tests.scheduling.desks import HOURLY, Desk, summary
from tests.support import at

DEPLOY = JobName("deploy")
JOB = """
prompt = "Look at {{ inputs.branch }}."
[inputs]
branch = { default = "main" }
[schedule.webhook]
source = "github"
secret = { env = "A" }
map = { branch = "/ref" }
"""


@dataclass
class HookDesk(Desk):
    """Be a desk to which requests come."""

    hooks: MemoryHooks = field(default_factory=lambda: MemoryHooks(MemoryJournal()))

    def __post_init__(self) -> None:
        self.hooks.ledger = self.journal

    def scheduler(self, kind: type[JobBook] = JobBook) -> Scheduler:
        book = kind(self.directory, timezone="UTC", endpoints=())
        memory = self.journal
        means = Means(memory, memory, memory, self.clock, self.opening, self.ring, self.asked.append, hooks=self.hooks)
        return Scheduler(book, means, catch_up=self.catch_up)

    async def receive(self, key: str = "1", branch: str = "main", clock: str = "") -> HookRequest:
        """Keep a request that came just now, or at a time."""
        request = HookRequest(
            hook_id=hook_id(DEPLOY, "github", key),
            job=DEPLOY,
            source="github",
            delivery_id=key,
            digest=key,
            received_at=at(clock) if clock else self.clock.now(),
            event="push",
            actor="ada",
            status=HookStatus.ACCEPTED,
            inputs=json.dumps({"branch": branch}),
        )
        return (await self.hooks.keep(request, (key,), by_body=False)).request

    async def said(self) -> list[str]:
        """Return the rows of the job, oldest first."""
        return [summary(row) for row in reversed(await self.journal.occurrences(DEPLOY))]

    async def end(self, request: HookRequest) -> None:
        """Let the run of a request end."""
        state = await self.journal.load(run_id(DEPLOY, request.received_at))
        await self.journal.append(state, RunFinished(at=self.clock.now(), outcome=Outcome.DONE, answer="Well."))


@pytest.fixture
def desk(tmp_path: Path) -> HookDesk:
    desk = HookDesk(tmp_path)
    desk.write(JOB, "deploy")
    return desk


def at_clock(desk: HookDesk, clock: str) -> None:
    desk.clock.instant = at(clock)


async def test_a_request_starts_a_run_with_what_it_brought(desk: HookDesk) -> None:
    scheduler = desk.scheduler()
    await scheduler.tick()
    request = await desk.receive(branch="feature")
    await scheduler.tick()
    (row,) = await desk.hooks.rows()
    state = await desk.journal.load(run_id(DEPLOY, request.received_at))

    assert (row.status, row.became, row.run_id) == (HookStatus.SETTLED, "ran", state.run_id)
    assert (state.request.inputs, state.request.nominal_at) == ({"branch": "feature"}, request.received_at)
    assert desk.rung == 1


async def test_a_request_starts_one_run_however_often_it_is_looked_at(desk: HookDesk) -> None:
    first, second = desk.scheduler(), desk.scheduler()
    await desk.receive()
    for scheduler in (first, second, first, second):
        await scheduler.tick()
    desk.hooks.kept = [one.model_copy(update={"status": HookStatus.ACCEPTED}) for one in desk.hooks.kept]
    await first.tick()

    assert (len(await desk.runs()), await desk.said()) == (1, ["06:00 ran"])


async def test_what_was_accepted_before_the_service_died_starts_at_the_next_start(desk: HookDesk) -> None:
    await desk.scheduler().tick()
    for key in ("1", "2", "3"):
        await desk.receive(key)
    desk.write(JOB + '[policy]\noverlap = "allow"\n', "deploy")
    at_clock(desk, "22:00:00")
    await desk.scheduler().tick()

    assert [row.partition(" ")[2] for row in await desk.said()] == ["ran", "ran", "ran"]
    assert len(await desk.runs()) == 3


@pytest.mark.parametrize(
    ("policy", "rows"),
    [
        ('overlap = "skip"', ["ran", "skipped (overlap)", "skipped (overlap)"]),
        ('overlap = "queue"', ["ran", "pending", "pending"]),
        ('overlap = "queue"\nqueue_limit = 1', ["ran", "pending", "skipped (queue_full)"]),
        ('overlap = "buffer_one"', ["ran", "skipped (replaced)", "pending"]),
        ('overlap = "allow"\nmax_parallel = 2', ["ran", "ran", "skipped (overlap)"]),
    ],
)
async def test_the_policy_counts_for_what_comes_while_a_run_goes_on(
    desk: HookDesk, policy: str, rows: list[str]
) -> None:
    desk.write(f"{JOB}[policy]\n{policy}\n", "deploy")
    for key in ("1", "2", "3"):
        await desk.receive(key)
    await desk.scheduler().tick()

    assert [row.partition(" ")[2] for row in await desk.said()] == rows
    assert await desk.hooks.waiting() == []


async def test_what_waits_for_its_turn_is_given_what_it_brought(desk: HookDesk) -> None:
    desk.write(f'{JOB}[policy]\noverlap = "queue"\n', "deploy")
    first, second = await desk.receive("1", "one"), await desk.receive("2", "two")
    scheduler = desk.scheduler()
    await scheduler.tick()
    await desk.end(first)
    await scheduler.tick()
    state = await desk.journal.load(run_id(DEPLOY, second.received_at))

    assert state.request.inputs == {"branch": "two"}


@pytest.mark.parametrize(
    ("policy", "row"),
    [
        ("", "06:00 ran"),
        ('missed = "all"', "06:00 ran"),
        ('missed = "skip"', "06:00 missed (policy.missed = skip)"),
        ('start_deadline = "10m"', "06:00 missed (expired)"),
        ('start_deadline = "2h"', "06:00 ran"),
        ('missed_window = "30m"', "06:00 missed (outside_window)"),
        ('missed_window = "2h"', "06:00 ran"),
    ],
)
async def test_a_request_that_waited_for_an_hour_runs_unless_the_policy_says_no(
    desk: HookDesk, policy: str, row: str
) -> None:
    desk.write(f"{JOB}[policy]\n{policy}\n", "deploy")
    await desk.scheduler().tick()
    await desk.receive()
    at_clock(desk, "07:00:00")
    await desk.scheduler().tick()

    assert await desk.said() == [row]


@pytest.mark.parametrize(
    ("more", "row"),
    [
        ('exclude = { weekdays = ["TUE"] }', "06:00 skipped (excluded: weekday TUE)"),
        ('start = "2026-12-02"', "06:00 skipped (before schedule.start)"),
        ('end = "2026-11-01"', "06:00 skipped (after schedule.end)"),
    ],
)
async def test_bounds_and_exclusions_count_for_requests(desk: HookDesk, more: str, row: str) -> None:
    desk.write(JOB.replace("[schedule.webhook]", f"[schedule]\n{more}\n[schedule.webhook]"), "deploy")
    await desk.receive()
    await desk.scheduler().tick()

    assert await desk.said() == [row]


async def test_requests_to_a_paused_job_are_skipped_each_with_its_row(desk: HookDesk) -> None:
    scheduler = desk.scheduler()
    await scheduler.tick()
    await desk.journal.mark(JobMark(job=DEPLOY, at=desk.clock.now(), paused=True, by="ada"))
    for key in ("1", "2"):
        await desk.receive(key)
    await scheduler.tick()

    assert [row.partition(" ")[2] for row in await desk.said()] == ["skipped (paused)", "skipped (paused)"]
    assert await desk.hooks.waiting() == []


async def test_a_job_that_has_spent_its_day_skips_its_requests(desk: HookDesk) -> None:
    desk.spent["deploy"] = 5.0
    await desk.receive()
    await desk.scheduler().tick()

    assert await desk.said() == ["06:00 skipped (budget)"]


@pytest.mark.parametrize("now", [None, HOURLY])
async def test_what_a_job_was_asked_that_is_gone_or_has_another_schedule_is_accounted_for(
    desk: HookDesk, now: str | None
) -> None:
    scheduler = desk.scheduler()
    await scheduler.tick()
    await desk.receive()
    desk.write(now, "deploy") if now else (desk.directory / "deploy.toml").unlink()
    await scheduler.tick()

    assert (await desk.said(), await desk.hooks.waiting()) == (["06:00 skipped (changed)"], [])


async def test_what_a_job_was_asked_whose_file_is_broken_waits_until_it_is_mended(desk: HookDesk) -> None:
    desk.write("prompt = ", "deploy")
    await desk.receive()
    scheduler = desk.scheduler()
    await scheduler.tick()
    assert await desk.said() == []

    desk.write(JOB, "deploy")
    await scheduler.tick()
    assert await desk.said() == ["06:00 ran"]


async def test_requests_wait_where_the_job_files_cannot_be_read(tmp_path: Path) -> None:
    desk = HookDesk(tmp_path / "gone")
    await desk.receive()
    scheduler = desk.scheduler()
    await scheduler.tick()
    assert await desk.said() == []

    desk.directory.mkdir()
    desk.write(JOB, "deploy")
    await scheduler.tick()
    assert await desk.said() == ["06:00 ran"]


async def test_one_request_that_cannot_be_opened_holds_up_no_other_job(desk: HookDesk) -> None:
    desk.write(HOURLY, "nightly")
    desk.broken = {"deploy"}
    scheduler = desk.scheduler()
    await scheduler.tick()
    await desk.receive(clock="06:30:00")
    desk.clock.instant += timedelta(hours=1)
    await scheduler.tick()
    assert await desk.rows() == ["07:00 ran"]

    desk.broken = set()
    await scheduler.tick()
    assert await desk.said() == ["06:30 ran"]
