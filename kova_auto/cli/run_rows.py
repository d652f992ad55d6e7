"""Show runs: as rows of a list, and one of them with all that is known of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from zoneinfo import ZoneInfo

from kova_auto.cli.ink import Ink
from kova_auto.cli.job_rows import JsonDict
from kova_auto.cli.loop import goal_lines
from kova_auto.cli.progress import result_head, spell_call, spell_child, spell_usage
from kova_auto.cli.usage_rows import spell_sum
from kova_auto.core.delivery.document import count
from kova_auto.core.delivery.notice import SCRIPTED
from kova_auto.core.delivery.text import clean, one_line
from kova_auto.core.event import Event
from kova_auto.core.goal.view import goal_view
from kova_auto.core.ids import DISPATCHED, JobName
from kova_auto.core.loop.interludes import said_of_check, said_of_source
from kova_auto.core.loop.values import LoopAttempt
from kova_auto.core.loop.view import attempts_of, loop_view
from kova_auto.core.loop.why import why_it_stopped
from kova_auto.core.message import ResultStatus
from kova_auto.core.run import RunState
from kova_auto.core.usage import By, Used, report
from kova_auto.core.view import DeliveryRow, RunRow, delivery_rows, run_row, usage_rows

HEAD = ("RUN", "ASKED FOR", "STATUS", "CALLS", "TOKENS", "ANSWER")
_NAME = 40
_RESULT = 200
_MOST = 30
"""Calls, and lines of usage, that a person still reads; `runs loop` shows them all."""


Branch = tuple[RunRow, Sequence[RunRow]]
"""A run, and those that it has dispatched, itself or through others."""


def cells(row: RunRow, zone: ZoneInfo, children: int = 0) -> tuple[str, ...]:
    """Return a run as a row of a list, with how many it has dispatched; one that another has dispatched is indented."""
    calls = f"{row.calls}" + (f" ({row.denied} refused)" if row.denied else "")
    waits = f"waits for run {row.waits_for}" if row.waits_for else ""
    if row.reason and not row.outcome:
        waits = f"attempt {row.attempt} at {when(row.wake_at, zone)}, because {row.reason}"
    said = waits or row.reason or row.answer_excerpt
    if row.agent:
        margin = "  " * row.run_id.count(DISPATCHED)
        return (
            f"{margin}{row.run_id}",
            when(row.requested_at, zone),
            status_of(row),
            calls,
            f"{row.tokens}",
            f"{one_line(row.agent, _NAME)}{': ' if said else ''}{said}",
        )
    status = ", ".join([status_of(row), *([count(children, "subagent")] if children else [])])
    return row.run_id, when(row.requested_at, zone), status, calls, f"{row.tokens}", said


def by_jobs(rows: Iterable[RunRow]) -> Mapping[JobName, Sequence[RunRow]]:
    """Return the runs of each job, in the order in which they come."""
    groups: dict[JobName, list[RunRow]] = {}
    for row in rows:
        groups.setdefault(row.job, []).append(row)
    return groups


def under_jobs(lines: Sequence[str], groups: Mapping[JobName, Sequence[RunRow]], ink: Ink) -> Iterator[str]:
    """Yield the lines of a listing, its runs under the names of their jobs.

    Args:
        lines: The head, and a line for each run.
        groups: The runs in the same order.
        ink: Of the place where the lines go.
    """
    head, *rest = lines
    left = iter(rest)
    yield head
    for job, rows in groups.items():
        yield f"{ink(job, bold=True)}  {count(len(rows), 'run')}"
        yield from islice(left, len(rows))


def status_of(row: RunRow) -> str:
    """Return what came of a run, or where it is; with what must not be forgotten of it."""
    words = [(row.outcome or row.execution).replace("_", " ")]
    marks = {"partial": row.partial, "staged": row.staged, "scripted": row.scripted}
    return ", ".join(words + [mark for mark, is_so in marks.items() if is_so])


def run_json(state: RunState, events: Sequence[Event], children: Sequence[RunState] = ()) -> JsonDict:
    """Return all that is known of a run, as a program reads it."""
    return {
        "run": run_row(state).model_dump(mode="json"),
        "why": why_it_stopped(state),
        "continues": state.request.continues,
        "attempts": [attempt.model_dump(mode="json") for attempt in attempts_of(state)],
        "answer": state.finished.answer if state.finished else None,
        "goal": goal.model_dump(mode="json") if (goal := goal_view(state)) else None,
        "context": [source.model_dump(mode="json") for source in (state.context.sources if state.context else ())],
        "calls": [
            call.model_dump(mode="json") for iteration in loop_view(events).iterations for call in iteration.calls
        ],
        "usage": [used.model_dump(mode="json") for used in _usage(state)],
        "subagents": [run_row(child).model_dump(mode="json") for child in children],
        "deliveries": [row.model_dump(mode="json") for row in delivery_rows(state)],
    }


def run_lines(state: RunState, zone: ZoneInfo, ink: Ink, children: Sequence[RunState] = ()) -> Iterator[str]:
    """Yield all that is known of a run, as a person reads it; `children` are those that it has dispatched."""
    row = run_row(state)
    yield f"run {ink(row.run_id, bold=True)}"
    for label, value in _facts(state, row, zone):
        yield f"  {ink(f'{label:<11}', 'dim')} {one_line(value, 400)}"
    for title, lines in _sections(state, ink, children):
        yield from ("", ink(title, bold=True), *lines)
    if rows := delivery_rows(state):
        yield from ("", ink("deliveries", bold=True))
        yield from (f"  {delivery_line(owed, zone)}" for owed in rows)
    if state.finished and state.finished.answer.strip():
        yield from ("", ink("answer", bold=True), clean(state.finished.answer).strip("\n"))


def _sections(state: RunState, ink: Ink, children: Sequence[RunState]) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield what a run was shown besides its prompt, used and called, each under its title."""
    if state.context and state.context.sources:
        yield "context", (f"  {one_line(said_of_source(source), _RESULT)}" for source in state.context.sources)
    if goal := goal_view(state):
        yield "goal", (f"  {line}" for line in goal_lines(goal, ink))
    if state.checked:
        yield "checks", (f"  {said_of_check(result)}" for result in state.checked.results)
    if not state.request.scripted and state.spent:
        yield "usage", _usage_lines(state)
    if children:
        yield "subagents", (f"  {line}" for child in children for line in _child(child, ink))
    if state.calls:
        yield "calls", _calls(state, ink)


