"""Ending what a command has started, on a machine where looking for it takes a while."""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from kova_auto.tools.environment import MARKER
from kova_auto.tools.leftovers import _end, _Members, _Search, started_of
from kova_auto.tools.process import Limits, bash_argv, spawn
from tests.tools.command_scenes import a_pipe

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="found through /proc")

LOOK_S, GRACE_S = 0.1, 0.5


@dataclass(frozen=True, slots=True)
class Slow(_Search):
    """Look as where very many processes run."""

    looks: list[_Members]

    def members(self) -> _Members:
        time.sleep(LOOK_S)
        self.looks.append(_Search.members(self))
        return self.looks[-1]


async def test_what_will_not_go_is_killed_in_its_time_however_long_a_look_takes(tmp_path: Path) -> None:
    said, token = a_pipe(tmp_path / "said"), str(tmp_path)
    env = {"PATH": "/usr/bin:/bin", MARKER: token}
    argv = bash_argv("trap '' TERM; echo $$ > said; while true; do sleep 300; done")
    process = await spawn(argv, env=env, cwd=tmp_path, token=token, limits=Limits())
    process.release()
    pid = int(await asyncio.to_thread(said.read_text))
    looks: list[_Members] = []
    found = await _end(Slow(process.leader, token, recorded=False, looks=looks), GRACE_S)

    assert pid in found
    assert await started_of(pid) == ""
    assert len([look for look in looks if pid in look.all]) <= 2 * GRACE_S / LOOK_S
    await process.ended()
