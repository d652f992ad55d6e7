"""Ask without what a compatible server, or another model, does not take; pure.

What a request is about is never given up, nor the limit of its reply: a ceiling in money may stand behind that. A value
that somebody chose is not left out because it is wrong.
"""

from __future__ import annotations

import re
from typing import Final

from kova_auto.llm.faults import Problem
from kova_auto.llm.openai_responses.items import Item, items_in

_OURS: Final = frozenset({"include", "prompt_cache_key", "store"})
_NEEDED: Final = frozenset({"model", "input", "instructions", "tools", "stream", "max_output_tokens"})
_UNWANTED: Final = re.compile(
    r"unsupported|unknown|unrecogni[sz]ed|unexpected|extra[ _](inputs|fields|forbidden)"
    r"|(not|n't) (be )?(supported|support|permitted|allowed|accepted|recogni[sz]ed)",
    re.IGNORECASE,
)
_A_VALUE: Final = re.compile(r"unsupported[ _]value", re.IGNORECASE)
_REASONING: Final = re.compile(r"encrypted[ _]content|reasoning", re.IGNORECASE)


def without(body: Item, problem: Problem) -> Item | None:
    """Return the body without what the provider refuses; None where the problem names nothing of that kind."""
    said = " ".join((problem.message, *sorted(problem.codes)))
    if name := _named(body, problem, is_unwanted=bool(_UNWANTED.search(said) and not _A_VALUE.search(said))):
        return {key: value for key, value in body.items() if key != name}
    is_in_input = problem.param.startswith("input") or "invalid_encrypted_content" in problem.codes
    return _without_reasoning(body) if is_in_input and _REASONING.search(said) else None


def _named(body: Item, problem: Problem, *, is_unwanted: bool) -> str:
    """Return which part of the body is refused; empty where it is none that can be left out."""
    if problem.param:
        name = re.split(r"[.\[]", problem.param, maxsplit=1)[0]
        return name if name in body and (name in _OURS or (is_unwanted and name not in _NEEDED)) else ""
    mentioned = (key for key in body if key not in _NEEDED and _mention(key).search(problem.message))
    return next(mentioned, "") if is_unwanted else ""


def _mention(key: str) -> re.Pattern[str]:
    """Match a key where it cannot be an ordinary word: quoted, called what it is, or with the mark of names."""
    before = r"\b" if "_" in key else r"(?:['\"`]|\b(?:parameter|field|argument|property):? )"
    return re.compile(rf"{before}{re.escape(key)}\b")


def _without_reasoning(body: Item) -> Item | None:
    """Return the body without reasoning, and without the ids by which it would be missed."""
    items = items_in(body.get("input"))
    kept: list[Item] = [
        {key: value for key, value in item.items() if key != "id"} for item in items if item.get("type") != "reasoning"
    ]
    return {**body, "input": [*kept]} if len(kept) < len(items) else None
