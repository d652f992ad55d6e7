"""What a worker writes down for each step, its outcomes drawn at random."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import reduce
from typing import Protocol, TypeVar, assert_never

from hypothesis import strategies as st

from kova_auto.core.approval.levels import Decision, Ruling
from kova_auto.core.child import ChildState
from kova_auto.core.children.waiting import running, untold
from kova_auto.core.context.asides import asides
from kova_auto.core.event import (
    ApprovalDecided,
    ApprovalRequested,
    CallAdjudicated,
    CallFinished,
    CallStarted,
    CheckResult,
    ChecksFinished,
    ChecksStarted,
    ChildFinished,
    ChildrenStopped,
    CompactionFailed,
    CompactionStarted,
    ContextAssembled,
    ContextCompacted,
    Event,
    FamilyCounted,
    ModeEntered,
    ModelCallFailed,
    ModelCallStarted,
    RunAcquired,
    RunFinished,
    RunRequested,
    RunRetried,
    StopRequested,
)
from kova_auto.core.fault import Fault
from kova_auto.core.ids import CallId, child_run_id
from kova_auto.core.job import Outcome
from kova_auto.core.limits import running_s
from kova_auto.core.message import ModelReply, ResultStatus, TextPart, ToolResult, Usage, told
from kova_auto.core.retrying import BY_POLICY
from kova_auto.core.run import RunState, apply, opened
from kova_auto.core.run_calls import keeps_verdicts
from kova_auto.core.step import next_step
from kova_auto.core.steps import (
    TOGETHER,
    Adjudicate,
    AnswerForNobody,
    AskPerson,
    AssembleContext,
    AwaitApproval,
    AwaitChildren,
    AwaitUntil,
    AwaitWorkspace,
    BeginAgain,
    CallModel,
    Compact,
    CountFamily,
    EnterMode,
    Execute,
    ExecuteTogether,
    Finish,
    Judging,
    Recover,
    Refuse,
    Rest,
    Resting,
    RunChecks,
    Step,
    StopChildren,
)
from tests.support import call, replied, ruled, says

T = TypeVar("T")


class Draw(Protocol):
    """Choose one of a strategy's values."""

    def __call__(self, strategy: st.SearchStrategy[T], /) -> T: ...


MOST_STEPS = 400
SECOND = timedelta(seconds=1)
READS, LISTS = call("read", path="a"), call("bash", command="ls")
FINDS, FETCHES = call("grep", pattern="b"), call("web_fetch", url="https://c.example/")
DISPATCHES, WAITS = call("Task", agent="explorer", task="look"), call("TaskWait", mode="any")
REPLIES = st.sampled_from(
    [
        says("Hm.", READS),
        says("", READS, LISTS),
        says("", DISPATCHES, DISPATCHES, WAITS),
        says("", WAITS),
        says("More.", LISTS, LISTS, READS),
        says("Around.", READS, FINDS, FETCHES, LISTS, FINDS, READS),
        says("Much.", READS, tokens=120_000),  # More than a request may have where nobody knows the window.
        says("So."),
        says('{"found": 1}'),
        says(" "),
    ]
)
RESULTS = st.sampled_from(
    [
        told(ResultStatus.OK, "so it was"),
        told(ResultStatus.ERROR, "it broke"),
        told(ResultStatus.OK, "a page").model_copy(update={"taints": "a page of c.example"}),
        ToolResult(status=ResultStatus.OK, parts=(), concludes="nothing_to_report"),
    ]
)


def driven(request: RunRequested, draw: Draw) -> Iterator[Event]:
    """Yield the facts of a whole run behind the one that opens it; persons answer, and may stop it."""
    state, now = opened(request), request.at
    for _ in range(MOST_STEPS):
        now += SECOND
        step = next_step(state, now)
        if isinstance(step, Rest):
            break
        if isinstance(step, AwaitUntil):
            now = step.until
        events: list[Event] = []
        if isinstance(step, AwaitApproval):
            answer = draw(st.sampled_from(Decision))
            events.append(ApprovalDecided(at=now, call_id=step.call_id, decision=answer, by="ada"))
        elif isinstance(step, AwaitChildren):
            events.append(ended(draw(st.sampled_from(running(state))), now, draw))
        elif draw(st.integers(0, 40)) == 40 and not state.stop:
            events.append(StopRequested(at=now, outcome=Outcome.CANCELLED, reason="enough", by="ada"))
        after = reduce(apply, events, state)
        events += recorded(next_step(after, now), after, now, draw)
        yield from events
        state = reduce(apply, events, state)


