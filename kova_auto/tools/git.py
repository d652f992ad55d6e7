"""Asks git which files it sees, so that nothing that a repository's configuration names is executed.

Source: reference on shells, 6: pins that win over a repository's own configuration.
"""

from __future__ import annotations

import os
from pathlib import Path

from kova_auto.tools.child import run_child
from kova_auto.tools.files import read_small
from kova_auto.tools.gitindex import Tracked, parse_index

_PINS = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.attributesFile": "/dev/null",
    "core.pager": "cat",
    "diff.external": "",
    "protocol.allow": "never",  # a partial clone would fetch what it lacks
    "core.sshCommand": "false",
    "submodule.recurse": "false",
}
_TIMEOUT_S = 10.0
_MAX_OUTPUT_BYTES = 32 * 1024 * 1024
_MAX_INDEX_BYTES = 64 * 1024 * 1024
_MAX_POINTER_BYTES = 4096


def pinned_environment(top: Path) -> dict[str, str]:
    """Return the environment for a git that is to run nothing but itself; `top` is the work tree, whatever is said."""
    pins = {"GIT_CONFIG_COUNT": str(len(_PINS))}
    for index, (key, value) in enumerate(_PINS.items()):
        pins |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return {
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_WORK_TREE": str(top),
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_LAZY_FETCH": "1",
        **pins,
    }


async def listed(git: str, top: Path, directory: Path) -> list[str] | None:
    """Return the paths that git tracks or would add below a directory, as it names them; None where it cannot say.

    The directory of another repository ends with a slash.
    """
    said = await _said(git, top, directory, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ".")
    return None if said is None else [os.fsdecode(path) for path in said.split(b"\0") if path]


async def is_ignored(git: str, top: Path, directory: Path) -> bool:
    """Say whether git ignores a directory as a whole."""
    return directory != top and await _said(git, top, directory, "check-ignore", "-q", "--", ".") is not None


async def _said(git: str, top: Path, directory: Path, *args: str) -> bytes | None:
    """Return what git wrote; None where it failed, took too long or wrote too much."""
    argv = [git, "--no-pager", *args]
    env = pinned_environment(top)
    try:
        ended = await run_child(argv, env=env, seconds=_TIMEOUT_S, max_bytes=_MAX_OUTPUT_BYTES, cwd=str(directory))
    except OSError:
        return None
    return ended.output if ended.code == 0 else None


def repository_of(directory: Path) -> Path | None:
    """Return the work tree that a directory lies in, found as git finds it; None outside of any."""
    return next((above for above in (directory, *directory.parents) if gitdir_of(above) is not None), None)


def gitdir_of(top: Path) -> Path | None:
    """Return a work tree's git directory; None where the directory is no work tree's top."""
    named = top / ".git"
    try:
        if named.is_file():
            text = os.fsdecode(read_small(str(named), limit=_MAX_POINTER_BYTES))
            if not text.startswith("gitdir: "):
                return None
            named = top / text.removeprefix("gitdir: ").rstrip("\n")
        found = (named / "HEAD").is_file() and (common_dir(named) / "objects").is_dir()
    except (OSError, ValueError):
        return None
    return named if found else None


def common_dir(gitdir: Path) -> Path:
    """Return where a linked work tree's git directory keeps what it shares; itself where it is none."""
    named = os.fsdecode(read_small(str(gitdir / "commondir"), limit=_MAX_POINTER_BYTES)).rstrip("\n")
    return gitdir / named


def tracked_in(top: Path) -> Tracked:
    """Return what a work tree's index tracks."""
    gitdir = gitdir_of(top)
    return parse_index(read_small(str(gitdir / "index"), limit=_MAX_INDEX_BYTES)) if gitdir else Tracked()


def excluded_in(top: Path) -> bytes:
    """Return a repository's own rules of what to ignore, which it shares with nobody."""
    gitdir = gitdir_of(top)
    return read_small(str(common_dir(gitdir) / "info/exclude"), follow=True) if gitdir else b""
