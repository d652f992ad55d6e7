"""Make of a definition and a task the run that a parent dispatches; pure.

A child works in its parent's workspace, under its parent's policy, with no tool but those that its definition grants;
it tells nobody but its parent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from kova_auto.core.approval.levels import Mode
from kova_auto.core.approval.policy import policy_hash
from kova_auto.core.event import ChildOf, Origin, RunRequested
from kova_auto.core.ids import CallId, child_run_id
from kova_auto.core.job import Agents, Context, Goal, Job, Limits, Mcp, Output, Policy
from kova_auto.core.limits import left_s
from kova_auto.core.owed import otherwise_told
from kova_auto.core.pin import ModelPin
from kova_auto.core.policy import policy_of
from kova_auto.core.state import RunState
from kova_auto.core.subagents.definition import Subagent

SHORTEST = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Hold what a call of a parent dispatches.

    Attributes:
        agent: Its definition.
        task: What the child is told, as it is: it is no template.
        title: The same in a few words.
        pins: Models that are to be asked instead of the parent's; empty for those.
        max_turns: Replies that the child may have, where its definition does not say.
        deepest: Children at this depth dispatch nobody.
    """

    call_id: CallId
    agent: Subagent
    task: str
    title: str = ""
    pins: Sequence[ModelPin] = ()
    max_turns: int = 50
    deepest: int = 1


def child_of(parent: RunState, dispatch: Dispatch, now: datetime) -> RunRequested:
    """Return what opens a child's run.

    Args:
        parent: As it is now: what was allowed in it for good, and what it has read, its child inherits.
        dispatch: What is dispatched.
        now: UTC.
    """
    request, by = parent.request, parent.request.child_of
    depth = (by.depth if by else 0) + 1
    job = _job(parent, dispatch, now, may_dispatch=depth < dispatch.deepest)
    remembered = request.remembered.plus(parent.remembered)
    pins = tuple(dispatch.pins) or request.pins
    return RunRequested(
        at=now,
        run_id=child_run_id(parent.run_id, dispatch.call_id),
        job=job,
        policy_hash=policy_hash(policy_of(job, request.level, user=request.user, remembered=remembered)),
        origin=Origin.PARENT,
        level=request.level,
        staged=request.staged,
        scripted=request.scripted,
        model=pins[0].name if pins else request.model,
        pins=pins,
        workspace=request.workspace,
        user=request.user,
        remembered=remembered,
        day_spent_usd=parent.day_before_usd,
        tainted_by=parent.tainted_by,
        child_of=ChildOf(
            run_id=parent.run_id,
            call_id=dispatch.call_id,
            root=by.root if by else parent.run_id,
            depth=depth,
            agent=dispatch.agent.name,
            title=dispatch.title,
            prompt=dispatch.agent.prompt,
            tools=tuple(tool for tool in dispatch.agent.tools if by is None or tool in by.tools),
            charged_since=by.charged_since if by else parent.charged_since,
            skills=tuple(skill for skill in parent.skills if skill.tools is not None),
            notify=otherwise_told(request),
        ),
    )


def _job(parent: RunState, dispatch: Dispatch, now: datetime, *, may_dispatch: bool) -> Job:
    """Return the parent's job as a child has it: what it may do is the same, what it is to do is the task."""
    job, agent = parent.job, dispatch.agent
    servers = tuple(name for name in job.mcp.servers if name in agent.servers)
    left = max(timedelta(seconds=left_s(parent, now)), SHORTEST)
    return job.model_copy(
        update={
            "description": dispatch.title,
            "prompt": dispatch.task,
            "prompt_file": None,
            "mode": Mode.PLAN if parent.mode is Mode.PLAN else Mode.AGENT,
            "schedule": None,
            "policy": Policy(on_interrupt=job.policy.on_interrupt),
            "limits": _limits(job.limits, agent.max_turns or dispatch.max_turns, left),
            "inputs": {},
            "output": Output(),
            "schema_text": None,
            "goal": Goal(),
            "agents": job.agents if may_dispatch else Agents(),
            "mcp": Mcp(servers=servers),
            "context": Context(memory=(), skills=_skills(job.context.skills, agent)),
            "notify": (),
        }
    )


def _limits(own: Limits, turns: int, left: timedelta) -> Limits:
    """Return the parent's limits, with as much time as it has left, and no more replies than the definition gives."""
    return own.model_copy(update={"timeout": min(own.timeout, left), "iterations": turns, "required_tools": ()})


def _skills(own: tuple[str, ...] | None, agent: Subagent) -> tuple[str, ...] | None:
    return own if agent.skills is None else agent.skills
