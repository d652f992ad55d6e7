"""Make a run's own workspace in processes that kill themselves at every n-th thing that they do to files.

Writes one line of JSON for each kill: what is wrong with what the next try made, empty where nothing is.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

from kova_auto.app.staging import Copies
from kova_auto.core.run import opened
from kova_auto.core.state import RunState
from tests.support import a_job, a_request

EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.copytree", "subprocess.Popen", "os.chmod"}


def a_run(copies: Copies, workspace: Path, isolation: str) -> RunState:
    job = a_job("look", workspace=str(workspace), isolation=isolation)
    request = a_request("look@1", job=job)
    place = copies.workspace(request.run_id, job)
    return opened(request.model_copy(update={"workspace": str(place)}))


def dying(kill_at: int, base: Path) -> Callable[[str, tuple[object, ...]], None]:
    """Return an audit hook that kills this process at the n-th thing that it does below a directory."""
    done = 0

    def hook(event: str, args: tuple[object, ...]) -> None:
        nonlocal done
        if event in EVENTS and (event == "subprocess.Popen" or any(str(base) in str(arg) for arg in args)):
            done += 1
            if done == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

    return hook


def forked(work: Callable[[], None]) -> int:
    """Return how a child ended."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


def wrong(copies: Copies, state: RunState, repository: Path) -> str:
    """Return what is wrong with a workspace that was just made, and with what is left once it is removed."""
    own = Path(state.request.workspace)
    files = {str(path.relative_to(own)) for path in own.rglob("*") if path.is_file() and ".git" not in path.parts}
    expected = {f"f{number}" for number in range(5)}
    if {name for name in files if name != ".git"} != expected:
        return f"holds {sorted(files)}"
    if kept := asyncio.run(copies.tidy(state)):
        return f"keeps {kept}"
    command = ["git", "for-each-ref", "--format=%(refname)", "refs/heads/kova"]
    branches = subprocess.run(command, cwd=repository, check=True, capture_output=True, text=True).stdout
    trees = list((repository / ".git" / "worktrees").glob("*"))
    left = copies.place(state.run_id).exists()
    return f"left {branches} {trees} {left}" if branches or trees or left else ""


def main(base: Path, repository: Path, isolation: str, every: int) -> None:
    copies = Copies(base / "cache")
    state = a_run(copies, repository, isolation)
    for kill_at in count(1, every):

        def die(at: int = kill_at) -> None:
            sys.addaudithook(dying(at, base / "cache"))
            asyncio.run(copies.prepare(state))

        status = forked(die)
        if not os.WIFSIGNALED(status):
            assert status == 0
            return
        asyncio.run(copies.prepare(state))
        print(json.dumps([kill_at, wrong(copies, state, repository)]), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
