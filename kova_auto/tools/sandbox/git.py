"""Knows what lies in a git directory, and which of it makes git run code: read, never believed.

A linked worktree's `.git` is a file that names a directory elsewhere. A workspace may hold such a file without being a
worktree: the directory counts only if it points back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from kova_auto.core.approval.floor import GIT_FILES

_MAX_POINTER_BYTES = 4096
_MAX_MODULE_DEPTH = 5
_MAX_CONFIG_BYTES = 64 << 10
_SECTION = re.compile(r"""\[(?P<name>[A-Za-z0-9-]+)(?: "[^"\\]*")?\]""")
_SETTING = re.compile(r"(?P<key>[A-Za-z][A-Za-z0-9-]*)(?:\s*=\s*[^\\]*)?")
_PLAIN_SETTINGS = frozenset(
    f"{section}.{key}"
    for section, keys in {
        "core": "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks worktree",
        "extensions": "objectformat refstorage",
        "init": "defaultbranch",
        "remote": "url fetch tagopt",
        "branch": "remote merge rebase",
        "submodule": "url active",
        "user": "name email",
    }.items()
    for key in keys.split()
)


def linked_gitdir(root: Path) -> Path | None:
    """Return the common git directory of a linked worktree at `root`, or None where it is none.

    Both directions are checked, as git writes them: a planted `.git` file cannot make another directory visible.
    """
    gitdir = _pointer(root / ".git", prefix="gitdir: ", base=root)
    if gitdir is None or gitdir.parent.name != "worktrees":
        return None
    common = _pointer(gitdir / "commondir", prefix="", base=gitdir)
    back = _pointer(gitdir / "gitdir", prefix="", base=gitdir)
    if common != gitdir.parent.parent or back != root / ".git" or not (gitdir.parent.parent / "HEAD").is_file():
        return None
    return common


def control_files(gitdir: Path) -> tuple[Path, ...]:
    """Return the files that decide what git runs or where it looks, whether they exist or not; `info` is apart."""
    return tuple(gitdir / name for name in GIT_FILES if not name.startswith("info/"))


def modules(gitdir: Path) -> Iterator[Path]:
    """Yield the git directories of submodules, and the directories between them, outermost first."""
    todo = [(gitdir / "modules", 0)]
    while todo:
        here, depth = todo.pop(0)
        if here.is_symlink() or not here.is_dir() or depth > _MAX_MODULE_DEPTH:
            continue
        yield here
        if not is_gitdir(here):
            todo += [(child, depth + 1) for child in sorted(here.iterdir())]


def worktrees(gitdir: Path) -> Iterator[Path]:
    """Yield the private directories of linked worktrees, and the one that holds them, first."""
    holder = gitdir / "worktrees"
    if holder.is_dir() and not holder.is_symlink():
        yield holder
        yield from (child for child in sorted(holder.iterdir()) if child.is_dir() and not child.is_symlink())


def is_gitdir(path: Path) -> bool:
    """Say whether a directory looks like a repository's own."""
    return (path / "HEAD").is_file() and (path / "objects").is_dir()


def pointed(path: Path) -> Path | None:
    """Return the directory that a `.git` file names; None where it is no such file."""
    return _pointer(path, prefix="gitdir: ", base=path.parent)


def is_harmless(gitdir: Path) -> bool:
    """Say whether nothing in a repository's directory makes git run anything, or look elsewhere.

    Of its configuration, only what git itself writes when it makes or clones a repository is known to be so.
    """
    hooks = gitdir / "hooks"
    if gitdir.is_symlink() or hooks.is_symlink() or _has_hooks(hooks) or (gitdir / "modules").exists():
        return False
    others = (path for path in (*control_files(gitdir), gitdir / "info" / "attributes") if path.name != "config")
    if any(path.is_symlink() or path.exists() for path in others):
        return False
    config = gitdir / "config"
    return not config.is_symlink() and all(_is_plain(line) for line in _lines(config))


def _has_hooks(hooks: Path) -> bool:
    try:
        return any(not path.name.endswith(".sample") for path in hooks.iterdir())
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _lines(config: Path) -> Iterator[str]:
    """Yield each setting as `section.key`; something that is none where it cannot be read so simply."""
    section = ""
    try:
        with config.open("rb") as file:
            text = file.read(_MAX_CONFIG_BYTES + 1).decode()
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError):
        yield "unreadable"
        return
    if len(text) > _MAX_CONFIG_BYTES or "\0" in text:
        yield "too long"
    for line in map(str.strip, text.splitlines()):
        if found := _SECTION.fullmatch(line):
            section = found["name"].lower()
        elif found := _SETTING.fullmatch(line):
            yield f"{section}.{found['key'].lower()}"
        elif line and line[0] not in "#;":
            yield line


def _is_plain(setting: str) -> bool:
    return setting in _PLAIN_SETTINGS


def _pointer(path: Path, *, prefix: str, base: Path) -> Path | None:
    """Return the canonical path that a small file names."""
    try:
        if path.is_symlink() or not path.is_file():
            return None
        with path.open("rb") as file:
            text = file.read(_MAX_POINTER_BYTES).decode()
    except (OSError, UnicodeDecodeError):
        return None
    named = text.removesuffix("\n")
    if not named.startswith(prefix) or "\n" in named or "\0" in named:
        return None
    return (base / named.removeprefix(prefix)).resolve()
