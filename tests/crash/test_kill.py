"""`kill -9` at any point: the run still ends, no finished call happens again, receivers see one id."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from kova_auto.clock import SystemClock
from kova_auto.core.delivery.signature import parse_secret, spell_secret
from kova_auto.core.event import Event, load
from kova_auto.core.message import ResultStatus
from kova_auto.core.run import RunState, fold
from kova_auto.delivery.receiver import Receiver
from tests.crash.zygote import Zygote
from tests.postgres import PostgresServer

SECRET = spell_secret(bytes(range(32)))
CALLS = 6

JOB = """
prompt = "Work."
workspace = "../work"
script = "six.script.toml"
automation = "full"

[permissions]
sandbox = "off"
"""

SCRIPT = """
[[turns]]
text = "First I look."
[[turns.calls]]
tool = "read"
args = { file_path = "a.txt" }
[[turns.calls]]
tool = "glob"
args = { pattern = "*" }

[[turns]]
text = "Then I work."
[[turns.calls]]
tool = "write"
args = { file_path = "new.txt", content = "written once\\n" }
[[turns.calls]]
tool = "bash"
args = { command = "echo ran >> bash.log; echo done" }

[[turns]]
text = "At last I look again."
[[turns.calls]]
tool = "grep"
args = { pattern = "once", path = "." }
[[turns.calls]]
tool = "todo"
args = { items = [{ subject = "rest", status = "completed" }] }

[[turns]]
text = "Done."
"""


@dataclass
class Place:
    """Hold one workspace with its service's directories."""

    base: Path
    database: str = ""
    ids: list[str] = field(default_factory=list)

    def prepare(self) -> None:
        work = self.base / "work"
        work.mkdir(parents=True)
        (self.base / "home").mkdir()
        (work / "a.txt").write_text("one\ntwo\n")
        jobs = self.base / "jobs"
        jobs.mkdir()
        (jobs / "six.toml").write_text(JOB)
        (jobs / "six.script.toml").write_text(SCRIPT)
        settings = self.base / "settings"
        settings.mkdir()
        said = f'data_dir = "{self.base}/data"\njobs_dir = "{jobs}"\n'
        said += 'database = { env = "DATABASE" }\n' if self.database else ""
        (settings / "kova-auto.toml").write_text(said)

    def state(self) -> RunState:
        return fold(self.events())

    def events(self) -> list[Event]:
        engine = create_engine(self.database.replace("postgresql:", "postgresql+psycopg:") or f"sqlite:///{self._file}")
        with engine.connect() as connection:
            if not self.database:
                assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
            rows = connection.exec_driver_sql("SELECT body FROM event ORDER BY seq").scalars().all()
        engine.dispose()
        return [load(body) for body in rows]

    @property
    def _file(self) -> Path:
        return self.base / "data" / "kova-auto.db"

    def witnessed(self) -> Counter[str]:
        log = self.base / "witness.log"
        return Counter(log.read_text().split("\n")[:-1]) if log.exists() else Counter()

    def points(self) -> list[str]:
        return (self.base / "points.log").read_text().splitlines()


async def _lives(zygote: Zygote, place: Place, kills: list[int]) -> RunState:
    """Let victims die at these points, one after the other, and the last one live."""
    place.prepare()
    secret = parse_secret(SECRET)
    async with Receiver([secret], SystemClock().now) as receiver:
        job = place.base / "jobs" / "six.toml"
        order = {"base": str(place.base), "job": str(job), "url": receiver.url, "secret": SECRET}
        order["database"] = place.database
        for kill_at in kills:
            status = await asyncio.to_thread(zygote.run, {**order, "kill_at": kill_at})
            if kill_at > POINTS and status == 0:
                break  # This time a call that only looks took less than a moment.
            assert os.WIFSIGNALED(status), f"point {kill_at} was never reached"
            assert os.WTERMSIG(status) == signal.SIGKILL
        status = await asyncio.to_thread(zygote.run, {**order, "kill_at": 0})
        assert status == 0
        place.ids = [received.headers["webhook-id"] for received in receiver.received]
        assert all(received.verified for received in receiver.received)
    return place.state()


def _check(place: Place, state: RunState, deaths: int) -> None:
    """Hold the promises against what the witness saw."""
    assert state.finished is not None
    assert state.finished.outcome == "done"
    assert len(state.calls) == CALLS
    effects, unknown = place.witnessed(), 0
    for key, known in state.calls.items():
        assert known.result is not None
        seen = effects[f"{key} {known.call.tool}"]
        if known.result.status is ResultStatus.UNKNOWN:
            unknown += 1
            assert known.call.tool in {"write", "bash"}
            assert seen <= 1
        elif known.call.tool in {"write", "bash"} and known.result.status is ResultStatus.OK:
            assert seen == 1, f"{known.call.tool} happened {seen} times"
    assert unknown <= deaths
    log = place.base / "work" / "bash.log"
    ran = log.read_text().count("ran") if log.exists() else 0
    bash = next(known for known in state.calls.values() if known.call.tool == "bash")
    assert bash.result is not None
    assert ran == 1 if bash.result.status is ResultStatus.OK else ran <= 1
    assert len(set(place.ids)) == 1
    assert [owed.status for owed in state.deliveries.values()] == ["delivered"]


async def test_a_run_that_nobody_kills_does_everything_once(zygote: Zygote, tmp_path: Path) -> None:
    place = Place(tmp_path / "calm")
    state = await _lives(zygote, place, [])
    _check(place, state, deaths=0)
    assert place.witnessed() == Counter(
        {"1.1 read": 1, "1.2 glob": 1, "2.1 write": 1, "2.2 bash": 1, "3.1 grep": 1, "3.2 todo": 1}
    )
    assert len(place.ids) == 1
    assert len(place.points()) >= POINTS
    assert all(known.result and known.result.status is ResultStatus.OK for known in state.calls.values())


POINTS = 46  # So many points are passed in a calm run, and more where a call that only looks takes a while.


@pytest.mark.parametrize("kill_at", range(3, POINTS + 1, 5))
async def test_a_run_killed_at_a_point_ends_and_repeats_nothing(zygote: Zygote, tmp_path: Path, kill_at: int) -> None:
    place = Place(tmp_path / "killed")
    state = await _lives(zygote, place, [kill_at])
    _check(place, state, deaths=1)


@pytest.mark.slow
async def test_every_point(zygote: Zygote, tmp_path: Path) -> None:
    calm = Place(tmp_path / "calm")
    await _lives(zygote, calm, [])
    points = len(calm.points())
    for kill_at in range(1, points + 1):
        place = Place(tmp_path / f"point-{kill_at}")
        _check(place, await _lives(zygote, place, [kill_at]), deaths=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(50))
async def test_four_deaths_in_one_run_at_random_points(zygote: Zygote, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    kills = [chance.randint(1, POINTS - 18), *(chance.randint(1, 6) for _ in range(3))]  # All of them come to pass.
    place = Place(tmp_path / "often")
    _check(place, await _lives(zygote, place, kills), deaths=len(kills))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
async def test_a_death_at_a_random_point_on_postgresql(
    zygote: Zygote, tmp_path: Path, postgres: PostgresServer, seed: int
) -> None:
    place = Place(tmp_path / "killed", database=postgres.new_database())
    state = await _lives(zygote, place, [random.Random(seed).randint(1, POINTS)])
    _check(place, state, deaths=1)
