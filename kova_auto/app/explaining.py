"""Explain verdicts as a run of a job would come to them, with nothing of a service but its tools."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from kova_auto.app.agents import agents_of
from kova_auto.app.mcp import McpServers
from kova_auto.app.needed import refused_beforehand
from kova_auto.app.permissions import permissions_of
from kova_auto.app.places import places_of
from kova_auto.app.rejudging import Bench
from kova_auto.app.skills import ground_of, skills_of
from kova_auto.app.specimens import plain_arguments, specimens
from kova_auto.app.subagents import Nobody, Rosters, rosters_of
from kova_auto.app.tooling import tooling_of
from kova_auto.app.vault import Vault
from kova_auto.core.approval.explanation import Explanation, Settled, explain, settled
from kova_auto.core.approval.levels import ApprovalLevel, Verdict
from kova_auto.core.approval.policy import Policy
from kova_auto.core.consent import Standing
from kova_auto.core.errors import ConfigError, JournalError
from kova_auto.core.event import Event, RunRequested
from kova_auto.core.ids import BlobHash, CallId, RunId
from kova_auto.core.job import Job
from kova_auto.core.judged import judged_calls
from kova_auto.core.mcp.names import parsed
from kova_auto.core.message import ToolCall, ToolSpec
from kova_auto.core.net.http import FailureKind, HttpFailure, HttpRequest
from kova_auto.core.policy import policy_of
from kova_auto.core.skill_facts import USE_SKILL, OfferedSkill
from kova_auto.core.tool_names import MCP
from kova_auto.core.value import Value
from kova_auto.settings.model import Settings
from kova_auto.tools.toolbox import LocalToolbox

_BY_FULL_NAME: Final = "a server's tool is named mcp__SERVER__TOOL in the place of mcp"
_RUN, _CALL = RunId("explain"), CallId("1.1")


class Specimen(Value):
    """Hold one call of a survey, and what may happen to it.

    Attributes:
        shown: The one of its arguments that matters, as text; empty where none does.
    """

    tool: str
    shown: str
    arguments: dict[str, JsonValue]
    explanation: Explanation


class Rejudged(Value):
    """Hold a recorded call whose ruling would be another one today.

    Attributes:
        then: As it is journaled.
        settled: What would become of it today.
    """

    run_id: RunId
    call_id: CallId
    tool: str
    arguments: dict[str, JsonValue]
    then: Verdict
    now: Verdict
    settled: Settled


@dataclass(frozen=True, slots=True)
class Explainer:
    """Explain what a run of one job may do.

    Attributes:
        policy: Which a run that began now would be under.
        user: What the user's own permission file allows.
        remembered: What this machine allowed for the job's workspace.
        servers: Knows the servers that lend runs tools.
        skills: That such a run may load; what one that is loaded narrows is not known here.
    """

    toolbox: LocalToolbox
    job: Job
    policy: Policy
    user: Standing
    remembered: Standing
    home: str
    now: datetime
    rosters: Rosters
    servers: McpServers
    skills: tuple[OfferedSkill, ...] = ()

    async def agents(self) -> tuple[str, ...]:
        """Return the names of the subagents that runs of the job may dispatch."""
        roster = await self.rosters.roster(self.job, self.job.workspace)
        return tuple(offered.name for offered in roster.available)

    def specs(self) -> tuple[ToolSpec, ...]:
        """Return every tool there is, whatever the job's mode."""
        return self._bench.specs(self.policy)

    def arguments(self, tool: str, text: str) -> dict[str, JsonValue]:
        """Return the arguments that a person means by a plain text, as a path or a command.

        Raises:
            ConfigError: The tool has no argument that this could be.
        """
        spec = next((spec for spec in self.specs() if spec.name == tool), None)
        found = plain_arguments(spec, text) if spec else {}
        if found is None:
            message = f"wanted a JSON object for {tool}, found {text!r}"
            hint = _BY_FULL_NAME if tool == MCP else 'for example \'{"name": "value"}\''
            raise ConfigError(message, key="ARGS", hint=hint)
        return found

    async def explain(self, tool: str, args: Mapping[str, JsonValue], tainted_by: str = "") -> Explanation:
        """Explain one call, as the first of a run: where a person has to agree to criteria, nobody has yet."""
        if found := parsed(tool):  # The full name of a server's tool.
            tool, args = MCP, {"action": "call", "server": found[0], "tool": found[1], "arguments": dict(args)}
        call = ToolCall(id=_CALL, tool=tool, args=dict(args))
        return explain(await self._bench.facts(call, self.policy, tainted_by, unagreed=True), self.policy)

    async def survey(self, tainted_by: str = "") -> tuple[Specimen, ...]:
        """Explain a call of every tool for each way in which it may be judged under this policy."""
        found: dict[tuple[object, ...], Specimen] = {}
        agents = await self.agents() if self.job.agents.allow else ()
        for spec in self.specs():
            for shown, made_up in specimens(spec, self.policy, self.home, agents, self.job.mcp.servers):
                args = {**made_up, "name": self.skills[0].name} if spec.name == USE_SKILL else made_up
                told = await self.explain(spec.name, args, tainted_by)
                alike = (spec.name, told.verdict.rule, *((path.zone, path.writes) for path in told.paths))
                found.setdefault(alike, Specimen(tool=spec.name, shown=shown, arguments=args, explanation=told))
        return tuple(found.values())

    async def needs(self) -> str:
        """Return which tool the job cannot do without and would be refused; empty where that shows of none."""
        return await refused_beforehand(self.job.limits.required_tools, self._bench, self.policy, self.servers)

    async def rejudged(self, events: Sequence[Event]) -> tuple[int, tuple[Rejudged, ...]]:
        """Judge the calls of a recorded run as a run of the job as it is today would; return how many there are.

        Each is judged where the job's workspace is today, with the rules of today.
        """
        request = events[0]
        if not isinstance(request, RunRequested):
            return 0, ()
        policy = self._policy(request.level)
        calls, changed = tuple(judged_calls(events)), []
        for known in calls:
            facts, verdict = await self._bench.anew(known, request.workspace, policy)
            if verdict.ruling is not known.verdict.ruling:
                changed.append(
                    Rejudged(
                        run_id=request.run_id,
                        call_id=known.call.id,
                        tool=known.call.tool,
                        arguments=facts.call.args,
                        then=known.verdict,
                        now=verdict,
                        settled=settled(verdict, policy),
                    )
                )
        return len(calls), tuple(changed)

    def _policy(self, level: ApprovalLevel | None) -> Policy:
        return policy_of(self.job, level, user=self.user, remembered=self.remembered)

    @property
    def _bench(self) -> Bench:
        return Bench(self.toolbox, self.job, _RUN, self.now, self.skills)


