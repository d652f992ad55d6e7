"""See a run through, say what is left to do about it, and choose the exit code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kova_auto.cli.attending import Attendant
from kova_auto.cli.card import whose
from kova_auto.cli.frame import FAILED, NEEDS_A_PERSON
from kova_auto.cli.through import Through
from kova_auto.core.job import Outcome
from kova_auto.core.run import CallState, Execution, RunState
from kova_auto.core.view import run_row

INTERRUPTED: Final = 130
_CODES: Final = {
    Outcome.DONE: 0,
    Outcome.NOTHING_TO_REPORT: 0,
    Outcome.BLOCKED: NEEDS_A_PERSON,
    Outcome.NEEDS_INPUT: NEEDS_A_PERSON,
}


async def see_through(through: Through, attendant: Attendant | None = None) -> int:
    """Show a run until it rests and its deliveries are made; return the exit code.

    Args:
        through: Follows the run.
        attendant: Asks the person at the terminal about calls that need one; None leaves them waiting.
    """
    line = through.account.screen.line
    through.presses.heed()
    while True:
        if not await through.to_rest():
            line(f"left as it is: run {through.run_id} goes on under the next service (kova-auto serve)")
            return INTERRUPTED
        if attendant is not None and await attendant.attend(through):
            continue
        await through.to_told()
        if not any(map(_goes_on, through.following.family)):
            break
    for text in _left(through):
        line(text)
    return INTERRUPTED if through.presses.once.is_set() else code_of(through)


def _goes_on(state: RunState) -> bool:
    """Say whether a run that waited need wait no more: nobody could be asked, and its job does not insist."""
    is_left = state.finished is None and state.job.approval.on_unreachable == "deny"
    return is_left and any(state.unreached(call) for call in state.pending)


def code_of(through: Through) -> int:
    """Return the exit code of a run that rests, or goes on elsewhere."""
    state = through.account.state
    if state.finished:
        return _CODES.get(state.finished.outcome, FAILED)
    waits = state.execution is Execution.SUSPENDED or state.awaited or through.waits_for_a_person
    return NEEDS_A_PERSON if waits else 0


def _left(through: Through) -> Iterator[str]:
    """Yield what a person may want to do now."""
    state = through.account.state
    for asking, call in through.following.pending:
        yield from _how_to_answer(call, whose(asking, "it"), f"{asking.run_id} {call.call.id}")
    if state.awaited and state.finished is None:
        holder = state.awaited.holder
        yield f"it waits for run {holder}, and goes on after that with kova-auto serve; to end that one:"
        yield f"  kova-auto runs cancel {holder}"
    by = state.request.child_of
    if by and state.finished and through.connection.house:
        yield f"run {by.run_id}, which dispatched it, is told and goes on with kova-auto serve"
    if kept := run_row(state).kept:
        yield f"it has left {kept}:"
        yield from (f"  kova-auto runs {verb} {through.run_id}" for verb in ("diff", "apply", "discard"))
    for owed in through.owed:
        if owed.next_at is None:
            yield f"delivery to {owed.endpoint}: still owed; serve will try"


def _how_to_answer(call: CallState, whose_it_is: str, who: str) -> Iterator[str]:
    if call.verdict and call.verdict.question:
        asks = f"{whose_it_is} asks a person"
        yield f"{asks}:\n  kova-auto questions show {who}\n  kova-auto questions answer {who} ANSWER..."
    else:
        waits = f"{whose_it_is} waits for a person"
        yield f"{waits}:\n  kova-auto approvals allow {who}\n  kova-auto approvals deny {who}"
