"""Copies of workspaces: whole, apart from the real one, and gone when they are not needed any more."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from kova_auto.app.staging import Copies, copy_if_there
from kova_auto.core.errors import ConfigError
from kova_auto.core.run import opened
from kova_auto.core.state import RunState
from tests.support import a_job, a_request

RUN = "look@20261201T060000Z"


@pytest.fixture
def copies(tmp_path: Path) -> Copies:
    return Copies(tmp_path / "cache")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    workspace = tmp_path / "work"
    (workspace / "src").mkdir(parents=True)
    (workspace / "src" / "a.txt").write_text("a")
    (workspace / "link").symlink_to("src/a.txt")
    (workspace / "away").symlink_to("/etc")
    os.mkfifo(workspace / "pipe")
    return workspace


def a_run(copies: Copies, workspace: Path) -> RunState:
    request = a_request(RUN, job=a_job("look", workspace=str(workspace)))
    return opened(request.model_copy(update={"workspace": str(copies.target(request.run_id, workspace))}))


def _shown(place: Path) -> dict[str, str]:
    """Return what lies in a directory, by name, links not followed."""
    return {
        str(path.relative_to(place)): f"-> {path.readlink()}" if path.is_symlink() else path.read_text()
        for path in place.rglob("*")
        if path.is_symlink() or path.is_file()
    }


async def test_a_copy_holds_files_and_links_and_nothing_that_can_only_be_opened(
    copies: Copies, workspace: Path
) -> None:
    state = a_run(copies, workspace)
    await copies.prepare(state)
    place = Path(state.request.workspace)
    assert _shown(place) == {"src/a.txt": "a", "link": "-> src/a.txt", "away": "-> /etc"}

    (place / "src" / "a.txt").write_text("changed")
    (place / "more.txt").write_text("more")
    await copies.prepare(state)
    assert _shown(place) == {"src/a.txt": "a", "link": "-> src/a.txt", "away": "-> /etc"}
    assert (workspace / "src" / "a.txt").read_text() == "a"


async def test_a_copy_is_removed_with_directories_that_may_not_be_written(copies: Copies, workspace: Path) -> None:
    state = a_run(copies, workspace)
    (workspace / "src").chmod(0o500)
    await copies.prepare(state)
    await copies.remove(state)
    await copies.remove(state)

    assert not copies.place(state.run_id).exists()
    (workspace / "src").chmod(0o700)


async def test_a_run_in_place_is_given_no_copy(copies: Copies, workspace: Path) -> None:
    state = opened(a_request(RUN, job=a_job("look", workspace=str(workspace))))
    await copies.prepare(state)
    await copies.remove(state)

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
    await copies.remove(state)

    assert copied < 2000
    assert not copies.place(state.run_id).exists()


async def test_a_workspace_that_is_not_there_is_said(copies: Copies, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the workspace could not be copied"):
        await copies.prepare(a_run(copies, tmp_path / "nowhere"))


def test_a_file_that_is_gone_by_now_is_left_out(tmp_path: Path) -> None:
    copy_if_there(tmp_path / "gone", tmp_path / "copy")

    assert list(tmp_path.iterdir()) == []
