"""Say which workspaces of other jobs a command must not see."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

SYSTEM = tuple(
    Path("/", name)
    for name in ("bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "nix", "proc", "sbin", "sys", "usr")
)
"""Trees without which no command runs; a job may well work in one of them."""


def others(workspaces: Iterable[Path], own: Sequence[Path]) -> tuple[Path, ...]:
    """Return the workspaces that are hidden from a command.

    A workspace inside one of the command's own roots belongs to that root. One that holds such a root is hidden around
    it. The system's own trees stay visible, whoever works there.

    Args:
        workspaces: Of all jobs that are known.
        own: What the command may read or write.
    """
    roots = tuple(path.resolve() for path in own)
    found = dict.fromkeys(path.resolve() for path in workspaces)
    return tuple(path for path in found if not _is_ours(path, roots) and not _is_system(path))


def _is_ours(path: Path, roots: Sequence[Path]) -> bool:
    return any(path.is_relative_to(root) for root in roots)


def _is_system(path: Path) -> bool:
    return any(path.is_relative_to(tree) or tree.is_relative_to(path) for tree in SYSTEM)