@asynccontextmanager
async def explaining(
    settings: Settings, environ: Mapping[str, str], job: Job, now: datetime, level: ApprovalLevel | None = None
) -> AsyncIterator[Explainer]:
    """Give what explains a job's verdicts; neither a database nor a service is asked.

    Args:
        settings: Of the service.
        environ: Of this process.
        job: As it is in effect.
        now: The present instant, UTC.
        level: Of an attended run; None explains a run that nobody attends.

    Raises:
        ConfigError: There is no place for what confinement is proven with.
    """
    places, nothing = places_of(settings, environ), _Nothing()
    agents = agents_of(settings, environ)
    rosters = rosters_of(agents.definitions)
    tooling = tooling_of(
        places, environ, Vault(settings, environ), nothing, nothing, nursery=Nobody(rosters), plugins=agents.plugins
    )
    try:
        permissions = permissions_of(settings, environ, tooling.servers.exempt)
        standing = await asyncio.to_thread(permissions.of_job, job)
        policy = policy_of(job, level, user=standing.user, remembered=standing.remembered)
        offers = await asyncio.to_thread(_offers, settings, environ, job)
        user, remembered = standing.user, standing.remembered
        home, servers = str(places.home), tooling.servers
        yield Explainer(tooling.toolbox, job, policy, user, remembered, home, now, rosters, servers, offers)
    finally:
        await tooling.close()


def _offers(settings: Settings, environ: Mapping[str, str], job: Job) -> tuple[OfferedSkill, ...]:
    with skills_of(settings, environ) as skills:
        return skills.told(ground_of(Path(job.workspace)), job.context.skills).offers


class _Nothing:
    """Stand for the journal and the network: finding out about a call asks neither."""

    async def blob(self, key: BlobHash) -> bytes:
        message = f"blob {key} is not read to explain a verdict"
        raise JournalError(message)

    async def exchange(self, request: HttpRequest) -> HttpFailure:
        del request
        return HttpFailure(FailureKind.POLICY, written=False, detail="nothing is sent to explain a verdict")
