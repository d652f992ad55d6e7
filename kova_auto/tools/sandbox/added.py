"""Undoes what a command added under a control name: it is renamed, so that nothing heeds it, and told."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from kova_auto.tools.sandbox import git
from kova_auto.tools.sandbox.control import SET_ASIDE, Controls
from kova_auto.tools.sandbox.search import Search, control_paths, is_directory, job_files, mode_of, number_of


def set_aside(controls: Controls) -> tuple[str, ...]:
    """Rename the control files that a command added and return their former paths. Calling twice is safe.

    A repository that is new below a root stays, as long as nothing in it makes git run anything.
    """
    added = [path for root in controls.roots for path in _new_below(root, controls)]
    added += [path for path in controls.absent if mode_of(path) is not None]
    added += [path for here in controls.job_dirs for path in job_files(here) if path not in controls.present]
    return tuple(str(path) for path in dict.fromkeys(added) if path not in controls.voids and _rename(path))


def _new_below(root: Path, controls: Controls) -> Iterator[Path]:
    for named in Search().named(root):
        for path in control_paths(named):
            if controls.present.get(path) == number_of(path.parent):
                if path.name.casefold() == ".git":
                    yield from _new_modules(path, controls)
            elif path.parent == root or not _is_harmless(path, root):
                yield path


def _new_modules(gitdir: Path, controls: Controls) -> Iterator[Path]:
    for module in git.modules(gitdir):
        is_new = controls.present.get(module) != number_of(module.parent)
        if is_new and git.is_gitdir(module) and not git.is_harmless(module):
            yield module


def _is_harmless(path: Path, root: Path) -> bool:
    """Say whether a new `.git` below a root may stay: a repository of its own, or what the root's own git made."""
    if path.name != ".git":
        return False
    if is_directory(path):
        return git.is_harmless(path)
    gitdir, mine = git.pointed(path), root / ".git"
    is_module = gitdir is not None and gitdir.is_relative_to(mine / "modules")
    return is_module or git.linked_gitdir(path.parent) == mine


def _rename(path: Path) -> bool:
    """Give a name that no program heeds to what lies at `path`, following no link; say whether it was possible."""
    try:
        parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        with os.scandir(parent) as entries:
            taken = {entry.name for entry in entries}
        names = (f"{path.name}{SET_ASIDE}{number or ''}" for number in range(len(taken) + 1))
        os.rename(path.name, next(name for name in names if name not in taken), src_dir_fd=parent, dst_dir_fd=parent)
    except OSError:
        return False
    finally:
        os.close(parent)
    return True
