"""Hold what a run's facts say of skills: which it may load, and which it has loaded."""

from __future__ import annotations

from typing import Final

from kova_auto.core.value import Value

USE_SKILL: Final = "use_skill"
"""The tool that loads one."""


class OfferedSkill(Value):
    """Name a skill that a run may load.

    Attributes:
        folder: Absolute and canonical; what lies in it may be read.
        file: Name of its `SKILL.md` there.
    """

    name: str
    folder: str
    file: str = "SKILL.md"


class UsedSkill(Value):
    """Say that a run has loaded a skill.

    Attributes:
        folder: Absolute and canonical.
        tools: That it says are enough for its work, by our names; None where it says nothing.
        file: Name of its `SKILL.md` there.
    """

    name: str
    folder: str
    tools: tuple[str, ...] | None = None
    file: str = "SKILL.md"

    @property
    def path(self) -> str:
        """Return where it says so, absolute."""
        return f"{self.folder}/{self.file}"
