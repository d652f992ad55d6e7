"""Makes git worktrees for runs and removes them, with nothing of the repository's configuration executed.

Neither hooks nor filters run, and nothing is fetched: what Git LFS and its like would put in the place of a file is
not there, only what is committed. Every step may be repeated, whatever a kill has left half done.

Source: reference on shells, 6: pins that win over a repository's own configuration.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from kova_auto.core.errors import ConfigError
from kova_auto.core.ids import RunId
from kova_auto.tools.child import Ended, run_child
from kova_auto.tools.git import common_dir, gitdir_of, pinned_environment, repository_of
from kova_auto.tools.isolation.place import Branch

BRANCHES = "kova/"
_ODD = re.compile(r"[^A-Za-z0-9_-]+")
_TIMEOUT_S = 600.0
_MAX_OUTPUT_BYTES = 64 * 1024 * 1024
_FILTER = r"^filter\..*\.(clean|smudge|process|required)$"
_SAID = 400
_MAKING = "making"


def branch_of(run_id: RunId) -> str:
    """Return the name of the branch that a run works on."""
    return BRANCHES + _ODD.sub("-", run_id)


@dataclass(frozen=True, slots=True)
class Worktrees:
    """Make and remove worktrees with one git, by its absolute path; None where there is none."""

    git: str | None

    async def begin(self, run_id: RunId, workspace: Path) -> Branch:
        """Return the branch that a run's worktree would be on; makes nothing.

        Raises:
            ConfigError: The workspace lies in no repository with a commit that holds it, or there is no git.
        """
        top = repository_of(workspace)
        gitdir = gitdir_of(top) if top else None
        if top is None or gitdir is None:
            raise _unusable(workspace, 'isolation = "worktree" wants a git repository, found none', 'use "copy"')
        name = branch_of(run_id)
        base = await self._said(workspace, gitdir, top, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        if base is None:
            raise _unusable(workspace, "the repository has no commit yet", "commit what the run is to begin with")
        below = workspace.relative_to(top)
        if below.parts and await self._said(workspace, gitdir, top, "cat-file", "-e", f"{base}:{below}") is None:
            raise _unusable(workspace, f"{below} is not in the last commit", "commit it first")
        if await self._tip(workspace, gitdir, top, name) is not None:
            raise _unusable(workspace, f"there is a branch {name} already", f"git branch -D {name}")
        return Branch(gitdir=str(gitdir), name=name, base=base)

    async def make(self, branch: Branch, workspace: Path, tree: Path) -> None:
        """Make a worktree.

        Raises:
            ConfigError: Git says why not.
        """
        top = repository_of(workspace) or workspace
        gitdir = Path(branch.gitdir)
        config = {**await self._filters(workspace, gitdir, top), "worktree.useRelativePaths": "false"}
        args = ("worktree", "add", "--quiet", "--no-track", "-b", branch.name, str(tree), branch.base)
        with _lock(tree.parent) as lock:
            ended = await self._run(workspace, gitdir, top, *args, config=config, fds=(lock,))
        if ended.code != 0:
            said = ended.errors.decode(errors="replace").strip()[:_SAID] or "it took too long"
            raise _unusable(workspace, f"git could not make a worktree: {said}", 'use isolation = "copy"')

    async def commits(self, branch: Branch, tree: Path) -> int | None:
        """Return how many commits the worktree or its branch has beyond its base; None where git cannot say."""
        gitdir = private_dir(branch, tree)
        if gitdir is None:
            return await self._beyond(Path(branch.gitdir), tree.parent, branch, ())
        return await self._beyond(gitdir, tree, branch, ("HEAD",))

    async def _beyond(self, gitdir: Path, top: Path, branch: Branch, heads: tuple[str, ...]) -> int | None:
        tips = [*heads, *([branch.name] if await self._tip(top, gitdir, top, branch.name) else [])]
        if not tips:
            return 0
        said = await self._said(top, gitdir, top, "rev-list", "--count", *tips, f"^{branch.base}", "--")
        return int(said) if said and said.isdigit() else None

    async def seen(self, branch: Branch, tree: Path, below: Path) -> frozenset[str] | None:
        """Return the files below a directory of the worktree that git does not ignore; None where it cannot say."""
        gitdir = private_dir(branch, tree)
        if gitdir is None:
            return None
        args = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ".")
        ended = await self._run(below, gitdir, tree, *args)
        if ended.code != 0:
            return None
        return frozenset(os.fsdecode(path) for path in ended.output.split(b"\0") if path)

    async def remove(self, branch: Branch, tree: Path, *, with_commits: bool) -> None:
        """Let the repository forget a worktree, and its branch unless that holds commits that are to stay.

        The tree itself is left to whoever made it. Calling twice is safe.
        """
        commits = await self.commits(branch, tree)
        gitdir, main = private_dir(branch, tree), Path(branch.gitdir)
        if gitdir:
            shutil.rmtree(gitdir, ignore_errors=True)
            with suppress(OSError):
                gitdir.parent.rmdir()
        if with_commits or commits == 0:
            await self._run(main.parent, main, main.parent, "update-ref", "-d", f"refs/heads/{branch.name}")

    async def _tip(self, cwd: Path, gitdir: Path, top: Path, name: str) -> str | None:
        return await self._said(cwd, gitdir, top, "rev-parse", "--verify", "--quiet", f"refs/heads/{name}^{{commit}}")

    async def _filters(self, cwd: Path, gitdir: Path, top: Path) -> dict[str, str]:
        """Return settings that switch off every filter that the repository's configuration names."""
        ended = await self._run(cwd, gitdir, top, "config", "--includes", "-z", "--name-only", "--get-regexp", _FILTER)
        names = {os.fsdecode(name) for name in ended.output.split(b"\0") if name}
        return {name: "false" if name.endswith(".required") else "" for name in sorted(names)}

    async def _said(self, cwd: Path, gitdir: Path, top: Path, *args: str) -> str | None:
        ended = await self._run(cwd, gitdir, top, *args)
        return os.fsdecode(ended.output).strip() if ended.code == 0 else None

    async def _run(
        self,
        cwd: Path,
        gitdir: Path,
        top: Path,
        *args: str,
        config: Mapping[str, str] | None = None,
        fds: Sequence[int] = (),
    ) -> Ended:
        if self.git is None:
            raise _unusable(cwd, 'isolation = "worktree" wants git, found none', "install it")
        env = {**_with(pinned_environment(top), config or {}), "GIT_DIR": str(gitdir)}
        argv = [self.git, "--no-pager", *args]
        try:
            return await run_child(
                argv, env=env, seconds=_TIMEOUT_S, max_bytes=_MAX_OUTPUT_BYTES, cwd=_start(cwd), fds=fds
            )
        except OSError as exc:
            raise _unusable(cwd, f"git cannot be started: {exc.strerror}", "install it") from exc


