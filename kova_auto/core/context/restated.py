"""Say again, after older iterations are folded, what the skills say that the model has loaded: they still hold."""

from __future__ import annotations

from typing import Final

from kova_auto.core.context.shorten import without_middle
from kova_auto.core.message import ToolResult
from kova_auto.core.skill_facts import USE_SKILL
from kova_auto.core.state import RunState

_TITLE: Final = "Skills that you have loaded; their instructions still hold:"
_WHERE: Final = "; {tool} gives all of {name}"


def restated(state: RunState, through: int, most: int) -> str:
    """Return the instructions of the skills that are folded; empty where none are.

    Args:
        state: Of the run.
        through: The last iteration that is folded.
        most: Characters of all instructions: long ones lose their middle.
    """
    found = _folded(state, through)
    if not found:
        return ""
    texts, left = dict[str, str](), most
    for done, name in enumerate(sorted(found, key=lambda name: len(found[name].text))):
        where = _WHERE.format(tool=USE_SKILL, name=name)
        texts[name] = without_middle(found[name].text, max(left // (len(found) - done), 0), where=where)
        left -= len(texts[name])
    return "\n\n".join([_TITLE, *(texts[name] for name in found)])


def chars_loaded(state: RunState) -> int:
    """Return how many characters the instructions of all loaded skills have."""
    return sum(len(result.text) for result in _folded(state, state.iteration).values())


def _folded(state: RunState, through: int) -> dict[str, ToolResult]:
    """Return what each skill said that was loaded and is folded, by name, unless it was loaded again since."""
    if not state.skills:
        return {}
    found: dict[str, ToolResult] = {}
    for reply in state.replies[state.first_reply :]:
        for result in (state.calls[call.id].result for call in reply.calls):
            if result is None or result.skill is None:
                continue
            found.pop(result.skill.name, None)
            if reply.iteration <= through:
                found[result.skill.name] = result
    return found
