"""Reads the AGENTS.md of a workspace as the `read` tool would: through the boundary, and never a secret."""

from __future__ import annotations

import os

from kova_auto.core.context.instructions import NAMES, Instructions
from kova_auto.core.errors import ToolError
from kova_auto.tools.boundary import PATH_ONLY
from kova_auto.tools.encoding import binary_type, decode
from kova_auto.tools.files import read_file
from kova_auto.tools.roots import Ground, Roots, Target

_MOST_BYTES = 1024 * 1024


def workspace_instructions(roots: Roots, ground: Ground) -> Instructions | None:
    """Return the first such file that the workspace has; None where it has none."""
    for name in NAMES:
        try:
            target = roots.locate(name, ground, writes=False)
            if is_there(target):
                return _read(roots, target)
        except ToolError as exc:
            return Instructions(name, problem=str(exc))
    return None


def is_there(target: Target) -> bool:
    """Say whether something lies there, whatever it is and whether or not it may be read."""
    try:
        os.close(target.open(PATH_ONLY | os.O_CLOEXEC))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _read(roots: Roots, target: Target) -> Instructions:
    data = read_file(roots, target, limit=_MOST_BYTES).data
    if kind := binary_type(data):
        return Instructions(target.shown, problem=f"it is a binary file ({kind}), not text")
    return Instructions(target.shown, decode(data).readable)
