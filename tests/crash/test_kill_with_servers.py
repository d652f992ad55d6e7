"""`kill -9` of a run that uses an MCP server, at any point: no call is made twice, and no server is left running.

Each death costs two processes of the service and two servers: these take seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from kova_auto.core.message import ResultStatus
from kova_auto.core.run import RunState
from tests.app.mcp_homes import DB, FULL, a_script, configure, echo, runs
from tests.crash.test_kill import Place, _lives
from tests.crash.zygote import Zygote

CALLED = "echo"
SCRIPT = a_script(
    {"action": "search", "query": "again"},
    {"action": "describe", "server": "db", "tool": CALLED},
    echo("once"),
    {"action": "search", "query": "where"},
)


@dataclass
class WithServer(Place):
    """Hold one that has a server, which writes down what it is asked to do."""

    @property
    def log(self) -> Path:
        return self.base / "log"

    def prepare(self) -> None:
        super().prepare()
        job = self.base / "jobs" / "six.toml"
        job.write_text(f'prompt = "Work."\nworkspace = "../work"\nscript = "six.script.toml"\n{FULL}{DB}')
        job.with_name("six.script.toml").write_text(SCRIPT)
        configure(self.base / "home", db=runs("good", str(self.log)))


def check(place: WithServer, state: RunState) -> None:
    """Hold what is promised."""
    assert state.finished
    assert state.finished.outcome == "done"
    search, describe, call, again = [known.result for known in state.calls.values()]
    assert search
    assert describe
    assert call
    assert again
    assert {search.status, describe.status, again.status} == {ResultStatus.OK}
    done = place.log.read_text().splitlines() if place.log.exists() else []
    assert done in ([], ['echo {"text": "once"}'])
    assert call.status in (ResultStatus.OK, ResultStatus.UNKNOWN)
    if call.status is ResultStatus.OK:
        assert len(done) == 1
    assert [path for path in environments() if str(place.log).encode() in _read(path)] == []
    assert len(set(place.ids)) == 1


def environments() -> list[Path]:
    return list(Path("/proc").glob("[0-9]*/cmdline"))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def around_the_call(place: WithServer) -> list[int]:
    """Return the points from the call's verdict to its result."""
    names = [line.partition(" ")[2] for line in place.points()]
    begins = [at for at, name in enumerate(names, 1) if "call_started" in name or "call_finished" in name]
    return begins[len(begins) // 2 - 2 : len(begins) // 2 + 4]


async def test_a_run_killed_around_a_call_of_a_server_repeats_nothing(zygote: Zygote, tmp_path: Path) -> None:
    calm = WithServer(tmp_path / "calm")
    check(calm, await _lives(zygote, calm, []))
    for kill_at in around_the_call(calm)[::2]:
        place = WithServer(tmp_path / f"point-{kill_at}")
        check(place, await _lives(zygote, place, [kill_at]))


@pytest.mark.slow
async def test_a_run_with_a_server_killed_at_every_point_repeats_nothing(zygote: Zygote, tmp_path: Path) -> None:
    calm = WithServer(tmp_path / "calm")
    check(calm, await _lives(zygote, calm, []))
    # A run that is quicker than the calm one, whose tools were not known yet, passes a few points fewer.
    for kill_at in range(1, len(calm.points()) - 3):
        place = WithServer(tmp_path / f"point-{kill_at}")
        check(place, await _lives(zygote, place, [kill_at]))
