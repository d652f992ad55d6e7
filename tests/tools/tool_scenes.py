"""Builders for tests of tools: a scene, a call, and what comes out of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePath

from pydantic import JsonValue

from kova_auto.core.approval.levels import Ruling, Verdict
from kova_auto.core.ids import BlobHash, CallId, RunId
from kova_auto.core.job import Job, Permissions
from kova_auto.core.message import ToolCall, ToolResult
from kova_auto.core.tool import Scene, ToolOutput, ToolRun, WriteAnnounced
from kova_auto.tools.boundary import Resolver
from kova_auto.tools.roots import Ground, Roots
from kova_auto.tools.tool import Tool

NOW = datetime(2025, 3, 10, 7, tzinfo=UTC)
RUN = RunId("nightly@20250310T070000Z")
ALLOWED = Verdict(ruling=Ruling.ALLOW, reason="allowed", rule="level.full.write_inside")


def a_job(workspace: Path, *, write_roots: tuple[Path, ...] = (), read_roots: tuple[Path, ...] = ()) -> Job:
    granted = Permissions(write_roots=tuple(map(str, write_roots)), read_roots=tuple(map(str, read_roots)))
    return Job(name="nightly", path="/jobs/nightly.toml", prompt="Go.", workspace=str(workspace), permissions=granted)


def a_scene(
    workspace: Path,
    *,
    seen: Mapping[str, BlobHash] | None = None,
    rests: frozenset[BlobHash] = frozenset(),
    call_id: str = "1.1",
    write_roots: tuple[Path, ...] = (),
    read_roots: tuple[Path, ...] = (),
) -> Scene:
    return Scene(
        run_id=RUN,
        call_id=CallId(call_id),
        job=a_job(workspace, write_roots=write_roots, read_roots=read_roots),
        workspace=str(workspace),
        now=NOW,
        left_s=600.0,
        level="full",
        seen=seen or {},
        rests=rests,
        write_roots=tuple(map(str, write_roots)),
    )


def a_ground(workspace: Path, *, write_roots: tuple[Path, ...] = (), read_roots: tuple[Path, ...] = ()) -> Ground:
    return Ground.of_scene(a_scene(workspace, write_roots=write_roots, read_roots=read_roots))


def some_roots(
    *,
    secret: tuple[Path, ...] = (),
    control: tuple[Path, ...] = (),
    job_dirs: tuple[Path, ...] = (),
    resolve: Resolver | None = None,
) -> Roots:
    return Roots(
        secret=tuple(map(PurePath, secret)),
        control=tuple(map(PurePath, control)),
        job_dirs=tuple(map(PurePath, job_dirs)),
        resolve=resolve,
    )


def a_call(tool: str, **args: JsonValue) -> ToolCall:
    return ToolCall(id=CallId("1.1"), tool=tool, args=args)


@dataclass(frozen=True, slots=True)
class Played:
    """Hold what a tool yielded."""

    output: ToolOutput
    announced: tuple[WriteAnnounced, ...]

    @property
    def result(self) -> ToolResult:
        return self.output.result

    @property
    def text(self) -> str:
        return self.output.result.text


async def played(run: ToolRun) -> Played:
    announced: list[WriteAnnounced] = []
    async for fact in run:
        if isinstance(fact, WriteAnnounced):
            announced.append(fact)
        if isinstance(fact, ToolOutput):
            return Played(fact, tuple(announced))
    msg = "the tool ended without an output"
    raise AssertionError(msg)


async def play(tool: Tool, scene: Scene, **args: JsonValue) -> Played:
    return await played(tool.run(tool.arguments(**args), scene, ALLOWED))


def after(scene: Scene, *done: Played) -> Scene:
    """Return the scene of the next call: what the model has seen by then."""
    seen = dict(scene.seen)
    for one in done:
        seen.update(one.result.reads)
        seen.update({change.path: change.after for change in one.result.changes if change.after})
    return replace(scene, seen=seen)


def put(path: Path, data: bytes) -> Path:
    """Write a file with the directories it lies in, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def content(path: Path) -> bytes:
    return path.read_bytes()


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


async def no_blob(key: BlobHash) -> bytes:
    raise AssertionError(key)
