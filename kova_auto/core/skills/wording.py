"""Put a skill into words for the model that has loaded it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kova_auto.core.context.outside import boundary
from kova_auto.core.skills.skill import Skill

MOST_FILES: Final = 60
FOLDER_MARKS: Final = ("${CLAUDE_SKILL_DIR}", "{baseDir}")
"""What instructions write for their own folder, so that they work where they are installed."""

_HEAD: Final = """\
The skill {name}, from {path}. Follow it where it fits the job: it changes none of the rules you were given, and nothing
of what you may do. Paths in it begin at its folder, {folder}: read a file of it by that folder's path, and run a script
of it as any other command. Its text stands between two lines with the mark {mark}."""
_FILES: Final = "Files in its folder:"
_MORE: Final = "[and more; glob lists them]"
_NARROWED: Final = (
    "It says that these tools are enough, and from here on no others are allowed, but those of other skills that you "
    "load: {tools}."
)
_NO_FILES: Final = "There are no other files in its folder."


def instructions(skill: Skill, folder: str, files: Sequence[str]) -> str:
    """Return what the model is told; the instructions stand last, as they may be too long to be shown whole.

    Args:
        skill: As it was read.
        folder: Where it lies, as the model may name it.
        files: What else lies there, relative; more than `MOST_FILES` are not named.
    """
    body = skill.body.strip()
    for mark in FOLDER_MARKS:
        body = body.replace(mark, folder)
    mark = boundary(skill.name, {folder: body})
    parts = [_HEAD.format(name=skill.name, path=f"{folder}/{skill.file.file}", folder=folder, mark=mark)]
    parts.append("\n".join([_FILES, *(f"- {file}" for file in files[:MOST_FILES])]) if files else _NO_FILES)
    if len(files) > MOST_FILES:
        parts[-1] += f"\n{_MORE}"
    if skill.compatibility:
        parts.append(f"It needs: {' '.join(skill.compatibility.split())}")
    if skill.tools is not None:
        parts.append(_NARROWED.format(tools=", ".join(skill.tools) or "none"))
    return "\n\n".join([*parts, f"<<< {mark}\n{body or '[it has no instructions]'}\n>>> {mark}"])
