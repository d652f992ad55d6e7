"""Act: do one step, announcing each effect before it happens and recording it after.

Every function here is a generator of entries; it goes on only once an entry is in the journal, or waits for the next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import assert_never

from kova_auto.core.approval.adjudicate import adjudicate
from kova_auto.core.approval.levels import Mode, Ruling, Verdict
from kova_auto.core.approval.policy import policy_hash
from kova_auto.core.context.briefing import Briefing, prompt_parts
from kova_auto.core.context.outside import prompt_of
from kova_auto.core.context.prompt import Surroundings, system_prompt
from kova_auto.core.errors import ConfigError, JournalError
from kova_auto.core.event import (
    CallAdjudicated,
    CallFinished,
    CallStarted,
    ContextAssembled,
    ModeEntered,
    Origin,
    ProcessStarted,
    RunFinished,
    RunRetried,
    StopRequested,
    WritePlanned,
)
from kova_auto.core.fault import LASTING
from kova_auto.core.goal.words import goal_block
from kova_auto.core.ids import CallId, JobName
from kova_auto.core.job import Outcome
from kova_auto.core.message import TextPart, told
from kova_auto.core.output.contract import told_beforehand
from kova_auto.core.retrying import BY_POLICY
from kova_auto.core.run import RunState
from kova_auto.core.run_calls import keeps_verdicts
from kova_auto.core.settling import ARGUMENTS
from kova_auto.core.steps import (
    TOGETHER,
    Acting,
    Adjudicate,
    AnswerForNobody,
    AskPerson,
    AssembleContext,
    BeginAgain,
    CallModel,
    Compact,
    CountFamily,
    EnterMode,
    Execute,
    ExecuteTogether,
    Finish,
    Recover,
    Refuse,
    RunChecks,
    StopChildren,
)
from kova_auto.core.stop_reason import StopReason
from kova_auto.core.tool import ProcessAnnounced, ToolOutput, WriteAnnounced
from kova_auto.engine.asking import call_model
from kova_auto.engine.checking import run_checks
from kova_auto.engine.compacting import compact
from kova_auto.engine.consenting import answer_for_nobody, ask_person, overtaken, with_decision
from kova_auto.engine.entry import Entries, Entry
from kova_auto.engine.family import about_family
from kova_auto.engine.merging import Begun, merged
from kova_auto.engine.scene import facts_of, scene_of
from kova_auto.engine.world import Senses, World

CUT_CALL = "(Your reply was cut off by the output limit, and this call with it. Do the same in smaller pieces.)"
LASTING_RUNS = 3
"""So many runs in a row that end for want of a good key, or of money at the provider, let the schedule rest."""
Enquiring = CallModel | Compact | Adjudicate | AskPerson | AnswerForNobody | Refuse
"""Steps that only ask, judge or say something: whatever comes of them, nothing else has changed."""


def perform(step: Acting, state: RunState, world: World) -> Entries:
    """Do one step of a run that this worker holds."""
    match step:
        case AssembleContext():
            return _assemble(state, world)
        case Execute():
            return _execute(step, state, world)
        case ExecuteTogether():
            return _execute_together(step, state, world)
        case Recover():
            return _recover(step, state, world)
        case RunChecks():
            return run_checks(step, state, world)
        case Finish():
            return _finish(step, state, world)
        case BeginAgain():
            return _begin_again(step, state, world)
        case EnterMode():
            return _enter(step, state, world)
        case CountFamily() | StopChildren():
            return about_family(step, state, world)
        case _:
            return enquire(step, state, world)


def enquire(step: Enquiring, state: RunState, senses: Senses) -> Entries:
    """Do one step that changes nothing but what is known."""
    match step:
        case CallModel():
            return call_model(step, state, senses)
        case Compact():
            return compact(step, state, senses)
        case Adjudicate():
            return _adjudicate(step, state, senses)
        case AskPerson():
            return ask_person(step, state, senses)
        case AnswerForNobody():
            return answer_for_nobody(step, senses)
        case Refuse():
            return _refuse(step, senses)
        case _:
            assert_never(step)


async def _assemble(state: RunState, world: World) -> Entries:
    if reason := await world.hindrance(state):
        yield _unable(Outcome.BLOCKED, reason, world)
        return
    if reason := await world.refused(state):
        yield _unable(Outcome.BLOCKED, reason, world, pauses=True)
        return
    try:
        notices = await world.prepare(state)
        brief = (await world.brief(state)).redacted(world.redact)
        if brief.lacks:
            entry = _unable(Outcome.BLOCKED, brief.lacks, world)
        else:
            context = _context(state, world, notices, brief)
            entry = Entry(context, brief.blobs, waits=not brief.blobs)  # The first request reads them.
    except ConfigError as exc:
        entry = _unable(Outcome.FAILED, str(exc), world)
    yield entry


def _unable(outcome: Outcome, reason: str, world: World, *, pauses: bool = False) -> Entry:
    said = world.redact(reason)
    return Entry(StopRequested(at=world.clock.now(), outcome=outcome, reason=said, by="service", pauses=pauses))


def _context(state: RunState, world: World, notices: tuple[str, ...], brief: Briefing) -> ContextAssembled:
    request, scene = state.request, replace(scene_of(state, world), skills=brief.offers)
    place = Surroundings(
        workspace=request.workspace,
        system=world.system,
        model=request.model,
        now=scene.now,
        zone=world.zone(state),
        scheduled_for=request.nominal_at,
        notices=notices,
    )
    prompt, attended, by = world.redact(prompt_of(request)), request.level is not None, request.child_of
    goal = goal_block(state.job, is_attended=attended) if state.job.mode is Mode.GOAL else ""
    wanted = tuple(TextPart(text=world.redact(text)) for text in told_beforehand(state))
    return ContextAssembled(
        at=scene.now,
        system=system_prompt(
            state.job.mode, place, brief, attended=attended, goal=goal, dispatched_as=by.prompt if by else None
        ),
        prompt=(*prompt_parts(prompt, brief), *wanted),
        tools=world.toolbox.specs(scene, state.job.mode),
        notices=notices,
        sources=brief.sources,
        reads=dict(brief.reads),
        rests=brief.rests,
        taints=brief.taints,
        history=brief.history,
        skills=brief.offers,
    )


async def _adjudicate(step: Adjudicate, state: RunState, senses: Senses) -> Entries:
    facts, policy = await facts_of(step.call_id, state, senses), senses.policies(state)
    if facts.problem and facts.effect:
        cut = f" {CUT_CALL}" if state.replies[-1].reply.stop is StopReason.LENGTH else ""
        verdict = Verdict(
            ruling=Ruling.DENY, reason=f"{facts.problem}{cut}", rule=ARGUMENTS, policy_hash=policy_hash(policy)
        )
    else:
        verdict = adjudicate(facts, policy)
    yield Entry(CallAdjudicated(at=senses.clock.now(), call_id=step.call_id, verdict=verdict), waits=True)


async def _refuse(step: Refuse, senses: Senses) -> Entries:
    result = told(step.status, step.reason)
    if step.concludes:
        result = result.model_copy(update={"concludes": str(step.concludes)})
    yield Entry(CallFinished(at=senses.clock.now(), call_id=step.call_id, result=result), waits=True)


async def _enter(step: EnterMode, state: RunState, world: World) -> Entries:
    tools = world.toolbox.specs(scene_of(state, world), step.mode)
    yield Entry(ModeEntered(at=world.clock.now(), mode=step.mode, call_id=step.call_id, tools=tools), waits=True)


async def _execute(step: Execute, state: RunState, world: World, *, is_announced: bool = False) -> Entries:
    known = state.call(step.call_id)
    if known.verdict is None:
        msg = f"call {step.call_id} was never adjudicated"
        raise JournalError(msg)
    if known.decision and (changed := await overtaken(known, state, world)):
        yield Entry(CallFinished(at=world.clock.now(), call_id=step.call_id, result=changed))
        return
    if not is_announced:
        waits = world.toolbox.only_looks(known.call.tool)
        yield Entry(CallStarted(at=world.clock.now(), call_id=step.call_id), waits=waits)
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
                    again = world.toolbox.replay_safe(known.call.tool) and not fact.blobs
                    result = with_decision(fact.result, known)
                    yield Entry(CallFinished(at=now, call_id=step.call_id, result=result), fact.blobs, again)


async def _execute_together(step: ExecuteTogether, state: RunState, world: World) -> Entries:
    """Announce the first calls with one entry, and execute them at the same time; where one ends, the next begins."""
    left = deque(step.call_ids)

    def begun(call_id: CallId) -> Begun:
        waits = world.toolbox.only_looks(state.call(call_id).call.tool)
        announced = Entry(CallStarted(at=world.clock.now(), call_id=call_id), waits=waits)
        return announced, _execute(Execute(call_id), state, world, is_announced=True)

    def then(entries: Sequence[Entry]) -> Sequence[Begun]:
        ended = [entry.event for entry in entries if isinstance(entry.event, CallFinished)]
        if not all(keeps_verdicts(event.result) for event in ended):
            left.clear()
        return [begun(left.popleft()) for _ in ended if left]

    first = [begun(left.popleft()) for _ in step.call_ids[:TOGETHER]]
    *others, last = (announced for announced, _ in first)
    waits = last.waits and all(entry.waits for entry in others)
    announced, *rest = (*(replace(entry, waits=True) for entry in others), replace(last, waits=waits))
    yield replace(announced, also=tuple(rest))
    async with aclosing(merged([calls for _, calls in first], then)) as entries:
        async for entry in entries:
            yield entry


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
    kept = await world.tidy(state)
    is_dispatched = state.request.child_of is not None
    previous = None if is_dispatched else await world.views.previous(JobName(state.job.name), state.run_id)
    yield Entry(
        RunFinished(
            at=world.clock.now(),
            outcome=step.outcome,
            answer=world.redact(step.answer),  # Its parts may make a whole that none of them was.
            reason=world.redact(step.reason),
            partial=step.partial,
            previous=previous,
            fault=step.fault,
            pauses=await _pauses(step, state, world),
            kept=world.redact(kept),
        )
    )


async def _begin_again(step: BeginAgain, state: RunState, world: World) -> Entries:
    """End an attempt; a workspace of the run's own stays for the next."""
    await world.toolbox.settle(scene_of(state, world))
    yield Entry(
        RunRetried(
            at=world.clock.now(),
            attempt=state.attempt + 1,
            by=BY_POLICY,
            not_before=step.not_before,
            ended=step.end.outcome,
            reason=world.redact(step.end.reason),
        )
    )


async def _pauses(step: Finish, state: RunState, world: World) -> str:
    """Return why the job's schedule is to rest from now on: what every further run would meet again."""
    request = state.request
    if request.staged or request.child_of or request.origin is Origin.REQUEST:
        return ""
    if state.stop and state.stop.pauses:
        return world.redact(step.reason)
    if step.fault not in LASTING:
        return ""
    before = await world.views.last_runs(JobName(state.job.name), before=state.run_id, limit=LASTING_RUNS - 1)
    if len(before) < LASTING_RUNS - 1 or any(row.fault not in LASTING or row.pauses for row in before):
        return ""
    return world.redact(f"{LASTING_RUNS} runs in a row met the same at the provider: {step.reason}")
