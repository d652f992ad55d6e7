"""Hold one skill as it was found, and as it was read.

Source: the Agent Skills format, https://agentskills.io/specification.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from kova_auto.core.errors import ConfigError
from kova_auto.core.skill_facts import OfferedSkill

FILES: Final = ("SKILL.md", "skill.md")
"""The first that is there counts; the format knows the first alone."""
FOLDERS: Final = ((".kova", "skills"), (".agents", "skills"), (".claude", "skills"))
"""Where skills lie in a workspace, and in the user's home; the first comes first."""
MOST_IN_FOLDER: Final = 64
"""So many skills of one directory are read."""
MOST_BYTES: Final = 256 * 1024
"""Of one `SKILL.md`."""
TOO_LARGE: Final = f"wanted at most {MOST_BYTES // 1024} KiB, found more; move details to files beside it"


class Layer(StrEnum):
    """Say who brought a skill; the first comes first."""

    WORKSPACE = "workspace"
    USER = "user"
    PLUGIN = "plugin"


@dataclass(frozen=True, slots=True)
class SkillFile:
    """Hold a `SKILL.md` as it was found.

    Attributes:
        layer: Who brought it.
        within: The directory of skills, as people know it: `.kova/skills`, `~/.kova/skills`, `plugin acme`.
        name: Of its folder.
        folder: Absolute and canonical.
        file: Name of the file in it.
        text: All of it.
        problem: Why it could not be read; empty where it could.
    """

    layer: Layer
    within: str
    name: str
    folder: str
    file: str = FILES[0]
    text: str = ""
    problem: str = ""

    @property
    def shown(self) -> str:
        """Return its place as people know it."""
        return f"{self.within}/{self.name}/{self.file}"

    @property
    def path(self) -> str:
        """Return where it lies, absolute."""
        return f"{self.folder}/{self.file}"


@dataclass(frozen=True, slots=True)
class Skill:
    """Hold one skill as it is used.

    Attributes:
        name: By which it is loaded.
        description: One line: what it does, and when to use it.
        body: Its instructions, Markdown.
        allowed: Its `allowed-tools` as they are written; None where there are none, or all.
        tools: The same by our names; None where they narrow nothing.
        hidden: A model is not told of it; who names it in a job decides that it may be loaded.
        remarks: What is not as the format wants it, and was put up with; each with its line.
    """

    file: SkillFile
    name: str
    description: str
    body: str
    license: str = ""
    compatibility: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    allowed: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None
    hidden: bool = False
    remarks: tuple[ConfigError, ...] = ()

    @property
    def offered(self) -> OfferedSkill:
        """Return what a run is told where it lies."""
        return OfferedSkill(name=self.name, folder=self.file.folder, file=self.file.file)
