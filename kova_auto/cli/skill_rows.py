"""Show skills: those that there are for a run, those that others stand before, and what is wrong with files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kova_auto.cli.job_rows import JsonDict
from kova_auto.core.delivery.text import clean, one_line
from kova_auto.core.errors import ConfigError
from kova_auto.core.skills.catalogue import wanted_of
from kova_auto.core.skills.precedence import Broken, Shelf
from kova_auto.core.skills.skill import Skill

HEAD: Final = ("NAME", "FROM", "SHOWN", "DESCRIPTION")
SHOWN, NAMED_ONLY, NOT_NAMED, SHADOWED = "yes", "if named", "not named", "shadowed"


@dataclass(frozen=True, slots=True)
class SkillRow:
    """Hold one skill; `shown` is `yes`, `if named`, `not named` or `shadowed`."""

    skill: Skill
    shown: str
    before: Skill | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the row as a person reads it."""
        skill = self.skill
        return one_line(skill.name, 64), one_line(skill.file.within, 80), self.shown, skill.description

    @property
    def json(self) -> JsonDict:
        """Return the row as a program reads it; the names stay."""
        return {**about(self.skill), "shown": self.shown, "shadowed_by": self.before.file.path if self.before else None}


def rows_of(shelf: Shelf, wanted: Sequence[str] | None) -> list[SkillRow]:
    """Return the skills in the order of their places, each with whether a run is told of it.

    Args:
        shelf: What there is.
        wanted: As a job names them; None where it names none, or there is no job.
    """
    told = {skill.name for skill in wanted_of(shelf, wanted)}
    rows = [SkillRow(skill, _shown(skill, told, is_named=wanted is not None)) for skill in shelf.skills]
    return [*rows, *(SkillRow(skill, SHADOWED, before) for skill, before in shelf.shadowed)]


def _shown(skill: Skill, told: set[str], *, is_named: bool) -> str:
    if skill.name in told:
        return SHOWN
    return NOT_NAMED if is_named else NAMED_ONLY


def about(skill: Skill) -> JsonDict:
    """Return a skill as a program reads it, its instructions left out."""
    return {
        "name": skill.name,
        "description": skill.description,
        "layer": skill.file.layer,
        "path": skill.file.path,
        "license": skill.license,
        "compatibility": skill.compatibility,
        "metadata": dict(skill.metadata),
        "allowed_tools": list(skill.allowed) if skill.allowed is not None else None,
        "tools": list(skill.tools) if skill.tools is not None else None,
        "hidden": skill.hidden,
        "remarks": [problem_json(remark) for remark in skill.remarks],
    }


def problem_json(problem: ConfigError) -> JsonDict:
    """Return what is wrong with a file as a program reads it."""
    return {"line": problem.line, "key": problem.key, "message": problem.message, "hint": problem.hint}


def lines_of(skill: Skill) -> Iterator[str]:
    """Yield what there is to know of a skill, and its instructions, as a person reads them."""
    facts = {
        "name": skill.name,
        "path": skill.file.path,
        "description": skill.description,
        "license": skill.license,
        "needs": skill.compatibility,
        "metadata": ", ".join(f"{key}: {value}" for key, value in skill.metadata.items()),
        "shown": "only where a job names it" if skill.hidden else "",
        "narrows to": _narrows(skill),
    }
    for name, value in facts.items():
        if value:
            yield f"{name + ':':<13}{one_line(value, 2_000)}"
    yield ""
    yield clean(skill.body)


def _narrows(skill: Skill) -> str:
    if skill.allowed is None:
        return ""
    if skill.tools is None:
        return f"nothing: a run keeps its tools (allowed-tools: {' '.join(skill.allowed)})"
    left = ", ".join(skill.tools) or "no tools"
    return f"{left}, once a run has loaded it; they are judged as ever (allowed-tools: {' '.join(skill.allowed)})"


def checked_json(found: Skill | Broken) -> JsonDict:
    """Return what came of a check as a program reads it."""
    if isinstance(found, Broken):
        errors = [problem_json(problem) for problem in found.error.problems]
        return {"path": found.file.path, "name": None, "errors": errors, "warnings": []}
    warnings = [problem_json(remark) for remark in found.remarks]
    return {"path": found.file.path, "name": found.name, "errors": [], "warnings": warnings}


def unread_json(text: str) -> JsonDict:
    """Return what lies among skills and is not read as a program reads it."""
    return {"path": None, "name": None, "errors": [], "warnings": [problem_json(ConfigError(text))]}
