"""Read the user's own AGENTS.md."""

from __future__ import annotations

from pathlib import Path

from kova_auto.core.context.instructions import NAMES, Instructions
from kova_auto.core.errors import ConfigError
from kova_auto.knowledge.files import read_trusted
from kova_auto.knowledge.permissions import FOLDER


def own_instructions(home: Path) -> Instructions | None:
    """Return the first such file of a user; None where there is none."""
    for name in NAMES:
        shown = f"~/{FOLDER}/{name}"
        try:
            text = read_trusted(home / FOLDER / name, follow=True)
        except ConfigError as exc:
            return Instructions(shown, own=True, problem=str(exc))
        if text is not None:
            return Instructions(shown, text, own=True)
    return None
