"""Look, before a model is asked, whether a scheduled run would be refused what its job's earlier runs were allowed.

No server is started for it: what is on record of them is enough, and what is not on record speaks against nothing.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final

from kova_auto.app.mcp import McpServers
from kova_auto.app.mcp_findings import is_on_record
from kova_auto.app.needed import refused_beforehand
from kova_auto.app.rejudging import Bench
from kova_auto.core.approval.explanation import Settled, settled
from kova_auto.core.approval.levels import Ruling
from kova_auto.core.approval.policy import Policy
from kova_auto.core.errors import IllegalEventError, UnknownEventError
from kova_auto.core.event import Event, Origin, RunRequested
from kova_auto.core.ids import JobName, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.judged import JudgedCall, judged_calls
from kova_auto.core.policy import policy_of_run
from kova_auto.core.ports import Clock, Journal, Toolbox, Views
from kova_auto.core.run import RunState
from kova_auto.core.tool_names import MCP
from kova_auto.core.turning import Turned, said_turned, say_the_same
from kova_auto.threads import aside

LOG = logging.getLogger(__name__)
_GOOD: Final = frozenset({Outcome.DONE, Outcome.NOTHING_TO_REPORT})
_LOOKED_AT, _RUNS = 20, 3


@dataclass(frozen=True, slots=True)
class Preflight:
    """Compare a run that is to begin with the last ones of its job that did well.

    Attributes:
        toolbox: That the run's own calls would go to.
        servers: Knows the servers that lend a run tools.
        let_through: The policy of the last run of each job that was found to be refused nothing.
    """

    journal: Journal
    views: Views
    toolbox: Toolbox
    servers: McpServers
    clock: Clock
    let_through: dict[str, str] = field(default_factory=dict)

    async def refused(self, state: RunState) -> str:
        """Return which tools a run would be refused that it needs, or that earlier ones used; empty where it may begin.

        A run that somebody asked for begins whatever has changed; what it does well counts from then on. So does the
        further attempt of one.
        """
        needed = state.job.limits.required_tools
        compares = self._compares(state)
        if state.request.level or not (needed or compares):
            return ""
        policy = policy_of_run(state)
        bench = Bench(self.toolbox, state.job, RunId(f"{state.run_id}/preflight"), self.clock.now())
        try:
            reason = await refused_beforehand(needed, bench, policy, self.servers) if needed else ""
            return reason or (await self._turned(state, bench, policy) if compares else "")
        finally:
            await self.toolbox.settle(bench.scene(policy))

    def _compares(self, state: RunState) -> bool:
        """Say whether a run is compared with others.

        Where no server is in it, and one under this very policy was let through, there is nothing to find.
        """
        request, job = state.request, state.job
        is_another = self.let_through.get(job.name) != request.policy_hash
        if request.origin in (Origin.REQUEST, Origin.PARENT) or request.staged or state.attempt > 1:
            if is_another:
                self.let_through.pop(job.name, None)  # It may be allowed what no scheduled run was.
            return False
        return is_another or bool(job.mcp.servers)

    async def _turned(self, state: RunState, bench: Bench, policy: Policy) -> str:
        known: set[str] = set()
        found: list[Turned] = []
        try:
            async for earlier, events in self._earlier(state):
                of_run = await self._of_run(earlier, events, bench, policy, known)
                found += [one for one in of_run.values() if one]
                known |= of_run.keys()
        except (IllegalEventError, UnknownEventError) as exc:
            LOG.warning("%s: runs before this one cannot be read, and speak against nothing: %s", state.run_id, exc)
        if not found:
            self.let_through[state.job.name] = state.request.policy_hash
        return said_turned(JobName(state.job.name), found)

    async def _earlier(self, state: RunState) -> AsyncIterator[tuple[RunRequested, list[Event]]]:
        """Yield the job's last good runs under the same words, newest first, down to one that was asked for."""
        rows = await self.views.last_runs(JobName(state.job.name), before=state.run_id, limit=_LOOKED_AT)
        good = [row for row in rows if row.outcome in _GOOD and not row.parent]
        for row in good[:_RUNS]:
            events = [event for _, event in await self.journal.events(row.run_id)]
            request = events[0] if events else None
            if not isinstance(request, RunRequested) or not say_the_same(request.job, state.job):
                return
            if request.level or request.continues:
                continue
            yield request, events
            if request.origin is Origin.REQUEST:
                return

    async def _of_run(
        self, earlier: RunRequested, events: list[Event], bench: Bench, policy: Policy, known: set[str]
    ) -> dict[str, Turned | None]:
        """Return, for each tool that a run was allowed and that is not known yet, its first call that would be refused.

        None stands for a tool of which one call passes still, or nothing can be said.
        """
        found: dict[str, Turned | None] = {}
        for call in judged_calls(events):
            tool = _key(call)
            if call.verdict.ruling is not Ruling.ALLOW or tool in known or (tool in found and not found[tool]):
                continue
            one = await self._anew(call, earlier, bench, policy)
            found[tool] = (found.get(tool) or one) if one else None
        return found

    async def _anew(self, call: JudgedCall, earlier: RunRequested, bench: Bench, policy: Policy) -> Turned | None:
        facts, verdict = await bench.anew(call, earlier.workspace, policy)
        if facts.problem or settled(verdict, policy) is not Settled.DENY:
            return None
        if not await aside(lambda: is_on_record(self.servers, bench.job, facts.call.tool, bench.now)):
            return None
        return Turned(facts.call.tool, earlier.run_id, call.verdict, verdict)


def _key(call: JudgedCall) -> str:
    args = call.call.args
    return f"{args.get('server')}/{args.get('tool')}/{args.get('action')}" if call.call.tool == MCP else call.call.tool
