"""Workspaces of runs' own: whole, apart from the real one, and kept while there is something to see."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kova_auto.app.staging import Copies
from kova_auto.core.errors import ConfigError, ToolFailedError
from kova_auto.core.event import ChangesSettled, RunFinished, RunRetried
from kova_auto.core.ids import RunId
from kova_auto.core.job import Outcome
from kova_auto.core.retrying import BY_POLICY
from kova_auto.core.run import apply, opened
from kova_auto.core.state import RunState
from kova_auto.tools.isolation.copying import copy_if_there
from kova_auto.tools.isolation.worktree import _lock
from tests.support import a_job, a_request, at

RUN = "look@20261201T060000Z"
BRANCH = "kova/look-20261201T060000Z"


@pytest.fixture
def copies(tmp_path: Path) -> Copies:
    return Copies(tmp_path / "cache", "house")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    workspace = tmp_path / "work"
    (workspace / "src").mkdir(parents=True)
    (workspace / "src" / "a.txt").write_text("a")
    (workspace / "link").symlink_to("src/a.txt")
    (workspace / "away").symlink_to("/etc")
    os.mkfifo(workspace / "pipe")
    return workspace


def git(place: Path, *args: str) -> str:
    """Run git as a person would."""
    who = {"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.org"}
    who |= {"GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.org", "HOME": "/nonexistent"}
    command = ["git", "-c", "init.defaultBranch=main", *args]
    env = {"PATH": os.defpath, **who}
    done = subprocess.run(command, cwd=place, env=env, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(workspace: Path) -> Path:
    """Have the workspace committed."""
    git(workspace, "init", "--quiet")
    (workspace / ".gitignore").write_text("*.log\n")
    git(workspace, "add", ".")
    git(workspace, "commit", "--quiet", "-m", "First")
    return workspace


def a_run(copies: Copies, workspace: Path, isolation: str = "copy", **changes: object) -> RunState:
    job = a_job("look", workspace=str(workspace), isolation=isolation)
    request = a_request(RUN, job=job, **changes)
    place = copies.workspace(request.run_id, job)
    return opened(request.model_copy(update={"workspace": str(place)}))


def ended(state: RunState, kept: str) -> RunState:
    return apply(state, RunFinished(at=at("06:01:00"), outcome=Outcome.DONE, answer="Done.", kept=kept))


def _shown(place: Path) -> dict[str, str]:
    """Return what lies in a directory, by name, links not followed."""
    return {
        str(path.relative_to(place)): f"-> {path.readlink()}" if path.is_symlink() else path.read_text()
        for path in place.rglob("*")
        if path.is_symlink() or path.is_file()
    }


WHOLE = {"src/a.txt": "a", "link": "-> src/a.txt", "away": "-> /etc"}


async def test_a_copy_holds_files_and_links_and_nothing_that_can_only_be_opened(
    copies: Copies, workspace: Path
) -> None:
    state = a_run(copies, workspace)
    await copies.prepare(state)
    place = Path(state.request.workspace)
    assert _shown(place) == WHOLE

    (place / "src" / "a.txt").write_text("changed")
    (place / "more.txt").write_text("more")
    await copies.prepare(state)
    assert _shown(place) == WHOLE
    assert (workspace / "src" / "a.txt").read_text() == "a"


async def test_a_copy_that_nothing_was_changed_in_leaves_nothing(copies: Copies, workspace: Path) -> None:
    state = a_run(copies, workspace)
    (workspace / "src").chmod(0o500)
    await copies.prepare(state)
    os.utime(Path(state.request.workspace) / "src" / "a.txt", (0, 0))
    assert await copies.tidy(state) == ""
    assert await copies.tidy(state) == ""

    assert not copies.place(state.run_id).exists()
    (workspace / "src").chmod(0o700)


async def test_a_copy_that_differs_is_kept_and_says_by_how_much(copies: Copies, workspace: Path) -> None:
    state = a_run(copies, workspace)
    await copies.prepare(state)
    (Path(state.request.workspace) / "src" / "a.txt").write_text("changed")

    assert await copies.tidy(state) == await copies.tidy(state) == "a copy with 1 changed file"
    assert copies.has(state)
    assert "-a\n" in await copies.diff(state)


async def test_a_staged_runs_copy_goes_with_the_run(copies: Copies, workspace: Path) -> None:
    state = a_run(copies, workspace, staged=True)
    await copies.prepare(state)
    (Path(state.request.workspace) / "new.txt").write_text("new")

    assert await copies.tidy(state) == ""
    assert not copies.place(state.run_id).exists()


async def test_a_diff_shows_what_there_was_at_first_whatever_became_of_the_workspace(
    copies: Copies, workspace: Path
) -> None:
    state = a_run(copies, workspace)
    await copies.prepare(state)
    (Path(state.request.workspace) / "src" / "a.txt").write_text("of the run\n")
    (workspace / "src" / "a.txt").write_text("of a person\n")

    shown = await copies.diff(state)
    assert "+of the run" in shown
    assert "-a\n" in shown
    assert "person" not in shown


@pytest.mark.parametrize("isolation", ["copy", "worktree"])
async def test_an_attempt_of_the_policy_goes_on_in_what_the_one_before_left(
    copies: Copies, repository: Path, isolation: str
) -> None:
    first = a_run(copies, repository, isolation)
    notices = await copies.prepare(first)
    (Path(first.request.workspace) / "new.txt").write_text("new")
    end = {"ended": Outcome.FAILED, "reason": "busy"}
    second = apply(first, RunRetried.model_validate({"at": at("06:00:05"), "attempt": 2, "by": BY_POLICY, **end}))

    assert await copies.prepare(second) == notices
    assert (Path(second.request.workspace) / "new.txt").read_text() == "new"


async def test_a_run_in_place_is_given_no_copy(copies: Copies, workspace: Path) -> None:
    state = a_run(copies, workspace, "in-place")
    assert await copies.prepare(state) == ()
    assert await copies.tidy(state) == ""

    assert not copies.base.exists()
    assert (workspace / "src" / "a.txt").exists()


async def test_copying_that_is_cancelled_has_stopped(copies: Copies, workspace: Path) -> None:
    for number in range(2000):
        (workspace / "src" / f"{number}.txt").write_text("x")
    state = a_run(copies, workspace)
    making = asyncio.create_task(copies.prepare(state))
    await asyncio.sleep(0)  # It has begun, in a thread.
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    copied = len(_shown(Path(state.request.workspace)))
    assert await copies.tidy(state) == ""

    assert copied < 2000
    assert not copies.place(state.run_id).exists()


@pytest.mark.parametrize("isolation", ["copy", "worktree"])
async def test_a_workspace_that_is_not_there_is_said(copies: Copies, tmp_path: Path, isolation: str) -> None:
    wanted = "the workspace could not be copied" if isolation == "copy" else "wants a git repository, found none"
    with pytest.raises(ConfigError, match=wanted):
        await copies.prepare(a_run(copies, tmp_path / "nowhere", isolation))


def test_a_file_that_is_gone_by_now_is_left_out(tmp_path: Path) -> None:
    copy_if_there(tmp_path / "gone", tmp_path / "copy")

    assert list(tmp_path.iterdir()) == []


async def test_a_worktree_holds_what_is_committed_on_a_branch_of_the_runs_own(copies: Copies, repository: Path) -> None:
    (repository / "src" / "a.txt").write_text("not committed")
    state = a_run(copies, repository, "worktree")
    (notice,) = await copies.prepare(state)
    place = Path(state.request.workspace)

    assert f"on the branch {BRANCH}" in notice
    assert "What was not committed there is not here" in notice
    assert (place / "src" / "a.txt").read_text() == "a"
    assert git(place, "symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}"
    assert git(repository, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert git(repository, "status", "--porcelain") == "M src/a.txt"


async def test_a_worktree_that_nothing_was_changed_in_leaves_neither_itself_nor_its_branch(
    copies: Copies, repository: Path
) -> None:
    state = a_run(copies, repository, "worktree")
    await copies.prepare(state)
    (Path(state.request.workspace) / "build.log").write_text("ignored")

    assert await copies.tidy(state) == ""
    assert not copies.place(state.run_id).exists()
    assert git(repository, "branch", "--list", "kova/*") == ""
    assert git(repository, "worktree", "list", "--porcelain").count("worktree ") == 1


async def test_a_worktree_with_commits_or_changes_is_kept(copies: Copies, repository: Path) -> None:
    state = a_run(copies, repository, "worktree")
    await copies.prepare(state)
    place = Path(state.request.workspace)
    (place / "new.txt").write_text("new\n")
    assert await copies.tidy(state) == f"branch {BRANCH} with 0 commits and 1 changed file"

    git(place, "add", ".")
    git(place, "commit", "--quiet", "-m", "New")
    assert await copies.tidy(state) == f"branch {BRANCH} with 1 commit and 1 changed file"
    assert "+new" in await copies.diff(state)


async def test_a_worktree_is_made_anew_after_a_kill_at_any_point(copies: Copies, repository: Path) -> None:
    state = a_run(copies, repository, "worktree")
    await copies.prepare(state)
    whole = copies.place(state.run_id)
    for cut in (
        (whole / "first.json").unlink,
        lambda: git(repository, "branch", "-m", BRANCH, BRANCH),
        lambda: subprocess.run(["rm", "-rf", state.request.workspace], check=True),
        lambda: subprocess.run(["rm", "-rf", str(repository / ".git" / "worktrees")], check=True),
    ):
        cut()
        await copies.prepare(state)
        assert git(Path(state.request.workspace), "status", "--porcelain") == ""
    assert git(repository, "worktree", "list", "--porcelain").count("worktree ") == 2


async def test_a_workspace_below_the_top_of_its_repository_is_the_same_place_of_the_worktree(
    copies: Copies, repository: Path
) -> None:
    state = a_run(copies, repository / "src", "worktree")
    await copies.prepare(state)

    assert Path(state.request.workspace) == copies.place(state.run_id) / "work" / "src"
    assert _shown(Path(state.request.workspace)) == {"a.txt": "a"}
    (Path(state.request.workspace) / "a.txt").write_text("b")
    assert [change.path for change in (await copies.plan(state, control=False)).todo] == ["a.txt"]


async def test_a_repository_that_a_worktree_cannot_be_made_of_says_why(copies: Copies, workspace: Path) -> None:
    git(workspace, "init", "--quiet")
    with pytest.raises(ConfigError, match="the repository has no commit yet"):
        await copies.prepare(a_run(copies, workspace, "worktree"))
    git(workspace, "add", "link")
    git(workspace, "commit", "--quiet", "-m", "First")
    with pytest.raises(ConfigError, match="src is not in the last commit"):
        await copies.prepare(a_run(copies, workspace / "src", "worktree"))
    git(workspace, "branch", BRANCH)
    with pytest.raises(ConfigError, match=f"there is a branch {BRANCH} already"):
        await copies.prepare(a_run(copies, workspace, "worktree"))


async def test_nothing_that_the_repository_configures_is_executed(copies: Copies, repository: Path) -> None:
    witness = repository.parent / "executed"
    (repository / ".gitattributes").write_text("*.txt filter=evil\n")
    git(repository, "add", ".gitattributes")
    git(repository, "commit", "--quiet", "-m", "Filter")
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {witness}\n")
    hook.chmod(0o755)
    (hook.parent / "reference-transaction").write_text(hook.read_text())
    (hook.parent / "reference-transaction").chmod(0o755)
    for key in ("filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "core.fsmonitor"):
        git(repository, "config", key, f"touch {witness}; cat")
    git(repository, "config", "filter.evil.required", "true")
    state = a_run(copies, repository, "worktree")

    await copies.prepare(state)
    (Path(state.request.workspace) / "src" / "a.txt").write_text("changed")
    await copies.tidy(state)
    await copies.diff(state)
    await copies.settle(state)
    assert not witness.exists()


async def test_discarding_removes_the_branch_and_applying_leaves_one_with_commits(
    copies: Copies, repository: Path
) -> None:
    for how, stays in (("applied", BRANCH), ("discarded", "")):
        state = a_run(copies, repository, "worktree")
        await copies.prepare(state)
        place = Path(state.request.workspace)
        (place / "new.txt").write_text(how)
        git(place, "add", ".")
        git(place, "commit", "--quiet", "-m", "New")
        settled = ChangesSettled(at=at("07:00:00"), how=how, by="ann")
        over = apply(ended(state, await copies.tidy(state)), settled)

        assert await copies.settle(over) == stays
        assert git(repository, "branch", "--list", "kova/*") == stays
        assert not copies.has(over)
        assert not copies.place(state.run_id).exists()
        if stays:
            git(repository, "branch", "-D", stays)


async def test_a_sweep_removes_what_no_run_has_any_use_for_and_leaves_what_others_keep(
    copies: Copies, repository: Path
) -> None:
    known: dict[RunId, RunState | None] = {}
    for name, how in (("a", "unknown"), ("b", "kept"), ("c", "settled"), ("d", "goes on"), ("e", "elsewhere")):
        home = Copies(copies.base, "other") if how == "elsewhere" else copies
        job = a_job(name, workspace=str(repository), isolation="worktree")
        request = a_request(f"{name}@1", job=job)
        state = opened(request.model_copy(update={"workspace": str(home.workspace(request.run_id, job))}))
        await home.prepare(state)
        if how in ("kept", "settled"):
            (Path(state.request.workspace) / "new.txt").write_text("new")
            state = ended(state, await home.tidy(state))
        if how == "settled":
            state = apply(state, ChangesSettled(at=at("07:00:00"), how="discarded", by="ann"))
        if how not in ("unknown", "elsewhere"):
            known[state.run_id] = state

    async def look(run_id: RunId) -> RunState | None:
        return known.get(run_id)

    await copies.sweep(look)
    assert git(repository, "branch", "--list", "kova/*", "--format", "%(refname:short)").split() == [
        "kova/b-1",
        "kova/d-1",
        "kova/e-1",
    ]
    assert len(list((copies.base / "copies").iterdir())) == 3


async def test_what_is_not_there_any_more_is_said(copies: Copies, workspace: Path) -> None:
    state = a_run(copies, workspace)
    assert not copies.has(state)
    with pytest.raises(ToolFailedError, match="is not on this machine"):
        await copies.diff(state)
    moved = Copies(workspace / "other")
    assert not moved.has(state)


@contextmanager
def a_git_that_goes_on(place: Path) -> Iterator[subprocess.Popen[str]]:
    """Have a process hold what a git holds that is at work for somebody who was killed."""
    command = [sys.executable, "-c", "import sys; print('here', flush=True); sys.stdin.read()"]
    pipe = subprocess.PIPE
    with _lock(place) as lock:
        still = subprocess.Popen(command, text=True, pass_fds=(lock,), stdin=pipe, stdout=pipe)
    with still:
        assert still.stdout
        assert still.stdout.readline() == "here\n"
        yield still


async def test_a_git_that_outlives_a_killed_process_is_waited_for(copies: Copies, repository: Path) -> None:
    state = a_run(copies, repository, "worktree")
    await copies.prepare(state)
    with a_git_that_goes_on(copies.place(state.run_id)) as still:
        again = asyncio.create_task(copies.prepare(state))
        done, _ = await asyncio.wait({again}, timeout=0.3)
        assert not done
        assert still.stdin
        still.stdin.close()
        await again
    assert copies.has(state)