@contextmanager
def _lock(root: Path) -> Iterator[int]:
    """Give a lock that whoever inherits it holds too: a git that outlives this process."""
    fd = os.open(root / _MAKING, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield fd
    finally:
        os.close(fd)


def is_being_made(root: Path) -> bool:
    """Say whether a git of a process that was killed is still at work in a place."""
    try:
        with _lock(root):
            return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def private_dir(branch: Branch, tree: Path) -> Path | None:
    """Return the git directory of a worktree, found in its repository and not where the tree says.

    What the run could write is not asked: of the repository's worktrees, it is the one that points to the tree.
    """
    holder = common_dir(Path(branch.gitdir)) / "worktrees"
    pointer = str(tree / ".git")
    with suppress(OSError):
        for path in sorted(holder.iterdir()):
            with suppress(OSError, UnicodeDecodeError):
                if not path.is_symlink() and (path / "gitdir").read_text().rstrip("\n") == pointer:
                    return path
    return None


def _start(cwd: Path) -> str:
    """Return where git starts: a workspace may be gone by now."""
    return str(cwd) if cwd.is_dir() else "/"


def _with(env: dict[str, str], config: Mapping[str, str]) -> dict[str, str]:
    """Return an environment with further settings that win over every file."""
    first = int(env["GIT_CONFIG_COUNT"])
    added = {"GIT_CONFIG_COUNT": str(first + len(config))}
    for index, (key, value) in enumerate(config.items(), first):
        added |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return {**env, **added}


def _unusable(workspace: Path, message: str, hint: str) -> ConfigError:
    return ConfigError(message, path=str(workspace), key="isolation", hint=hint)
