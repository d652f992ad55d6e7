"""Name the file of a plan: beside the workspace's other files of ours, told from those of other runs."""

from __future__ import annotations

import re
from typing import Final

BENEATH: Final = (".kova", "plans")
"""Where plans are, beneath a workspace."""

_LONGEST_TITLE: Final = 60
_NAME: Final = re.compile(r"plan-[\w.@-]{1,200}\.md")


def plan_name(title: str, run_id: str) -> str:
    """Return the name of a plan's file.

    Args:
        title: In the model's words; what is neither letter nor digit becomes a hyphen.
        run_id: Of the run, which says when, too.

    Source: reference on Kova, 3.1.
    """
    parts = (_plain(title)[:_LONGEST_TITLE].strip("-"), _plain(run_id)[:80].strip("-"))
    return f"plan-{'-'.join(part for part in parts if part)}.md"


def is_plan(parts: tuple[str, ...]) -> bool:
    """Say whether a path beneath that place is a plan's file."""
    return len(parts) == 1 and _NAME.fullmatch(parts[0]) is not None


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()
