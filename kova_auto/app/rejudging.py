"""Judge recorded calls anew, by the rules of today."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from pydantic import JsonValue

from kova_auto.core.approval.adjudicate import UNAGREED, adjudicate
from kova_auto.core.approval.facts import CallFacts
from kova_auto.core.approval.levels import Mode, Verdict
from kova_auto.core.approval.policy import Policy
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.job import Job
from kova_auto.core.judged import JudgedCall
from kova_auto.core.message import ToolCall, ToolSpec
from kova_auto.core.ports import Toolbox
from kova_auto.core.skill_facts import OfferedSkill
from kova_auto.core.skills.narrowing import narrowed_by
from kova_auto.core.tool import Scene


@dataclass(frozen=True, slots=True)
class Bench:
    """Find out about calls as a run of a job would that began now, where the job's workspace is.

    Attributes:
        run_id: Under which it is asked; what is kept for it is nobody else's.
        skills: That such a run may load.
    """

    toolbox: Toolbox
    job: Job
    run_id: RunId
    now: datetime
    skills: tuple[OfferedSkill, ...] = ()

    async def facts(self, call: ToolCall, policy: Policy, tainted_by: str, *, unagreed: bool) -> CallFacts:
        """Return what a call would touch; no server is started for it."""
        facts = await self.toolbox.facts(call, self.scene(policy))
        agrees = policy.mode is Mode.GOAL and policy.attended and not self.job.goal.criteria
        return replace(facts, tainted_by=tainted_by, unagreed=unagreed and agrees)

    async def anew(self, known: JudgedCall, workspace: str, policy: Policy) -> tuple[CallFacts, Verdict]:
        """Judge a call that was judged before, in a run that worked in `workspace`."""
        call = known.call.model_copy(update={"args": _moved(known.call.args, workspace, self.job.workspace)})
        facts = await self.facts(call, policy, known.tainted_by, unagreed=known.verdict.rule == UNAGREED)
        return facts, adjudicate(replace(facts, narrowed_by=narrowed_by(facts, known.skills)), policy)

    def specs(self, policy: Policy) -> tuple[ToolSpec, ...]:
        """Return every tool there is, whatever the job's mode."""
        found = [spec for mode in Mode for spec in self.toolbox.specs(self.scene(policy), mode)]
        return tuple({spec.name: spec for spec in found}.values())

    def scene(self, policy: Policy) -> Scene:
        """Return what a tool may know of such a run."""
        return Scene(
            run_id=self.run_id,
            call_id=CallId("1.1"),
            job=self.job,
            workspace=self.job.workspace,
            now=self.now,
            left_s=self.job.limits.timeout.total_seconds(),
            level=policy.level,
            mode=policy.mode,
            write_roots=policy.write_roots,
            skills=self.skills,
        )


def _moved(args: Mapping[str, JsonValue], old: str, new: str) -> dict[str, JsonValue]:
    """Return arguments with the paths below a run's own workspace where they are below the job's."""

    def moved(value: JsonValue) -> JsonValue:
        if isinstance(value, str) and (value == old or value.startswith(f"{old}/")):
            return new + value.removeprefix(old)
        return value

    return {name: moved(value) for name, value in args.items()}
