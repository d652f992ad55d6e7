"""Searches that go through the same files at the same time read each of them once, and find what each would alone."""

from __future__ import annotations

import asyncio
import os
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which

import pytest

from kova_auto.core.errors import ToolError
from kova_auto.core.ids import RunId
from kova_auto.tools.boundary import LISTING, walk_beneath
from kova_auto.tools.grep import GrepTool
from kova_auto.tools.ignore import Lister
from kova_auto.tools.matches import Shown
from kova_auto.tools.reading import MOST_KEPT, Reading, Readings
from kova_auto.tools.roots import Ground
from kova_auto.tools.search import ripgrep
from tests.tools.tool_scenes import a_scene, play, put, some_roots


@dataclass
class Openings:
    """Open what lies beneath a directory, and count how often each file is opened."""

    count: Counter[str] = field(default_factory=Counter)

    def __call__(self, directory: int, parts: Sequence[str], flags: int, *, follow: bool) -> int:
        self.count["/".join(parts)] += 1
        return walk_beneath(directory, parts, flags, follow=follow)


@dataclass
class Desk:
    """Search a workspace of twenty files."""

    workspace: Path
    opened: Openings = field(default_factory=Openings)

    def __post_init__(self) -> None:
        for number in range(20):
            put(self.workspace / f"src/{number:02}.py", b"one\ntwo\n" + b"three %d\n" % number)
        self.roots = some_roots(resolve=self.opened)
        self.tool = GrepTool(self.roots, Lister(self.roots, None), ripgrep(which("rg") or "rg"))

    async def grep(self, call: int, **args: str | int) -> str:
        return (await play(self.tool, a_scene(self.workspace, call_id=f"1.{call}"), **args)).text

    @property
    def times(self) -> set[int]:
        return {count for name, count in self.opened.count.items() if name.startswith("src/")}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path.resolve() / "W")


ASKED: list[dict[str, str | int]] = [
    {"pattern": "two"},
    {"pattern": "three 1", "context": 1},
    {"pattern": "ONE", "case": "ignore", "include": "*7.py"},
    {"pattern": "none of it"},
]


async def test_each_finds_what_it_would_find_alone_and_each_file_is_read_once(desk: Desk) -> None:
    alone = [await desk.grep(call, **args) for call, args in enumerate(ASKED)]
    desk.opened.count.clear()

    together = await asyncio.gather(*(desk.grep(call, **args) for call, args in enumerate(ASKED)))

    assert together == alone
    assert desk.times == {1}


async def test_a_search_after_them_reads_what_is_there_by_then(desk: Desk) -> None:
    await asyncio.gather(*(desk.grep(call, pattern="two") for call in range(3)))
    put(desk.workspace / "src/03.py", b"new\n")
    put(desk.workspace / "src/new.py", b"new\n")

    assert (await desk.grep(4, pattern="new")).split("\n") == ["src/03.py:1:new", "src/new.py:1:new"]


async def test_one_that_is_ended_holds_up_no_other(desk: Desk) -> None:
    first = asyncio.create_task(desk.grep(1, pattern="two"))
    second = asyncio.create_task(desk.grep(2, pattern="three 7"))
    await asyncio.sleep(0)
    first.cancel()

    assert await second == "src/07.py:3:three 7"
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_where_there_is_nothing_each_says_so(desk: Desk) -> None:
    said = await asyncio.gather(
        *(desk.grep(call, pattern="x", path="gone") for call in range(2)), return_exceptions=True
    )

    assert [isinstance(one, ToolError) for one in said] == [True, True]


def test_it_is_forgotten_with_the_last_that_goes_through_it_and_runs_share_nothing() -> None:
    readings = Readings()
    with readings.of(RunId("a"), ".") as first:
        with readings.of(RunId("a"), ".") as second, readings.of(RunId("b"), ".") as other:
            assert second is first
            assert other is not first
        with readings.of(RunId("a"), ".") as third, readings.of(RunId("a"), "src") as elsewhere:
            assert third is first
            assert elsewhere is not first
    with readings.of(RunId("a"), ".") as later:
        assert later is not first


@pytest.mark.parametrize(("users", "times"), [(1, 2), (2, 1)])
async def test_what_one_search_reads_alone_is_not_kept(desk: Desk, users: int, times: int) -> None:
    assert await read_twice(desk, Reading(users=users)) == {times}


async def test_no_more_than_so_much_is_kept(desk: Desk) -> None:
    assert await read_twice(desk, Reading(users=2, kept=MOST_KEPT)) == {2}


async def read_twice(desk: Desk, reading: Reading) -> set[int]:
    """Have two searches go through the files with one reading, and return how often each was opened."""
    target = desk.roots.locate(".", Ground.of_scene(a_scene(desk.workspace)), writes=False)
    directory = target.open(LISTING)
    for _ in range(2):
        todo = deque(f"src/{number:02}.py" for number in range(20))
        assert len(await reading.batch(target, directory, todo, Shown())) == 20
    os.close(directory)
    return desk.times
