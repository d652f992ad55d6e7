"""`kill -9` at any point of a whole family: the same answer, no effect twice, one run for each child, one delivery."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from kova_auto.clock import SystemClock
from kova_auto.core.delivery.signature import parse_secret
from kova_auto.core.event import Event, load
from kova_auto.core.ids import CallId
from kova_auto.core.message import ResultStatus
from kova_auto.core.run import RunState, fold
from kova_auto.delivery.receiver import Receiver
from tests.crash.test_kill import SECRET, Place
from tests.crash.zygote import Zygote
from tests.postgres import PostgresServer

CHILDREN = ("a", "b", "c", "d")
POINTS = 150
"""So many points are passed in a calm run at the least; how the children fall together differs from run to run."""

JOB = """
prompt = "Work."
workspace = "../work"
script = "six.script.toml"
automation = "full"
agents.allow = ["fixer"]

[permissions]
sandbox = "off"
"""

PARENT = """
[[turns]]
text = "I send four."
{dispatches}

[[turns]]
[[turns.calls]]
tool = "TaskWait"
args = {{ timeout_s = 600 }}

[[turns]]
text = "They say: {reports}"
"""

DISPATCH = """[[turns.calls]]
id = "{name}"
tool = "Task"
args = {{ agent = "fixer", task = "mend {name}", description = "{name}" }}
"""

CHILD = """
[[subagents]]
agent = "fixer"
expect = "mend {name}"
[[subagents.turns]]
[[subagents.turns.calls]]
tool = "read"
args = {{ file_path = "{name}.txt" }}
[[subagents.turns]]
[[subagents.turns.calls]]
tool = "write"
args = {{ file_path = "{name}.out", content = "by {name}\\n" }}
[[subagents.turns.calls]]
tool = "bash"
args = {{ command = "echo ran >> {name}.log" }}
[[subagents.turns]]
text = "{name} is mended"
"""


@dataclass
class FamilyPlace(Place):
    """Hold a job that dispatches four children, each with work on files of its own."""

    bodies: list[str] = field(default_factory=list)

    def prepare(self, slots: int = 4) -> None:
        super().prepare()
        jobs = self.base / "jobs"
        (jobs / "six.toml").write_text(JOB)
        dispatches = "".join(DISPATCH.format(name=name) for name in CHILDREN)
        reports = "{{ results.TaskWait_1.text | replace('\\n', ' ') }}"
        parts = "".join(CHILD.format(name=name) for name in CHILDREN)
        (jobs / "six.script.toml").write_text(PARENT.format(dispatches=dispatches, reports=reports) + parts)
        for name in CHILDREN:
            (self.base / "work" / f"{name}.txt").write_text(f"what {name} reads\n")
        settings = self.base / "settings" / "kova-auto.toml"
        settings.write_text(f"max_concurrent_runs = {slots}\n" + settings.read_text())

    def family(self) -> dict[str, RunState]:
        """Return each run, by what its id has behind the parent's."""
        facts: dict[str, list[Event]] = defaultdict(list)
        engine = create_engine(self.database.replace("postgresql:", "postgresql+psycopg:") or f"sqlite:///{self._file}")
        with engine.connect() as connection:
            rows = connection.exec_driver_sql("SELECT run_id, body FROM event ORDER BY run_id, seq").all()
        engine.dispose()
        for run_id, body in rows:
            facts[str(run_id).partition("~")[2]].append(load(body))
        return {key: fold(events) for key, events in facts.items()}


async def _lives(
    zygote: Zygote, place: FamilyPlace, kills: list[int], *, serves: bool = False, slots: int = 4
) -> dict[str, RunState]:
    """Let victims die at these points, and the last one live."""
    place.prepare(slots)
    async with Receiver([parse_secret(SECRET)], SystemClock().now) as receiver:
        job = place.base / "jobs" / "six.toml"
        order = {"base": str(place.base), "job": str(job), "url": receiver.url, "secret": SECRET}
        order |= {"database": place.database, "serves": "yes" if serves else ""}
        for kill_at in kills:
            status = await asyncio.to_thread(zygote.run, {**order, "kill_at": kill_at})
            assert os.WIFSIGNALED(status), f"point {kill_at} was never reached"
            assert os.WTERMSIG(status) == signal.SIGKILL
        assert await asyncio.to_thread(zygote.run, {**order, "kill_at": 0}) == 0
        place.ids = [received.headers["webhook-id"] for received in receiver.received]
        place.bodies = [received.body.decode() for received in receiver.received]
    return place.family()