def _calls(state: RunState, ink: Ink) -> Iterator[str]:
    """Yield the calls; of very many those that did not go well, and how many did."""
    calls = list(state.calls.values())
    shown = calls
    if len(calls) > _MOST:
        shown = [call for call in calls if call.result is None or call.result.status is not ResultStatus.OK]
    for call in shown[-_MOST:]:
        ruling = f"{call.verdict.ruling} ({call.verdict.rule})" if call.verdict else "not judged yet"
        yield f"  {call.call.id}  {spell_call(call.call)}  {ruling}"
        if call.result:
            status = call.result.status
            yield f"      {status}: {result_head(call.result.text, status, len(status) + 8, ink)}"
    if left := len(calls) - len(shown[-_MOST:]):
        yield f"  {left:,} more; all of them: kova-auto runs loop {state.run_id}"


def _child(state: RunState, ink: Ink) -> Iterator[str]:
    """Yield what came of a subagent, and how it is looked at."""
    by, row = state.request.child_of, run_row(state)
    what = spell_child(by.agent, by.title) if by else ""
    used = "" if row.scripted else f" · {spell_usage(state.used_in_all)}"
    yield f"{row.run_id}  {what}  {status_of(row)} · {state.ran_s:.1f} s · {count(row.iterations, 'iteration')}{used}"
    said = row.reason or row.answer_excerpt or why_it_stopped(state)
    yield f"    {ink.fit(said, 6)}"


def _facts(state: RunState, row: RunRow, zone: ZoneInfo) -> Iterator[tuple[str, str]]:
    yield "status", status_of(row)
    yield "why", why_it_stopped(state)
    yield "job", f"{state.job.name}  {state.job.path}"
    yield "model", f"{row.model} ({SCRIPTED})" if row.scripted else state.pin.label
    yield "mode", f"{row.mode}, {row.level}"
    yield "workspace", row.workspace
    if by := state.request.child_of:
        yield "subagent", f"{spell_child(by.agent, by.title)}, dispatched by call {by.call_id} of run {by.run_id}"
    if state.request.continues:
        yield "continues", state.request.continues
    if row.kept:
        yield "left", f"{row.kept}; kova-auto runs diff shows it, apply or discard it"
    elif state.settled:
        yield "left", f"changes that were {state.settled.how} by {state.settled.by}"
    if state.request.inputs:
        yield "inputs", " ".join(f"{name}={value}" for name, value in state.request.inputs.items())
    instants = (
        ("scheduled", row.nominal_at),
        ("asked for", row.requested_at),
        ("started", row.started_at),
        ("finished", row.finished_at),
    )
    yield from ((label, when(instant, zone)) for label, instant in instants if instant)
    yield "took", f"{state.ran_s:.1f} s, attempt {row.attempt}, {count(row.iterations, 'iteration')}"
    yield "used", spell_usage(state.used_in_all)
    for attempt in attempts_of(state):
        again = when(attempt.not_before or attempt.at, zone)
        yield f"attempt {attempt.number}", f"{again}, {_why(attempt)}"


def _why(attempt: LoopAttempt) -> str:
    return f"because {attempt.because}" if attempt.because else f"asked for by {attempt.by}"


def _usage(state: RunState) -> tuple[Used, ...]:
    """Return what each iteration has used of each model."""
    return report(usage_rows(state), {By.ITERATION, By.MODEL}, ZoneInfo("UTC")).rows


def _usage_lines(state: RunState) -> Iterator[str]:
    """Yield what each iteration has used; of very many the sum for each model."""
    rows = _usage(state)
    if len(rows) > _MOST:
        rows = report(usage_rows(state), {By.MODEL}, ZoneInfo("UTC")).rows
    yield from map(_usage_line, rows)


def _usage_line(used: Used) -> str:
    cached = f" ({used.cache_read_tokens:,} cached)" if used.cache_read_tokens else ""
    failed = f", {used.failed} of {count(used.calls, 'call')} without a reply" if used.failed else ""
    tokens = f"{used.input_tokens:,} in{cached}, {used.output_tokens:,} out"
    return f"  {used.iteration or 'all'}  {used.model}  {tokens} · {spell_sum(used)}{failed}"


def delivery_line(row: DeliveryRow, zone: ZoneInfo) -> str:
    """Return one delivery on a line."""
    again = f"; again at {when(row.next_at, zone)}" if row.next_at else ""
    detail = f": {one_line(row.detail, _RESULT)}" if row.detail else ""
    return f"{row.delivery_id}  {row.endpoint}  {row.status}, {count(row.attempts, 'attempt')}{detail}{again}"


def when(instant: datetime | None, zone: ZoneInfo) -> str:
    """Return an instant as the zone's clock shows it, to the second and with its offset, or a dash."""
    return instant.astimezone(zone).isoformat(" ", "seconds") if instant else "-"
