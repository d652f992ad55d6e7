"""What a person is shown of a call before deciding about it: the same in `approvals show` and in the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kova_auto.cli.progress import spell_child
from kova_auto.cli.run_rows import when
from kova_auto.core.delivery.report import spell_standing
from kova_auto.core.delivery.text import one_line, visible
from kova_auto.core.run import CallState, RunState
from kova_auto.core.tool_names import PLAN_EXIT

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

_NAME = 60
_WORDS = 10_000


def card(known: CallState, zone: ZoneInfo, plan: str = "") -> Iterator[str]:
    """Yield the lines that say what is asked, why, and what "allow and remember" would keep.

    Args:
        known: The call.
        zone: In which instants are shown.
        plan: Of the run; shown where the call asks that it be carried out.
    """
    yield f"tool: {one_line(known.call.tool, _NAME)}"
    if known.verdict and known.verdict.question:
        yield from questions(known)
    else:
        yield from _deed(known)
    if known.call.tool == PLAN_EXIT:
        yield from (f"  | {visible(line)}" for line in plan.splitlines())
    yield from _answer(known, zone)


def whose(state: RunState, otherwise: str) -> str:
    """Return which subagent makes a call, as a person reads it; `otherwise` where a run of nobody's does."""
    by = state.request.child_of
    return f"subagent {spell_child(by.agent, by.title)}" if by else otherwise


def dispatched(state: RunState) -> Iterator[str]:
    """Yield which subagent makes a call, and for whom; nothing where no run dispatched the one that makes it."""
    if by := state.request.child_of:
        above = f", in the family of run {by.root}" if by.root != by.run_id else ""
        yield f"asked by: {whose(state, '')}, run {state.run_id}"
        yield f"dispatched by: run {by.run_id} of {state.job.name}{above}"


def questions(known: CallState) -> Iterator[str]:
    """Yield the questions of a call that asks some, with their options, numbered."""
    asked = known.call.args.get("questions")
    for number, question in enumerate(asked if isinstance(asked, list) else (), start=1):
        if not isinstance(question, dict):
            continue
        several = " (more than one may be chosen)" if question.get("multi_select") else ""
        yield f"question {number}: {one_line(str(question.get('title', '')), _WORDS)}{several}"
        options = question.get("options")
        for choice, option in enumerate(options if isinstance(options, list) else (), start=1):
            if isinstance(option, dict):
                about = f": {one_line(str(option['description']), 300)}" if option.get("description") else ""
                yield f"  {choice}. {one_line(str(option.get('title', '')), 200)}{about}"


def _deed(known: CallState) -> Iterator[str]:
    """Yield what a call would do, why it is not simply done, and what an answer would change."""
    arguments = known.call.args if known.call.unparsed is None else known.call.unparsed
    yield f"arguments: {visible(json.dumps(arguments, indent=2, ensure_ascii=False))}"
    if known.verdict:
        yield f"why: {_line(known.verdict.reason)} ({known.verdict.rule})"
    yield from _consequences(known)


def _consequences(known: CallState) -> Iterator[str]:
    if known.approval is None:
        return
    yield from (f"overwrites: {_line(target.path)}" for target in known.approval.targets if target.content)
    if kept := tuple(spell_standing(known.approval.offer)):
        yield f"would be remembered: {_line('; '.join(kept))}"
    if known.approval.no_offer:
        yield f"for this one time only: {_line(known.approval.no_offer)}"
    if proposed := tuple(spell_standing(known.approval.proposed)):
        yield f"the workspace's own file proposes (it grants nothing): {_line('; '.join(proposed))}"


def _answer(known: CallState, zone: ZoneInfo) -> Iterator[str]:
    if said := known.decision:
        note = f": {_line(said.note)}" if said.note else ""
        yield f"answered: {said.decision} by {_line(said.by)}{note}"
        if said.args is not None:
            yield "the arguments are those of the answer, not the model's"
        yield from (f"answer {number}: {one_line(text, _WORDS)}" for number, text in enumerate(said.answers, start=1))
    elif known.awaits_person and known.approval:
        yield f"waits until: {when(known.approval.expires_at, zone)}" if known.approval.expires_at else "waits for you"
    else:
        yield "waits for nobody"


def _line(text: str) -> str:
    """Return a text as it is, on one line: none of it may look like another line of the card."""
    return visible(text).replace("\n", "\\n")
