"""Act: do one step, announcing each effect before it happens and recording it after.

Every function here is a generator of entries; it goes on only once an entry is in the journal.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from typing import assert_never

from kova_auto.core.approval.adjudicate import adjudicate
from kova_auto.core.approval.levels import Decision, Ruling, Verdict
from kova_auto.core.approval.policy import policy_hash
from kova_auto.core.context.prompt import Surroundings, render_prompt, system_prompt
from kova_auto.core.errors import ConfigError, JournalError, ModelError
from kova_auto.core.event import (
    ApprovalDecided,
    ApprovalRequested,
    CallAdjudicated,
    CallFinished,
    CallStarted,
    ContextAssembled,
    Event,
    ModelCallFailed,
    ModelCallStarted,
    ModelReplied,
    ProcessStarted,
    RunFinished,
    StopRequested,
    WritePlanned,
)
from kova_auto.core.ids import CallId, JobName, call_id
from kova_auto.core.job import Outcome
from kova_auto.core.limits import left_s
from kova_auto.core.message import (
    CallRequest,
    ModelReply,
    ModelRequest,
    ReplyDone,
    TextDelta,
    TextPart,
    ToolCall,
    told,
)
from kova_auto.core.run import RunState
from kova_auto.core.step import (
    ARGUMENTS,
    NOBODY,
    Acting,
    Adjudicate,
    AskPerson,
    AssembleContext,
    CallModel,
    Execute,
    ExpireApproval,
    Finish,
    Recover,
    Refuse,
)
from kova_auto.core.tool import ProcessAnnounced, Scene, ToolOutput, WriteAnnounced
from kova_auto.core.view import level_of
from kova_auto.engine.conversation import conversation, images_of, request_hash, request_of
from kova_auto.engine.world import World

NO_CALL = CallId("")
BACKOFF_S = (1.0, 4.0, 15.0)
LONGEST_WAIT_S = 3600.0


@dataclass(frozen=True, slots=True)
class Entry:
    """Hold one fact to be written, with the blobs it points to."""

    event: Event
    blobs: tuple[bytes, ...] = ()


Entries = AsyncGenerator[Entry, None]


def perform(step: Acting, state: RunState, world: World) -> Entries:
    """Do one step of a run that this worker holds."""
    match step:
        case AssembleContext():
            return _assemble(state, world)
        case CallModel():
            return _call_model(step, state, world)
        case Adjudicate():
            return _adjudicate(step, state, world)
        case AskPerson():
            return _ask(step, state, world)
        case ExpireApproval():
            return _expire(step, world)
        case Refuse():
            return _refuse(step, world)
        case Execute():
            return _execute(step, state, world)
        case Recover():
            return _recover(step, state, world)
        case Finish():
            return _finish(step, state, world)
        case _:
            assert_never(step)


def scene_of(state: RunState, world: World, call: CallId = NO_CALL) -> Scene:
    """Return what a tool may know of the run."""
    now = world.clock.now()
    return Scene(
        run_id=state.run_id,
        call_id=call,
        job=state.job,
        workspace=state.request.workspace,
        now=now,
        left_s=left_s(state, now),
        level=level_of(state),
        seen=state.seen,
        todo=state.todo,
        processes={process.call_id: process for process in state.background},
        rests=frozenset(known.result.rest for known in state.calls.values() if known.result and known.result.rest),
    )


async def _assemble(state: RunState, world: World) -> Entries:
    if reason := await world.hindrance(state):
        yield _unable(Outcome.BLOCKED, reason, world)
        return
    try:
        await world.prepare(state)
        entry = Entry(_context(state, world))
    except ConfigError as exc:
        entry = _unable(Outcome.FAILED, str(exc), world)
    yield entry


def _unable(outcome: Outcome, reason: str, world: World) -> Entry:
    return Entry(StopRequested(at=world.clock.now(), outcome=outcome, reason=world.redact(reason), by="service"))


def _context(state: RunState, world: World) -> ContextAssembled:
    request, scene = state.request, scene_of(state, world)
    place = Surroundings(
        workspace=request.workspace,
        system=world.system,
        model=request.model,
        now=scene.now,
        zone=world.zone(state),
        scheduled_for=request.nominal_at,
    )
    prompt = world.redact(render_prompt(state.job.prompt, request.inputs))
    return ContextAssembled(
        at=scene.now,
        system=system_prompt(state.job.mode, place, attended=request.level is not None),
        prompt=(TextPart(text=prompt),),
        tools=world.toolbox.specs(scene, state.job.mode),
    )


async def _call_model(step: CallModel, state: RunState, world: World) -> Entries:
    images = {key: await world.journal.blob(key) for key in images_of(conversation(state))}
    request = request_of(state, images)
    yield Entry(
        ModelCallStarted(
            at=world.clock.now(),
            iteration=step.iteration,
            model=state.request.model,
            request_hash=request_hash(request),
        )
    )
    partial: list[str] = []
    try:
        reply = await _reply(request, state, world, partial)
    except (ModelError, ConfigError) as exc:
        yield Entry(_failed(exc, "".join(partial), step, state, world))
        return
    clean = reply.model_copy(update={"text": world.redact(reply.text), "reasoning": world.redact(reply.reasoning)})
    calls = tuple(_numbered(ask, step.iteration, index) for index, ask in enumerate(reply.calls, start=1))
    yield Entry(ModelReplied(at=world.clock.now(), iteration=step.iteration, reply=clean, calls=calls))


async def _reply(request: ModelRequest, state: RunState, world: World, partial: list[str]) -> ModelReply:
    async with aclosing(world.models(state).stream(request)) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, ReplyDone):
                return chunk.reply
            if isinstance(chunk, TextDelta):
                partial.append(chunk.text)
    msg = "the stream ended without its end"
    raise ModelError(msg)


def _failed(
    exc: ModelError | ConfigError, partial: str, step: CallModel, state: RunState, world: World
) -> ModelCallFailed:
    now = world.clock.now()
    asked: float | None = getattr(exc, "retry_after_s", None)
    wait_s = asked if asked is not None else BACKOFF_S[min(state.failures, len(BACKOFF_S) - 1)]
    goes_on, message = exc.retryable and wait_s <= LONGEST_WAIT_S, str(exc)
    if exc.retryable and not goes_on:
        message += f" (it asks to wait {wait_s:.0f} s; a run waits {LONGEST_WAIT_S:.0f} s at most)"
    return ModelCallFailed(
        at=now,
        iteration=step.iteration,
        error=type(exc).__name__.removesuffix("Error"),
        message=world.redact(message),
        retryable=goes_on,
        retry_at=now + timedelta(seconds=wait_s) if goes_on else None,
        partial_text=world.redact(partial),
    )


def _numbered(ask: CallRequest, iteration: int, index: int) -> ToolCall:
    return ToolCall(id=call_id(iteration, index), **dict(ask))


async def _adjudicate(step: Adjudicate, state: RunState, world: World) -> Entries:
    facts = await world.toolbox.facts(state.call(step.call_id).call, scene_of(state, world, step.call_id))
    policy = world.policies(state)
    if facts.problem and facts.effect:
        verdict = Verdict(ruling=Ruling.DENY, reason=facts.problem, rule=ARGUMENTS, policy_hash=policy_hash(policy))
    else:
        verdict = adjudicate(facts, policy)
    yield Entry(CallAdjudicated(at=world.clock.now(), call_id=step.call_id, verdict=verdict))


async def _ask(step: AskPerson, state: RunState, world: World) -> Entries:
    now, approval = world.clock.now(), state.job.approval
    keeps = approval.on_timeout == "keep" or state.request.level is not None
    yield Entry(ApprovalRequested(at=now, call_id=step.call_id, expires_at=None if keeps else now + approval.timeout))


async def _expire(step: ExpireApproval, world: World) -> Entries:
    now = world.clock.now()
    note = "nobody answered in time"
    yield Entry(ApprovalDecided(at=now, call_id=step.call_id, decision=Decision.DENY, by=NOBODY, note=note))


async def _refuse(step: Refuse, world: World) -> Entries:
    yield Entry(CallFinished(at=world.clock.now(), call_id=step.call_id, result=told(step.status, step.reason)))


async def _execute(step: Execute, state: RunState, world: World) -> Entries:
    known = state.call(step.call_id)
    if known.verdict is None:
        msg = f"call {step.call_id} was never adjudicated"
        raise JournalError(msg)
    yield Entry(CallStarted(at=world.clock.now(), call_id=step.call_id))
    scene = scene_of(state, world, step.call_id)
    async with aclosing(world.toolbox.execute(known.call, known.verdict, scene)) as facts:
        async for fact in facts:
            now = world.clock.now()
            match fact:
                case ProcessAnnounced():
                    yield Entry(
                        ProcessStarted(
                            at=now, call_id=step.call_id, pid=fact.pid, started=fact.started, background=fact.background
                        )
                    )
                case WriteAnnounced():
                    yield Entry(WritePlanned(at=now, call_id=step.call_id, change=fact.change), fact.blobs)
                case ToolOutput():
                    yield Entry(CallFinished(at=now, call_id=step.call_id, result=fact.result), fact.blobs)


async def _recover(step: Recover, state: RunState, world: World) -> Entries:
    known = state.call(step.call_id)
    found = await world.toolbox.recover(known, scene_of(state, world, step.call_id))
    if step.replay and known.in_doubt and world.toolbox.replay_safe(known.call.tool):
        async with aclosing(_execute(Execute(step.call_id), state, world)) as entries:
            async for entry in entries:
                yield entry
        return
    yield Entry(CallFinished(at=world.clock.now(), call_id=step.call_id, result=found))


async def _finish(step: Finish, state: RunState, world: World) -> Entries:
    await world.toolbox.settle(scene_of(state, world))
    await world.tidy(state)
    previous = await world.views.previous(JobName(state.job.name), state.run_id)
    yield Entry(
        RunFinished(
            at=world.clock.now(),
            outcome=step.outcome,
            answer=step.answer,
            reason=world.redact(step.reason),
            partial=step.partial,
            previous=previous,
        )
    )