def ended(child: ChildState, now: datetime, draw: Draw) -> ChildFinished:
    """Return how a child ends."""
    return ChildFinished(
        at=now,
        call_id=child.call_id,
        run_id=child.run_id,
        outcome=draw(st.sampled_from([Outcome.DONE, Outcome.FAILED, Outcome.CANCELLED])),
        report="It is so.",
        usage=Usage(input_tokens=10, cost_usd=0.002),
        ran_s=3.0,
        stretch_s=3.0,
    )


def recorded(step: Step, state: RunState, now: datetime, draw: Draw) -> Iterator[Event]:
    """Yield the facts of one step, done by a worker that has just taken the run; nothing for a resting one.

    That another worker is gone may make it another step than it was before.
    """
    if isinstance(step, Resting):
        return
    died = bool(
        state.calling
        or state.compacting
        or state.checking
        or any(known.started and not known.result and not known.in_doubt for known in state.calls.values())
    )
    acquired = RunAcquired(at=now, epoch=state.epoch + 1, worker="one", lease_broken=died)
    yield acquired
    state = apply(state, acquired)
    yield from _done(next_step(state, now), state, now, draw)


def _done(step: Step, state: RunState, now: datetime, draw: Draw) -> Iterator[Event]:
    match step:
        case AwaitApproval() | AwaitUntil() | AwaitWorkspace() | AwaitChildren() | Rest():
            return
        case AssembleContext():
            yield ContextAssembled(at=now, system="Be brief.", prompt=(TextPart(text="Look."),), tools=())
        case CallModel(iteration):
            yield from _model(iteration, state, now, draw)
        case Compact():
            yield from _folding(step, state, now, draw)
        case Finish(outcome, answer, reason, partial):
            yield RunFinished(at=now, outcome=outcome, answer=answer, reason=reason, partial=partial)
        case RunChecks(iteration):
            yield from _checking(iteration, now, draw)
        case BeginAgain(end, not_before):
            again = {"by": BY_POLICY, "not_before": not_before, "ended": end.outcome, "reason": end.reason}
            yield RunRetried.model_validate({"at": now, "attempt": state.attempt + 1, **again})
        case EnterMode(mode, call_id):
            yield ModeEntered(at=now, mode=mode, call_id=call_id, tools=())
        case CountFamily() | StopChildren():
            yield _of_family(step, now, draw)
        case _:
            yield from _call(step, state, now, draw)


def _of_family(step: CountFamily | StopChildren, now: datetime, draw: Draw) -> Event:
    if isinstance(step, StopChildren):
        return ChildrenStopped(at=now, call_ids=step.call_ids, reason=step.reason)
    used = draw(st.integers(0, 400_000))
    members, reserved = draw(st.integers(1, 3)), draw(st.integers(0, 2_000))
    return FamilyCounted(
        at=now,
        tokens=used,
        cost_usd=used / 1e6,
        members=members,
        reserved_tokens=reserved,
        reserved_usd=reserved / 1e6,
    )


def _checking(iteration: int, now: datetime, draw: Draw) -> Iterator[Event]:
    yield ChecksStarted(at=now, iteration=iteration)
    if came_to := draw(st.sampled_from([(0,), (1,), (0, None), ()])):
        results = tuple(CheckResult(command="make", exit_code=code) for code in came_to)
        yield ChecksFinished(at=now, iteration=iteration, results=results)


def _model(iteration: int, state: RunState, now: datetime, draw: Draw) -> Iterator[Event]:
    told = asides(state, running_s(state, now))
    yield ModelCallStarted(
        at=now,
        iteration=iteration,
        model="test/model",
        request_hash="hash",
        asides=told.texts,
        hurries=told.hurries,
        repairs=told.repairs,
        reports=told.reports,
    )
    reply: ModelReply | None = draw(st.none() | REPLIES)
    if reply:
        yield replied(iteration, reply, when=now)
        return
    why = {"error": "ModelUnavailable", "message": "busy", "fault": draw(st.sampled_from([None, Fault.OVERFLOW]))}
    later = draw(st.none() | st.just(now + timedelta(seconds=30)))
    yield ModelCallFailed(at=now, iteration=iteration, retryable=draw(st.booleans()), retry_at=later, **why)


