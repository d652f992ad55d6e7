"""What people complain of in other schedulers about runs and their state; `state_cases.toml` has the list."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import NullPool, create_engine, event

from kova_auto.app.house import House
from kova_auto.app.serving import serve
from kova_auto.clock import SystemClock
from kova_auto.core.ids import RunId
from kova_auto.core.job import Job
from kova_auto.core.ports import Journal, SteadyClock
from kova_auto.core.view import RunRow
from kova_auto.engine.bells import Ear, heard
from kova_auto.scheduling.book import JobBook
from kova_auto.store.migrate import config_for
from kova_auto.store.store import open_store
from tests.app.houses import UNCONFINED, Home
from tests.doubles.clock import HandClock
from tests.support import a_job, a_request, at
from tests.support.chaos import chaos

WATCHES_S = 120
FIRST_REVISION = "0001"
STUBBORN = '''
[[turns]]
text = "I do not go."
[[turns.calls]]
tool = "bash"
args = { command = """
trap '' TERM
(while :; do sleep 1; done) &
echo $$ $! > begun
while :; do wait; done
""" }
[[turns]]
text = "Done."
'''
HANGS = """
[[turns]]
text = "I hang."
[[turns.calls]]
tool = "bash"
args = { command = "echo x > asleep; sleep 600" }
[[turns]]
text = "Done."
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.job("look")
    return home


@asynccontextmanager
async def serving(home: Home, clock: SteadyClock | None = None) -> AsyncIterator[House]:
    """Have a service that serves; what still runs in the end is cut off."""
    async with asyncio.timeout(WATCHES_S), home.house(clock) as house:
        stop = asyncio.Event()
        loops = asyncio.create_task(serve(house, stop))
        yield house
        stop.set()
        house.engine.stopping.now.set()
        await loops


async def ended(house: House, run_id: RunId) -> RunRow:
    """Return a run once it has ended."""
    while (row := await house.control.find(run_id)).outcome is None:
        await house.control.events(run_id, 10**6, 1)
    return row


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


class Hurried(SystemClock):
    """Tell a later time than it is."""

    ahead_s = 0.0

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self.ahead_s)

    def steady_s(self) -> float:
        return super().steady_s() + self.ahead_s


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="this machine does not say who is alive")
async def test_a_tool_that_ignores_signals_and_forks_is_gone_at_its_limit_and_the_next_run_starts(home: Home) -> None:
    home.job("stubborn", f'{UNCONFINED}[limits]\ntimeout = "1h"\ncancel_grace = "1s"\n', STUBBORN)
    begun, clock = home.workspace / "begun", Hurried()
    os.mkfifo(begun)
    async with serving(home, clock) as house:
        run_id = (await house.control.request(home.ask("stubborn"))).run_id
        pids = [int(pid) for pid in (await asyncio.to_thread(begun.read_text)).split()]
        assert [is_alive(pid) for pid in pids] == [True, True]
        clock.ahead_s += 3601
        house.bells.asked(run_id)
        row = await ended(house, run_id)
        assert [is_alive(pid) for pid in pids] == [False, False]
        assert row.outcome == "timed_out"

        home.job("stubborn", UNCONFINED)
        again = await house.control.request(home.ask("stubborn", key="again"))
        assert (await ended(house, again.run_id)).outcome == "done"


async def test_whatever_is_asked_is_answered_while_a_run_hangs(home: Home) -> None:
    home.job("hang", UNCONFINED, HANGS)
    asleep = home.workspace / "asleep"
    os.mkfifo(asleep)
    async with serving(home) as house:
        run_id = (await house.control.request(home.ask("hang"))).run_id
        await asyncio.to_thread(asleep.read_bytes)
        control = house.control
        for _ in range(20):
            assert [row.run_id for row in await control.runs(None, unfinished=True, limit=9)] == [run_id]
            assert (await control.status()).running == 1
            assert (await control.find("last")).execution == "running"
            assert await control.events(run_id, 0, 0)
            assert await control.occurrences(None, 9) == ()
            assert await control.deliveries(None, None, 9) == ()
        row = await ended(house, (await control.request(home.ask("look", key="beside"))).run_id)
        assert (row.outcome, (await control.find(run_id)).outcome) == ("done", None)
        await control.cancel(run_id, "ann", "enough")
        assert (await ended(house, run_id)).outcome == "cancelled"