def check(place: FamilyPlace, family: dict[str, RunState], deaths: int) -> None:
    """Hold the promises against what the witness saw."""
    assert set(family) == {"", "1.1", "1.2", "1.3", "1.4"}
    parent, effects, unknown = family[""], place.witnessed(), 0
    assert parent.finished is not None
    assert parent.finished.outcome == "done"
    said = [f"[{parent.run_id}~1.{number} fixer: completed] {CHILDREN[number - 1]} is mended" for number in range(1, 5)]
    assert parent.finished.answer == "They say: " + "  ".join(said)
    for number, name in enumerate(CHILDREN, 1):
        child = family[f"1.{number}"]
        assert child.finished is not None
        assert (child.finished.outcome, child.finished.answer) == ("done", f"{name} is mended")
        unknown += _once(child, effects)
        _on_disk(place.base / "work", name, child)
    assert unknown <= len(CHILDREN) * deaths
    assert len(set(place.ids)) == 1
    assert all("They say" in body for body in place.bodies)
    assert [owed.status for owed in parent.deliveries.values()] == ["delivered"]
    assert not any(family[key].deliveries for key in family if key)


def _once(child: RunState, effects: Counter[str]) -> int:
    """Hold that nothing was done twice; return how many calls nobody knows the result of."""
    unknown = 0
    for call_id, known in child.calls.items():
        assert known.result is not None
        seen = effects[f"{child.run_id.partition('~')[2]}~{call_id} {known.call.tool}"]
        unknown += known.result.status is ResultStatus.UNKNOWN
        assert seen <= 1 or known.call.tool == "read"
    return unknown


def _on_disk(work: Path, name: str, child: RunState) -> None:
    """Hold what a child's results say against what is there: a death may fall between an effect and its witness."""
    log, out = work / f"{name}.log", work / f"{name}.out"
    ran = log.read_text().count("ran") if log.exists() else 0
    written, commanded = (child.calls[CallId(key)].result for key in ("2.1", "2.2"))
    assert written is not None
    assert commanded is not None
    assert ran == 1 if commanded.status is ResultStatus.OK else ran <= 1
    assert written.status is not ResultStatus.OK or out.read_text() == f"by {name}\n"


async def test_a_family_that_nobody_kills_does_everything_once(zygote: Zygote, tmp_path: Path) -> None:
    place = FamilyPlace(tmp_path / "calm")
    family = await _lives(zygote, place, [])
    check(place, family, deaths=0)
    assert len(place.ids) == 1
    assert set(place.witnessed().values()) == {1}
    assert len(place.points()) >= POINTS


def _points(seed: int) -> list[int]:
    """Return where a family is killed: anywhere in its first life, and in every other one early in its second."""
    chance = random.Random(seed)
    return [chance.randint(1, POINTS), *([chance.randint(1, 12)] if seed % 2 else [])]


@pytest.mark.parametrize("seed", range(2))
async def test_a_family_that_is_killed_gives_the_same_answer(zygote: Zygote, tmp_path: Path, seed: int) -> None:
    place, kills = FamilyPlace(tmp_path / "killed"), _points(seed)
    check(place, await _lives(zygote, place, kills), deaths=len(kills))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 42))
async def test_a_family_that_is_killed_at_random_points(zygote: Zygote, tmp_path: Path, seed: int) -> None:
    place, kills = FamilyPlace(tmp_path / "killed"), _points(seed)
    check(place, await _lives(zygote, place, kills), deaths=len(kills))


@pytest.mark.parametrize("slots", [1, 2])
async def test_a_service_with_few_slots_brings_a_family_to_its_end(zygote: Zygote, tmp_path: Path, slots: int) -> None:
    place, kills = FamilyPlace(tmp_path / "served"), [40 * slots]
    check(place, await _lives(zygote, place, kills, serves=True, slots=slots), deaths=len(kills))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
async def test_a_service_that_is_killed_gives_the_same_answer(zygote: Zygote, tmp_path: Path, seed: int) -> None:
    place, kills = FamilyPlace(tmp_path / "served"), _points(seed)
    check(place, await _lives(zygote, place, kills, serves=True, slots=1 + seed % 3), deaths=len(kills))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
async def test_a_family_that_is_killed_on_postgresql(
    zygote: Zygote, tmp_path: Path, postgres: PostgresServer, seed: int
) -> None:
    place, kills = FamilyPlace(tmp_path / "killed", database=postgres.new_database()), _points(seed)
    check(place, await _lives(zygote, place, kills), deaths=len(kills))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
async def test_a_service_that_is_killed_on_postgresql(
    zygote: Zygote, tmp_path: Path, postgres: PostgresServer, seed: int
) -> None:
    place, kills = FamilyPlace(tmp_path / "served", database=postgres.new_database()), _points(seed)
    check(place, await _lives(zygote, place, kills, serves=True, slots=1 + seed % 3), deaths=len(kills))
