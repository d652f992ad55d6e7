"""What a run wrote, and how it is taken back."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.errors import JournalError
from kova_auto.core.event import CallStarted, Origin, RunRequested, WritePlanned
from kova_auto.core.ids import BlobHash, CallId, blob_hash
from kova_auto.core.message import FileChange, ResultStatus, ToolResult, told
from kova_auto.core.run import CallState, RunState
from kova_auto.tools.checkpoint import Refused, Undone, run_diff, undo
from kova_auto.tools.difference import difference
from kova_auto.tools.roots import Roots
from tests.tools.tool_scenes import NOW, RUN, a_call, a_job, content, names, put, some_roots


class Kept:
    """Keep contents, and say under which hash."""

    def __init__(self) -> None:
        self.data: dict[BlobHash, bytes] = {}

    def keep(self, data: bytes | None) -> BlobHash | None:
        if data is None:
            return None
        self.data[blob_hash(data)] = data
        return blob_hash(data)

    async def blob(self, key: BlobHash) -> bytes:
        if key not in self.data:
            message = f"no blob {key}"
            raise JournalError(message)
        return self.data[key]


class Run:
    """Play a run that writes files in a workspace."""

    def __init__(self, workspace: Path) -> None:
        self.workspace, self.kept, self.calls = workspace, Kept(), dict[CallId, CallState]()

    def wrote(
        self, path: str, before: bytes | None, after: bytes, *, mode: int | None = None, certain: bool = True
    ) -> Run:
        change = FileChange(
            path=str(self.workspace / path), before=self.kept.keep(before), after=self.kept.keep(after), mode=mode
        )
        key = CallId(f"{len(self.calls) + 1}.1")
        done = ToolResult(status=ResultStatus.OK, parts=(), changes=(change,))
        self.calls[key] = CallState(
            a_call("write").model_copy(update={"id": key}),
            started=CallStarted(at=NOW, call_id=key),
            planned=(WritePlanned(at=NOW, call_id=key, change=change),),
            result=done if certain else told(ResultStatus.UNKNOWN, "cut off"),
        )
        return self

    @property
    def state(self) -> RunState:
        request = RunRequested(
            at=NOW,
            run_id=RUN,
            job=a_job(self.workspace),
            policy_hash="",
            origin=Origin.REQUEST,
            model="scripted",
            workspace=str(self.workspace),
        )
        return RunState(request=request, calls=self.calls)

    async def diff(self) -> str:
        return await run_diff(self.state, self.kept.blob)

    async def undone(self, roots: Roots) -> Undone:
        return await undo(roots, self.state, self.kept.blob)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "W"
    made.mkdir()
    return made


@pytest.fixture
def roots() -> Iterator[Roots]:
    made = some_roots()
    yield made
    made.close()


async def test_the_writes_of_one_file_are_one_difference(workspace: Path) -> None:
    run = Run(workspace).wrote("a", b"1\n2\n", b"1\n3\n").wrote("new", None, b"x").wrote("a", b"1\n3\n", b"1\n4\n")
    assert await run.diff() == (
        "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n 1\n-2\n+4\n"
        "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"
    )


async def test_what_somebody_else_wrote_in_between_is_not_shown(workspace: Path) -> None:
    run = Run(workspace).wrote("a", b"1\n", b"2\n").wrote("a", b"mine\n", b"3\n")
    assert await run.diff() == "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-mine\n+3\n"


async def test_a_write_and_its_way_back_are_no_difference(workspace: Path) -> None:
    assert await Run(workspace).wrote("a", b"1", b"2").wrote("a", b"2", b"1").diff() == ""


async def test_what_cannot_be_shown_is_named(workspace: Path) -> None:
    run = (
        Run(workspace).wrote("bin", b"\0a", b"\0b").wrote("gone", b"1", b"2").wrote("maybe", b"1", b"2", certain=False)
    )
    run.wrote("many", b"1\n" * 30_000, b"2\n" * 30_000)
    del run.kept.data[blob_hash(b"1")]
    assert await run.diff() == (
        "Binary files a/bin and b/bin differ\n"
        "# gone: its content was not kept\n"
        "# maybe: a write was cut off and may not have happened\n"
        "# many: too many lines for a diff (30000 before, 30000 after)\n"
    )


async def test_undoing_restores_content_and_bits_and_removes_what_was_made(workspace: Path, roots: Roots) -> None:
    put(workspace / "a", b"3").chmod(0o600)
    put(workspace / "sub/new", b"x")
    run = (
        Run(workspace)
        .wrote("a", b"1", b"2", mode=0o751)
        .wrote("sub/new", None, b"x")
        .wrote("a", b"2", b"3", mode=0o600)
    )
    assert await run.undone(roots) == Undone(restored=(f"{workspace}/a", f"{workspace}/sub/new"))
    assert content(workspace / "a") == b"1"
    assert (workspace / "a").stat().st_mode & 0o777 == 0o751
    assert names(workspace / "sub") == []
    assert await run.undone(roots) == Undone()


def change(path: Path) -> None:
    path.write_bytes(b"somebody else's")


def remove(path: Path) -> None:
    path.unlink()


def replace_by_a_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("b")


@pytest.mark.parametrize(
    ("meddle", "why"),
    [
        (change, "{} has changed since the run wrote it"),
        (remove, "{} has changed since the run wrote it"),
        (replace_by_a_link, "a passes through a symbolic link"),
    ],
)
async def test_nothing_is_undone_where_one_file_has_changed_since(
    workspace: Path, roots: Roots, meddle: Callable[[Path], None], why: str
) -> None:
    meddle(put(workspace / "a", b"2"))
    put(workspace / "b", b"2")
    run = Run(workspace).wrote("a", b"1", b"2").wrote("b", b"1", b"2")
    undone = await run.undone(roots)
    assert undone.restored == ()
    (refused,) = undone.refused
    assert refused.path == f"{workspace}/a"
    assert refused.why.startswith(why.format(workspace / "a"))
    assert content(workspace / "b") == b"2"


async def test_a_change_in_the_middle_is_not_thrown_away(workspace: Path, roots: Roots) -> None:
    put(workspace / "a", b"4")
    path = f"{workspace}/a"
    run = Run(workspace).wrote("a", b"1", b"2").wrote("a", b"mine", b"4")
    assert await run.undone(roots) == Undone(refused=(Refused(path, f"{path} has changed since the run wrote it"),))


@pytest.mark.parametrize(("now", "restored"), [(b"2", True), (b"1", False)])
async def test_a_write_in_doubt_is_undone_if_it_happened(
    workspace: Path, roots: Roots, now: bytes, restored: bool
) -> None:
    put(workspace / "a", now)
    run = Run(workspace).wrote("a", b"1", b"2", certain=False)
    assert await run.undone(roots) == Undone(restored=(f"{workspace}/a",) if restored else ())
    assert content(workspace / "a") == b"1"


async def test_a_write_in_doubt_behind_others_is_passed_over_if_it_did_not_happen(
    workspace: Path, roots: Roots
) -> None:
    put(workspace / "a", b"2")
    await Run(workspace).wrote("a", b"1", b"2").wrote("a", b"2", b"3", certain=False).undone(roots)
    assert content(workspace / "a") == b"1"


async def test_what_was_not_kept_cannot_be_restored(workspace: Path, roots: Roots) -> None:
    put(workspace / "a", b"2")
    run = Run(workspace).wrote("a", b"1", b"2")
    del run.kept.data[blob_hash(b"1")]
    why = f"what {workspace}/a held before was not kept"
    assert await run.undone(roots) == Undone(refused=(Refused(f"{workspace}/a", why),))


TEXTS = st.none() | st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "d"]), max_size=6).map("".join)


@settings(max_examples=40, deadline=None)
@given(before=TEXTS, after=TEXTS)
def test_a_difference_can_be_applied(before: str | None, after: str | None) -> None:
    if before == after or not (before or after):
        return
    with TemporaryDirectory() as name:
        path = Path(name) / "f"
        if before is not None:
            path.write_bytes(before.encode())
        text = difference("f", None if before is None else before.encode(), None if after is None else after.encode())
        subprocess.run(["git", "apply", "-"], cwd=name, input=text.encode(), check=True, capture_output=True)
        assert (path.read_bytes().decode() if path.exists() else None) == after
