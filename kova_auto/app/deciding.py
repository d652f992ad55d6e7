"""Turn what a person says about a call into the fact that holds it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime

from pydantic import JsonValue

from kova_auto.app.control import Said
from kova_auto.core.approval.levels import Decision
from kova_auto.core.consent import ApprovalDecided, Standing
from kova_auto.core.errors import ConfigError, IllegalEventError
from kova_auto.core.ids import CallId
from kova_auto.core.run import CallState, RunState
from kova_auto.core.settling import NOBODY, UNREACHED

LONGEST_NOTE = 2_000
LONGEST_ANSWER = 10_000


def decided(
    state: RunState, call_id: CallId, said: Said, now: datetime, redact: Callable[[str], str]
) -> ApprovalDecided:
    """Return the fact; whether it may still follow is for the journal to say.

    Args:
        state: Of the run.
        call_id: Which of its calls.
        said: By a person.
        now: When.
        redact: Takes secrets out of text; arguments that hold one are not taken at all, for nothing else would run.

    Raises:
        IllegalEventError: The run has no such call, or nobody was asked about it.
        ConfigError: The answer does not fit what was asked.
    """
    call = state.call(call_id)
    if call.approval is None:
        msg = f"call {call_id} of run {state.run_id} waits for nobody"
        raise IllegalEventError(msg)
    if call.decision or not call.awaits_person:
        raise IllegalEventError(_too_late(state, call))
    _fits(call, said)
    if said.args is not None:
        _holds_no_secret(call, said.args, redact)
    kept = call.approval.offer if said.decision is Decision.REMEMBER else Standing()
    return ApprovalDecided(
        at=now,
        call_id=call_id,
        decision=said.decision,
        by=f"user {said.by}" if said.by in (NOBODY, UNREACHED) else said.by,
        note=redact(said.note),
        args=None if said.decision is Decision.DENY else said.args,
        answers=tuple(map(redact, said.answers)),
        remembered=kept,
    )


def _too_late(state: RunState, call: CallState) -> str:
    """Say who was first, and what has become of the run since."""
    first = call.decision
    answered = f"{first.by} has answered already ({first.decision}, {first.at:%Y-%m-%d %H:%M:%SZ})" if first else ""
    run = f"call {call.call.id} of run {state.run_id}, job {state.job.name}"
    since = f"the run has ended: {state.finished.outcome}" if state.finished else f"the run is {state.execution}"
    return f"{answered or 'it waits for nobody any more'}: {run}; {since}"


def _fits(call: CallState, said: Said) -> None:
    """Let only an answer through that means something here."""
    if len(said.note) > LONGEST_NOTE:
        message = f"wanted a reason of at most {LONGEST_NOTE} characters, found {len(said.note)}"
        raise ConfigError(message)
    asks = call.verdict is not None and call.verdict.question
    if asks and said.decision is not Decision.DENY:
        _answers(call, said)
    elif said.answers:
        message = f"call {call.call.id} of {call.call.tool} asks nothing"
        raise ConfigError(message, hint="kova-auto approvals allow or deny answers it")
    if said.decision is Decision.REMEMBER:
        _remembers(call, said)


def _holds_no_secret(call: CallState, args: dict[str, JsonValue], redact: Callable[[str], str]) -> None:
    """Let no secret into a call that a person changes: it would be written down, or not be what is executed."""
    for name, value in args.items():
        text = json.dumps(value, ensure_ascii=False)
        if value != call.call.args.get(name) and redact(text) != text:
            message = f"wanted arguments without secrets, found one in {name}"
            raise ConfigError(message, hint="[env] in the job's file hands a secret to its commands")


def _remembers(call: CallState, said: Said) -> None:
    approval = call.approval
    if approval is None or not approval.offer:
        why = approval.no_offer if approval and approval.no_offer else "there is nothing to remember of it"
        message = f"this approval is for this one time: {why}"
        raise ConfigError(message, hint="allow it without --remember")
    if said.args is not None:
        message = "what would be remembered is of the call as the model wrote it, not of one that was edited"
        raise ConfigError(message, hint="allow it with one of --edit and --remember")


def _answers(call: CallState, said: Said) -> None:
    asked = call.call.args.get("questions")
    wanted = len(asked) if isinstance(asked, list) else 1
    if said.args is not None:
        message = "a question has no arguments to edit"
        raise ConfigError(message, hint="kova-auto questions answer answers it")
    if len(said.answers) != wanted:
        message = f"wanted {wanted} answer{'s' * (wanted > 1)}, one for each question, found {len(said.answers)}"
        raise ConfigError(message, hint="kova-auto questions show lists them")
    if any(not answer.strip() or len(answer) > LONGEST_ANSWER for answer in said.answers):
        message = f"wanted answers of 1 to {LONGEST_ANSWER} characters"
        raise ConfigError(message)
