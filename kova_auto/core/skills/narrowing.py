"""Say whether a call is outside of what the skills that a run has loaded say is enough for their work.

`allowed-tools` narrows and never widens. Skills that name none neither narrow nor lift what others have narrowed; of
those that do, any may name the tool. What keeps the run itself going is never taken away: its own notes and questions,
its goal and plan, how it ends, loading skills, and reading what belongs to a loaded skill or to an earlier result.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

from kova_auto.core.approval.facts import CallFacts
from kova_auto.core.approval.levels import Effect
from kova_auto.core.skill_facts import USE_SKILL, UsedSkill
from kova_auto.core.skills.allowed import is_among

_OWN: Final = frozenset(
    (
        *(Effect.NOTE, Effect.QUESTION, Effect.GOAL, Effect.CONTRACT),
        *(Effect.PLAN, Effect.LEAVE_PLAN, Effect.WORK_NEEDED),
    )
)
_READ: Final = "read"
_MOST_NAMED: Final = 12


def narrowed_by(facts: CallFacts, skills: Sequence[UsedSkill]) -> str:
    """Return the skills that a call is outside of, the tools that they leave and where; empty where it is not.

    Args:
        facts: Of the call.
        skills: That the run has loaded.
    """
    listing = [skill for skill in skills if skill.tools is not None]
    if not listing or facts.effect is None or _is_own(facts, skills):
        return ""
    left = dict.fromkeys(tool for skill in listing for tool in skill.tools or ())
    if is_among(facts.call.tool, left):
        return ""
    shown = listing[:_MOST_NAMED]
    names, files = ", ".join(skill.name for skill in shown), ", ".join(skill.path for skill in shown)
    whose = "skills {}: their" if len(listing) > 1 else "skill {}: its"
    return f"{whose.format(names)} allowed-tools are {', '.join(left) or 'none'} ({files})"


def _is_own(facts: CallFacts, skills: Sequence[UsedSkill]) -> bool:
    if facts.effect in _OWN or facts.call.tool == USE_SKILL:
        return True
    if facts.call.tool != _READ:
        return False
    return all(any(PurePath(path.path).is_relative_to(skill.folder) for skill in skills) for path in facts.paths)