def _folding(step: Compact, state: RunState, now: datetime, draw: Draw) -> Iterator[Event]:
    came_to = draw(st.sampled_from(["summary", "summary", "nothing", "later", "death"])) if step.model else "fresh"
    if step.model:
        yield CompactionStarted(
            at=now,
            iteration=state.iteration,
            through=step.through,
            model=step.model,
            reason=step.reason,
            tokens=step.tokens,
            request_hash="hash",
        )
    if came_to in ("nothing", "later"):
        later = now + timedelta(seconds=30) if came_to == "later" else None
        why = {"error": "ModelUnavailable", "message": "busy", "fault": Fault.SERVER if later else None}
        used = draw(st.none() | st.just(Usage(input_tokens=10)))
        yield CompactionFailed(at=now, iteration=state.iteration, retry_at=later, usage=used, **why)
    elif came_to != "death":
        share = draw(st.sampled_from([0.2, 0.9]))
        yield ContextCompacted(
            at=now,
            iteration=state.iteration,
            through=step.through,
            summary="It looked around.",
            strategy="summary" if step.model else "fresh",
            reason=step.reason,
            tokens_before=step.tokens,
            tokens_after=round(share * step.tokens),
            model=step.model,
            usage=Usage(input_tokens=10, output_tokens=3, cost_usd=0.002) if step.model else None,
        )


def _call(step: Judging | ExecuteTogether, state: RunState, now: datetime, draw: Draw) -> Iterator[Event]:
    if isinstance(step, ExecuteTogether):
        yield from _together(step.call_ids, now, draw)
        return
    key = step.call_id
    match step:
        case Adjudicate():
            yield CallAdjudicated(at=now, call_id=key, verdict=ruled(draw(st.sampled_from(Ruling))))
        case AskPerson():
            yield ApprovalRequested(at=now, call_id=key, expires_at=now + timedelta(hours=1))
        case AnswerForNobody(by=by, note=note, goes_on=goes_on):
            decision = Decision.ONCE if goes_on else Decision.DENY
            yield ApprovalDecided(at=now, call_id=key, decision=decision, by=by, note=note)
        case Refuse(reason=reason, status=status, concludes=concludes):
            said = told(status, reason).model_copy(update={"concludes": concludes and str(concludes)})
            yield CallFinished(at=now, call_id=key, result=said)
        case Execute():
            yield from _effect(key, state, now, draw)
        case Recover(replay=replay):
            if replay and draw(st.booleans()):
                yield from _effect(key, state, now, draw)
            else:
                yield CallFinished(at=now, call_id=key, result=told(ResultStatus.UNKNOWN, "it was cut off"))
        case _:
            assert_never(step)


def _together(call_ids: Sequence[CallId], now: datetime, draw: Draw) -> Iterator[Event]:
    """Yield what comes of calls at the same time: in any order, and not of all of them where their worker dies."""
    left, under_way = list(call_ids), list[CallId]()
    for _ in range(draw(st.sampled_from([len(left), len(left), draw(st.integers(0, len(left)))]))):
        yield from (CallStarted(at=now, call_id=key) for key in left[: TOGETHER - len(under_way)])
        left, under_way = left[TOGETHER - len(under_way) :], under_way + left[: TOGETHER - len(under_way)]
        if not under_way:
            return
        key = under_way.pop(draw(st.integers(0, len(under_way) - 1)))
        result = draw(RESULTS)
        yield CallFinished(at=now, call_id=key, result=result)
        left = left if keeps_verdicts(result) else []


def _effect(key: CallId, state: RunState, now: datetime, draw: Draw) -> Iterator[Event]:
    yield CallStarted(at=now, call_id=key)
    if draw(st.integers(0, 4)):
        result = draw(RESULTS)
        if state.call(key).call.tool == "Task" and result.status is ResultStatus.OK:
            result = result.model_copy(update={"child": child_run_id(state.run_id, key)})
        if state.call(key).call.tool == "TaskWait":
            told_of = tuple(child.call_id for child in untold(state))
            result = result.model_copy(update={"reports": told_of})
        yield CallFinished(at=now, call_id=key, result=result)
