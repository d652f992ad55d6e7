"""What a tool, and whoever judges its calls, is told of a run."""

from __future__ import annotations

from dataclasses import replace

from kova_auto.core.goal.contract import is_agreed
from kova_auto.core.goal.pursuit import pursuit_of
from kova_auto.core.ids import BlobHash, CallId
from kova_auto.core.limits import left_s
from kova_auto.core.run import RunState
from kova_auto.core.skills.narrowing import narrowed_by
from kova_auto.core.tool import CallFacts, Scene
from kova_auto.core.tool_names import MCP, TASK_TOOLS
from kova_auto.core.view import level_of
from kova_auto.engine.world import Senses

NO_CALL = CallId("")


def scene_of(state: RunState, senses: Senses, call: CallId = NO_CALL) -> Scene:
    """Return what a tool may know of the run."""
    now = senses.clock.now()
    return Scene(
        run_id=state.run_id,
        call_id=call,
        job=state.job,
        workspace=state.request.workspace,
        now=now,
        left_s=left_s(state, now),
        level=level_of(state),
        mode=state.mode,
        plan_file=state.plan_file,
        seen=state.seen,
        todo=state.todo,
        processes={process.call_id: process for process in state.background},
        rests=rests_of(state),
        write_roots=senses.policies(state).write_roots,
        answers=_answers(state, call),
        tainted_by=state.tainted_by,
        staged=state.request.staged,
        goal=pursuit_of(state, call),
        skills=state.context.skills if state.context else (),
        children=state.children,
        granted=granted(state),
    )


def granted(state: RunState) -> tuple[str, ...] | None:
    """Return the tools that a child may use, with those that its children and its servers give it; else None."""
    if (by := state.request.child_of) is None:
        return None
    job = state.job
    return (*by.tools, *(TASK_TOOLS if job.agents.allow else ()), *((MCP,) if job.mcp.servers else ()))


def rests_of(state: RunState) -> frozenset[BlobHash]:
    """Return the blobs that hold what the prompt and the results of a run had to leave out."""
    of_calls = frozenset(known.result.rest for known in state.calls.values() if known.result and known.result.rest)
    return of_calls.union(state.context.rests) if state.context else of_calls


def _answers(state: RunState, call: CallId) -> tuple[str, ...]:
    decision = state.calls[call].decision if call in state.calls else None
    return decision.answers if decision else ()


async def facts_of(call_id: CallId, state: RunState, senses: Senses) -> CallFacts:
    """Find out what a call would touch, whose words may be behind it, and whether the run may change things yet."""
    facts = await senses.toolbox.facts(state.call(call_id).call, scene_of(state, senses, call_id))
    agreed, narrowed = is_agreed(state), narrowed_by(facts, state.skills)
    if agreed and not (state.tainted_by or narrowed):
        return facts
    return replace(facts, tainted_by=state.tainted_by, unagreed=not agreed, narrowed_by=narrowed)
