"""Ask without what a compatible server, or another model, does not take.

The limit of a reply is never left out: a ceiling in money may stand behind it.
"""

from __future__ import annotations

import re
from typing import Final

from kova_auto.llm.faults import Problem
from kova_auto.llm.openai_responses.items import Item, items_in

_OPTIONAL: Final = ("include", "prompt_cache_key", "store")
_UNKNOWN: Final = re.compile(
    r"un(supported|known|recogni[sz]ed|expected)|not (supported|permitted|allowed)|extra", re.IGNORECASE
)
_REASONING: Final = re.compile(r"encrypted[ _]content|reasoning", re.IGNORECASE)


def without(body: Item, problem: Problem) -> Item | None:
    """Return the body without what the provider refuses; None where the problem names nothing of that kind."""
    for name in _OPTIONAL:
        if name in body and _names(problem, name):
            return {key: value for key, value in body.items() if key != name}
    said = " ".join((problem.message, *problem.codes))
    is_in_input = problem.param.startswith("input") or "invalid_encrypted_content" in problem.codes
    return _without_reasoning(body) if is_in_input and _REASONING.search(said) else None


def _names(problem: Problem, name: str) -> bool:
    """Say whether it is this parameter that is refused; one that is only spoken of is not."""
    if problem.param:
        return re.split(r"[.\[]", problem.param)[0] == name
    said = " ".join((problem.message, *problem.codes))
    return bool(_UNKNOWN.search(said)) and bool(re.search(rf"\b{name}\b", problem.message))


def _without_reasoning(body: Item) -> Item | None:
    """Return the body without reasoning, and without the ids by which it would be missed."""
    items = items_in(body.get("input"))
    kept: list[Item] = [
        {key: value for key, value in item.items() if key != "id"} for item in items if item.get("type") != "reasoning"
    ]
    return {**body, "input": [*kept]} if len(kept) < len(items) else None
