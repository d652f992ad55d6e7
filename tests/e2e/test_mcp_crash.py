"""A service that is killed while a server is at work: nothing is left running, and no call is made a second time.

Two services start and a server does, each a process of its own: this takes seconds.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.mcp_homes import DB, FULL, a_script, configure, echo, runs
from tests.e2e.scenes import WAIT_S, Program, Scene


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path.resolve())


def until(path: Path) -> str:
    """Wait until a file holds something, and return it."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        if path.exists() and (text := path.read_text()):
            return text
        time.sleep(0.02)
    msg = f"nothing was written to {path}"
    raise AssertionError(msg)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@pytest.fixture
def service(scene: Scene) -> Iterator[Program]:
    """Be in the middle of a call, with a server that ignores that its input has ended."""
    log = scene.path / "log"
    configure(scene.path, db=runs("deaf", str(log), tool_timeout=60))
    scene.scripted("look", a_script(echo(), end="Done."), FULL + DB)
    program = scene.start("run", "look")
    yield program
    program.process.kill()
    program.ends()


def test_a_call_that_a_killed_service_was_making_is_unknown_and_its_server_is_ended(
    scene: Scene, service: Program
) -> None:
    calls = until(scene.path / "log")
    (pid,) = {int(line.split()[1]) for line in calls.splitlines()}
    service.signal(signal.SIGKILL)
    assert service.ends() == -signal.SIGKILL
    assert is_alive(pid)

    later = scene.start("serve")
    later.says(r"run look\+\S+: done")
    assert not is_alive(pid)
    later.signal(signal.SIGTERM)
    assert later.ends() == 0
    shown = scene.run("runs", "show", "last").stdout
    assert "unknown" in shown
    assert "it may or may not have happened" in shown
    assert (scene.path / "log").read_text() == calls