async def test_a_run_is_found_by_the_id_that_its_notification_has_and_so_is_one_that_never_began(home: Home) -> None:
    async with chaos() as receiver:
        home.settings(
            f'[endpoints.ci]\nurl = "{receiver.url()}"\nsecret = {{ env = "HOOK" }}\nallow_http = true\n'
            'allow_cidrs = ["127.0.0.0/8"]\n'
        )
        told = '[[notify]]\nendpoint = "ci"\n'
        home.job("look", told)
        home.job("blocked", f'model = "nowhere/x"\n[schedule]\non = "startup"\n{told}', script=None)
        environ = {"HOOK": "whsec_" + "aGhoaGhoaGhoaGhoaGhoaGhoaGhoaGhoaGg="}
        async with serving(Home(home.path, environ)) as house:
            await house.control.request(home.ask("look"))
            with house.bells.hung(Ear.WORK) as bell:
                while len(await house.control.deliveries("delivered", None, 9)) < 2:
                    await heard(bell, 0.1)
            data = [json.loads(request.body)["data"] for request in receiver.requests]
            listed = {row.run_id for row in await house.control.runs(None, unfinished=False, limit=9)}
            found = {one["job"]: await house.control.find(one["run_id"]) for one in data}
            kinds = {
                job: [placed.event.kind for placed in await house.control.events(row.run_id, 0, 0)]
                for job, row in found.items()
            }

    assert {one["run_id"] for one in data} == listed
    assert {job: str(row.outcome) for job, row in found.items()} == {"look": "done", "blocked": "blocked"}
    for facts in kinds.values():
        assert (facts[0], facts.count("run_finished")) == ("run_requested", 1)
    assert "model_call_started" not in kinds["blocked"]


def test_fifty_edits_at_once_change_what_they_edit_and_nothing_else(tmp_path: Path) -> None:
    jobs = tmp_path.resolve() / "jobs"
    jobs.mkdir()
    names = [f"job-{number}" for number in range(10)]
    more = 'model = ["acme/a", "acme/b"]\n[limits]\niterations = 7\n'
    for name in names:
        (jobs / f"{name}.toml").write_text(f'description = "as it was"\nprompt = "Do {name}."\n{more}')
    clock = HandClock(at("07:00:00"))
    book = JobBook(jobs, timezone="UTC", endpoints=(), clock=clock)
    book.refresh()
    before = {job.name: job for job in book.jobs}

    def edit(number: int) -> None:
        path = jobs / f"{names[number % len(names)]}.toml"
        new = path.with_suffix(f".{number}")
        text = f'description = "edit {number}"\nprompt = "Do {path.stem}."\n{more}'
        new.write_text(text)
        new.replace(path)

    editors = [threading.Thread(target=edit, args=(number,)) for number in range(50)]
    for editor in editors:
        editor.start()
    while any(editor.is_alive() for editor in editors):
        _ticked(book, before)
    for editor in editors:
        editor.join()
    clock.later(60)
    book.refresh()
    _ticked(book, before)

    assert (len(book.jobs), book.parked) == (10, [])
    assert all(job.description.startswith("edit ") for job in book.jobs)
    texts = {path.stem: path.read_text() for path in jobs.glob("*.toml")}
    assert {job.name: f'description = "{job.description}"' for job in book.jobs} == {
        name: text.partition("\n")[0] for name, text in texts.items()
    }


def _ticked(book: JobBook, before: dict[str, Job]) -> None:
    """Look once, as the service does: nothing has changed but descriptions."""
    if book.has_changed():
        book.refresh()
    for job in book.jobs:
        assert job.model_copy(update={"description": "as it was"}) == before[job.name]


async def _hashes(journal: Journal, jobs: Sequence[Job]) -> dict[str, str]:
    """Return the hash of each job as its run was opened with it."""
    states = [await journal.load(RunId(f"{job.name}@1")) for job in jobs]
    return {state.job.name: hashlib.sha256(state.job.model_dump_json().encode()).hexdigest() for state in states}


async def test_every_job_is_what_it_was_after_an_upgrade_and_a_downgrade(tmp_path: Path) -> None:
    place = tmp_path / "journal.db"
    jobs = [
        a_job(f"job-{number}", prompt=f"Do what {number} says:\n\n- one\n- «two»", limits={"iterations": number + 1})
        for number in range(15)
    ]
    store = open_store(place, create=True)
    for job in jobs:
        await store.journal.open(a_request(f"{job.name}@1", job=job))
    before = await _hashes(store.journal, jobs)
    await store.close()
    engine = create_engine(f"sqlite:///{place}", poolclass=NullPool, connect_args={"isolation_level": None})
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    with engine.begin() as connection:
        command.downgrade(config_for(connection), FIRST_REVISION)
    engine.dispose()
    store = open_store(place, create=False)  # It is upgraded as it is opened.
    after = await _hashes(store.journal, jobs)
    await store.close()

    assert len(set(before.values())) == 15
    assert after == before
