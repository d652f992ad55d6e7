"""Write a run as Markdown for people: whatever a model or a tool said, it stays inside its own place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from kova_auto.core.delivery.formats.commonmark import Dialect
from kova_auto.core.delivery.formats.markdown import parse
from kova_auto.core.delivery.notice import SCRIPTED
from kova_auto.core.delivery.text import clean, cut, one_line
from kova_auto.core.goal.view import GoalView
from kova_auto.core.loop.values import Interlude, Iteration, LoopApproval, LoopAttempt, LoopCall, LoopView
from kova_auto.core.message import ImagePart, TextPart, ToolMessage
from kova_auto.core.state import RunState
from kova_auto.core.transcript.told import Told, What

_MARKS: Final = Dialect()
_HEAD_LINES: Final = 40
_HEAD_CHARS: Final = 4_000
_LINE: Final = 400
_TICKS: Final = re.compile("`+")

Place = tuple[int, int, int]


def markdown(state: RunState, view: LoopView, told: Sequence[Told], zone: ZoneInfo) -> Iterator[str]:
    """Yield a run's transcript, paragraph by paragraph.

    Args:
        state: What its facts add up to.
        view: Its loop.
        told: What was said in it.
        zone: Whose clock is shown.
    """
    yield f"# Run {_MARKS.command(view.run_id)}"
    yield "\n".join(f"- {_MARKS.strong(label)}: {value}" for label, value in _facts(state, view, zone))
    for said in told:
        if said.what in {What.SYSTEM, What.HISTORY, What.PROMPT}:
            yield from _given(said)
    answer = state.finished.answer.strip() if state.finished else ""
    for _, paragraphs in sorted(_parts(view, answer, zone), key=lambda part: part[0]):
        yield from paragraphs
    if view.goal:
        yield from _goal(view.goal)
    yield "## End"
    yield f"{_MARKS.strong(_ended(view))}: {_plain(view.why)}"
    if answer:
        yield "## Answer"
        yield quoted(answer)


def _facts(state: RunState, view: LoopView, zone: ZoneInfo) -> Iterator[tuple[str, str]]:
    request = state.request
    yield "Job", _MARKS.command(view.job)
    if by := state.request.child_of:
        about = f" ({_plain(by.title)})" if by.title else ""
        yield (
            "Subagent",
            f"{_MARKS.command(by.agent)}{about}, dispatched by {by.call_id} of {_MARKS.command(by.run_id)}",
        )
    yield "Came to", _plain(_ended(view))
    yield "Model", SCRIPTED if view.scripted else _MARKS.command(state.pin.name)
    yield "Mode", _plain(f"{state.job.mode}, {request.level or state.job.automation}")
    yield "Workspace", _MARKS.command(request.workspace)
    if request.inputs:
        yield "Inputs", ", ".join(_MARKS.command(f"{name}={value}") for name, value in request.inputs.items())
    instants = (("Meant for", request.nominal_at), ("Asked for", request.at), ("Finished", state.finished_at))
    yield from ((label, _clock(instant, zone)) for label, instant in instants if instant)
    yield "Took", f"{view.ran_s:.1f} s in attempt {view.attempt}"
    cost = "cost unknown" if view.cost_usd is None else f"{view.cost_usd:.4f} USD"
    yield "Used", f"{view.tokens:,} tokens, {cost}"


def _given(said: Told) -> Iterator[str]:
    """Yield what the model was given first."""
    if said.what is What.SYSTEM:
        yield f"## System prompt of attempt {said.attempt}"
        yield fenced(said.system)
        return
    who = {"user": "the user", "assistant": "the model", "tool": "a tool"}
    role = said.message.role if said.message else "user"
    yield f"## Prompt of attempt {said.attempt}" if said.what is What.PROMPT else f"### Said before by {who[role]}"
    yield quoted(_text_of(said))


def _text_of(said: Told) -> str:
    message = said.message
    if message is None:
        return said.system
    if message.role == "assistant":
        return message.text or f"calls {', '.join(call.tool for call in message.calls)}"
    parts = [part.text if isinstance(part, TextPart) else _image(part) for part in message.parts]
    head = [f"{message.call.tool}:"] if isinstance(message, ToolMessage) else []
    return "\n\n".join([*head, *parts])


def _image(part: ImagePart) -> str:
    return f"[{part.media_type}, {part.blob}]"


def _parts(view: LoopView, answer: str, zone: ZoneInfo) -> Iterable[tuple[Place, Iterator[str]]]:
    for attempt in view.attempts:
        yield (attempt.number, 0, 0), _attempt(attempt, zone)
    for interlude in view.interludes:
        yield (interlude.attempt, interlude.before, 0), _interlude(interlude, zone)
    for iteration in view.iterations:
        yield (iteration.attempt, iteration.number, 1), _iteration(iteration, answer, zone)


def _attempt(attempt: LoopAttempt, zone: ZoneInfo) -> Iterator[str]:
    because = f"because {attempt.because}" if attempt.because else f"asked for by {attempt.by}"
    yield f"## Attempt {attempt.number}"
    yield _plain(f"{_clock(attempt.not_before or attempt.at, zone)}, {because}")


def _interlude(interlude: Interlude, zone: ZoneInfo) -> Iterator[str]:
    yield f"{_clock(interlude.at, zone)}: {_plain(interlude.text)}"


def _iteration(iteration: Iteration, answer: str, zone: ZoneInfo) -> Iterator[str]:
    yield f"## Iteration {iteration.number}"
    about = "about " if iteration.context_estimated else ""
    cost = "cost unknown" if iteration.cost_usd is None else f"{iteration.cost_usd:.4f} USD"
    cached = f" ({iteration.tokens_cached:,} cached)" if iteration.tokens_cached else ""
    yield (
        f"{_clock(iteration.began_at, zone)}, {iteration.took_s:.1f} s; {about}{iteration.context_tokens:,} tokens of "
        f"context; {iteration.tokens_in:,} in{cached}, {iteration.tokens_out:,} out; {cost}"
    )
    for aside in iteration.asides:
        yield "Told besides:"
        yield quoted(aside)
    for failure in iteration.failures:
        yield f"{_clock(failure.at, zone)}: no reply ({_plain(failure.error)}): {_plain(failure.message)}"
    if answer and iteration.intent == answer:
        yield "The answer, which stands below."
    elif iteration.replied:
        yield quoted(iteration.intent or "(said nothing)")
    for call in iteration.calls:
        yield from _call(call, zone)


def _call(call: LoopCall, zone: ZoneInfo) -> Iterator[str]:
    yield f"### {call.call_id} {_MARKS.command(one_line(call.tool, 100))}"
    if isinstance(call.arguments, str):
        yield fenced(call.arguments)
    else:
        yield fenced(json.dumps(call.arguments, indent=2, ensure_ascii=False), "json")
    if call.ruling:
        yield f"{_MARKS.strong(call.ruling)}: {_plain(call.reason)} ({_MARKS.command(call.rule)})"
    if call.approval:
        yield _approval(call.approval, call.waited_s, zone)
    if call.status:
        code = f", exit code {call.exit_code}" if call.exit_code is not None else ""
        took = f", {call.took_s:.1f} s" if call.took_s is not None else ""
        beside = f" beside {', '.join(call.beside)}" if call.beside else ""
        yield f"{_MARKS.strong(call.status)}{code}{took}{beside}:"
        yield _head(call.result)
    if call.subagent:
        came_to = f"{_MARKS.strong(_ended(call.subagent))}: {_plain(call.subagent.why)}"
        yield f"It is run {_MARKS.command(call.subagent.run_id)}, which stands below. {came_to}"
    elif call.child:
        yield f"It is run {_MARKS.command(call.child)}."
    if call.awaited_s:
        yield f"Before that, it waited for subagents, {call.awaited_s:.1f} s."
    if call.changed:
        yield f"Wrote {', '.join(_MARKS.command(one_line(path, _LINE)) for path in call.changed)}"


def _approval(approval: LoopApproval, waited_s: float | None, zone: ZoneInfo) -> str:
    asked = f"A person was asked at {_clock(approval.asked_at, zone)}"
    if approval.decision is None or approval.decided_at is None:
        return f"{asked}, and has not answered."
    changed = ", with other arguments" if approval.changed else ""
    note = f": {_plain(approval.note)}" if approval.note else ""
    said = f"{_plain(approval.by)} said {_MARKS.strong(approval.decision)}{changed}"
    return f"{asked}; {said} at {_clock(approval.decided_at, zone)}, after {waited_s or 0.0:.1f} s{note}"


def _head(text: str) -> str:
    """Return the head of a result, and how much more there was."""
    lines = text.split("\n")
    head = cut("\n".join(lines[:_HEAD_LINES]), _HEAD_CHARS)
    left = len(text) - len(head)
    return fenced(head or "(nothing)") + (f"\n\n{left:,} more characters." if left > 1 else "")


def _goal(goal: GoalView) -> Iterator[str]:
    found = {None: "not judged", True: "met", False: "not met"}
    yield "## Goal"
    yield f"{_MARKS.strong(goal.status.replace('_', ' '))}, turn {goal.turn} of {goal.turns}"
    yield quoted(goal.objective)
    criteria = (
        f"- {_MARKS.strong(found[one.met])}: {_MARKS.command(one.command) if one.command else _plain(one.text)}"
        + (f" ({_plain(one.evidence)})" if one.evidence else "")
        for one in goal.criteria
    )
    yield from filter(None, ("\n".join(criteria), _plain(goal.blocker)))


def _ended(view: LoopView) -> str:
    return view.outcome.replace("_", " ") if view.outcome else view.execution


def fenced(text: str, info: str = "") -> str:
    """Return text as a block of code, exactly, with a fence that nothing in it can end."""
    shown = clean(text)
    longest = max((len(found) for found in _TICKS.findall(shown)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{info}\n{shown}\n{marks}"


def quoted(text: str) -> str:
    """Return Markdown of somebody else as a quotation that it cannot leave, without tags."""
    blocks = "\n\n".join(_MARKS.write(block) for block in parse(clean(text)))
    return "\n".join(f"> {line}".rstrip() for line in blocks.split("\n"))


def _plain(text: str) -> str:
    return _MARKS.line(one_line(text, _LINE))


def _clock(instant: datetime, zone: ZoneInfo) -> str:
    return instant.astimezone(zone).isoformat(" ", "seconds")
