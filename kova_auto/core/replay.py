"""Compare a replay with the recording that it replays: calls, verdicts, text, cost, and how both ended.

`then` is the recording, `now` the replay. What only one of them has is null on the other side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import reduce

from pydantic import JsonValue

from kova_auto.core.approval.levels import Verdict
from kova_auto.core.call_state import CallState
from kova_auto.core.event import ModelReplied
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.message import ToolCall, Usage
from kova_auto.core.recording import Pairing, Recording
from kova_auto.core.state import NO_USAGE, RunState, Spent
from kova_auto.core.steps import Finish
from kova_auto.core.value import Value


class Match(StrEnum):
    """Say how a call of the replay and the recording go together."""

    SAME = "same"
    MOVED = "moved"  # the recording holds it, in another place
    CHANGED = "changed"  # the recording holds one of this tool in this iteration, with other arguments
    NEW = "new"
    MISSING = "missing"  # only the recording holds it


class Ending(StrEnum):
    """Say why a replay went no further."""

    FINISHED = "finished"  # as a run does
    DIVERGED = "diverged"  # the recording does not hold what comes next
    RECORDING = "recording"  # the recording ends here
    WAITING = "waiting"  # the model that was asked wants to be asked much later


class ReplayedCall(Value):
    """Compare one call.

    Attributes:
        call_id: In the replay.
        recorded_id: In the recording.
        verdict_now: None where it was not judged, because the replay had ended before.
    """

    call_id: CallId | None
    recorded_id: CallId | None
    match: Match
    differs: bool
    tool: str
    arguments_then: dict[str, JsonValue] | str | None
    arguments_now: dict[str, JsonValue] | str | None
    verdict_then: Verdict | None
    verdict_now: Verdict | None


class ReplayedIteration(Value):
    """Compare one iteration; its usage counts the calls of the model that failed, too.

    Attributes:
        number: From 1, over all attempts.
    """

    number: int
    differs: bool
    text_then: str | None
    text_now: str | None
    calls: tuple[ReplayedCall, ...]
    tokens_then: int
    tokens_now: int
    cost_usd_then: float | None
    cost_usd_now: float | None


class Replay(Value):
    """Compare one attempt of a run with its replay.

    Attributes:
        model_now: None where the recorded replies were played.
        unjudged: Why no call was judged anew; empty where all were.
        ended: Why the replay went no further.
        why: The same, as a sentence.
        diverged_at: The first call that the recording does not hold.
        outcome_now: None where the replay did not come to an end of its own.
        unreached: Recorded iterations that it did not come to.
    """

    run_id: RunId
    job: str
    attempt: int
    model_then: str
    model_now: str | None
    differs: bool
    unjudged: str
    ended: Ending
    why: str
    diverged_at: CallId | None
    outcome_then: Outcome | None
    outcome_now: Outcome | None
    reason_then: str
    reason_now: str
    partial_then: bool
    partial_now: bool
    tokens_then: int
    tokens_now: int
    cost_usd_then: float | None
    cost_usd_now: float | None
    unreached: int
    iterations: tuple[ReplayedIteration, ...]


@dataclass(frozen=True, slots=True)
class End:
    """Hold why a replay ended, and the end that the run would come to, or the call at which it diverged."""

    ended: Ending
    why: str
    finish: Finish | None = None
    call_id: CallId | None = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """Hold what a replay came to.

    Attributes:
        state: Of the replayed run.
        pairing: Of its calls with the recorded ones.
        unjudged: Why no call was judged anew; empty where all were.
        plays: The recorded replies were played.
    """

    state: RunState
    pairing: Pairing
    end: End
    unjudged: str = ""
    plays: bool = True


@dataclass(frozen=True, slots=True)
class _Round:
    """Hold one iteration of the recording or of the replay."""

    reply: ModelReplied | None = None
    spent: tuple[Spent, ...] = ()
    calls: dict[CallId, CallState] = field(default_factory=dict)

    @property
    def usage(self) -> Usage:
        return _sum(self.spent)

    @property
    def text(self) -> str | None:
        return self.reply.reply.text if self.reply else None


def compared(recording: Recording, replayed: Replayed) -> Replay:
    """Return where a replay differs from its recording."""
    then, now, end = recording.state, replayed.state, replayed.end
    reached = range(then.first_reply + 1, now.iteration + 1)
    iterations = tuple(_iteration(_round(then, number), _round(now, number), number, replayed) for number in reached)
    unreached = max(then.iteration - now.iteration, 0)
    finished, finish = then.finished, end.finish
    used_then, used_now = _sum(then.attempt_spent), _sum(now.attempt_spent)
    ends_then = (finished.outcome, finished.partial) if finished else None
    ends_now = (finish.outcome, finish.partial) if finish else None
    differs = (
        end.ended in (Ending.DIVERGED, Ending.WAITING)
        or ends_then != ends_now
        or unreached > 0
        or used_then != used_now
        or any(iteration.differs for iteration in iterations)
    )
    return Replay(
        run_id=then.run_id,
        job=then.job.name,
        attempt=then.attempt,
        model_then=then.request.model,
        model_now=None if replayed.plays else now.request.model,
        differs=differs,
        unjudged=replayed.unjudged,
        ended=end.ended,
        why=end.why,
        diverged_at=end.call_id,
        outcome_then=finished.outcome if finished else None,
        outcome_now=finish.outcome if finish else None,
        reason_then=finished.reason if finished else "",
        reason_now=finish.reason if finish else "",
        partial_then=finished is not None and finished.partial,
        partial_now=finish is not None and finish.partial,
        tokens_then=used_then.tokens,
        tokens_now=used_now.tokens,
        cost_usd_then=used_then.cost_usd,
        cost_usd_now=used_now.cost_usd,
        unreached=unreached,
        iterations=iterations,
    )


def _sum(spent: Iterable[Spent]) -> Usage:
    return reduce(Usage.plus, (one.usage for one in spent), NO_USAGE)


def _round(state: RunState, number: int) -> _Round:
    reply = next((reply for reply in state.replies[state.first_reply :] if reply.iteration == number), None)
    spent = tuple(one for one in state.attempt_spent if one.iteration == number)
    return _Round(reply, spent, {call.id: state.calls[call.id] for call in reply.calls} if reply else {})


def _iteration(then: _Round, now: _Round, number: int, replayed: Replayed) -> ReplayedIteration:
    calls = tuple(_calls(then, now, replayed.pairing))
    used_then, used_now = then.usage, now.usage
    return ReplayedIteration(
        number=number,
        differs=then.text != now.text or used_then != used_now or any(call.differs for call in calls),
        text_then=then.text,
        text_now=now.text,
        calls=calls,
        tokens_then=used_then.tokens,
        tokens_now=used_now.tokens,
        cost_usd_then=used_then.cost_usd,
        cost_usd_now=used_now.cost_usd,
    )


def _calls(then: _Round, now: _Round, pairing: Pairing) -> Iterator[ReplayedCall]:
    """Yield the calls of the replay in its order, then those that only the recording holds."""
    used = {pair.recorded for pair in pairing.pairs.values()}
    left = [known for known in then.calls.values() if known.call.id not in used]
    for known in now.calls.values():
        pair = pairing.pairs.get(known.call.id)
        if pair:
            yield _call(Match.MOVED if pair.moved else Match.SAME, pairing.of(known.call.id), known)
            continue
        other = next((one for one in left if one.call.tool == known.call.tool), None)
        left = [one for one in left if one is not other]
        yield _call(Match.CHANGED if other else Match.NEW, other, known)
    yield from (_call(Match.MISSING, one, None) for one in left)


def _call(match: Match, then: CallState | None, now: CallState | None) -> ReplayedCall:
    either = now or then
    return ReplayedCall(
        call_id=now.call.id if now else None,
        recorded_id=then.call.id if then else None,
        match=match,
        differs=match is not Match.SAME or _is_judged_otherwise(then, now),
        tool=either.call.tool if either else "",
        arguments_then=_arguments(then.call) if then else None,
        arguments_now=_arguments(now.call) if now else None,
        verdict_then=then.verdict if then else None,
        verdict_now=now.verdict if now else None,
    )


def _arguments(call: ToolCall) -> dict[str, JsonValue] | str:
    return call.args if call.unparsed is None else call.unparsed


def _is_judged_otherwise(then: CallState | None, now: CallState | None) -> bool:
    """Say whether two verdicts differ; the hash of the policy says nothing about this one call."""
    if then is None or now is None or now.verdict is None:
        return False
    return (
        then.verdict is None or then.verdict.model_copy(update={"policy_hash": now.verdict.policy_hash}) != now.verdict
    )
