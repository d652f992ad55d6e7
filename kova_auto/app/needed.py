"""Judge, before a model is asked, the tools that a job cannot do without."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from kova_auto.app.mcp import McpServers
from kova_auto.app.mcp_findings import is_on_record
from kova_auto.app.rejudging import Bench
from kova_auto.app.specimens import specimens
from kova_auto.core.approval.adjudicate import adjudicate
from kova_auto.core.approval.explanation import Settled, settled
from kova_auto.core.approval.levels import Verdict
from kova_auto.core.approval.policy import Policy
from kova_auto.core.ids import CallId
from kova_auto.core.mcp.names import parsed
from kova_auto.core.message import ToolCall
from kova_auto.core.tool_names import MCP
from kova_auto.core.turning import for_a_person
from kova_auto.threads import aside

_CALL: Final = CallId("1.1")
_REFUSED: Final = "limits.required_tools: {tool} would be refused ({rule}): {reason}"


async def refused_beforehand(names: Sequence[str], bench: Bench, policy: Policy, servers: McpServers) -> str:
    """Return which of these tools a run would be refused whatever it called it with; empty where that shows of none.

    Args:
        names: Tools of our own, and full names of servers' tools.
        bench: Finds out what a call would touch; starts no server.
        policy: That the run is under.
        servers: Know what is on record of servers.
    """
    for name in names:
        calls = _calls(name, bench, policy, str(servers.places.home))
        verdicts = [await _refused(call, bench, policy) for call in calls]
        verdict = verdicts[0] if verdicts and all(verdicts) else None
        is_known: bool = await aside(partial(is_on_record, servers, bench.job, name, bench.now))
        if verdict and is_known:
            return _REFUSED.format(tool=name, rule=verdict.rule, reason=for_a_person(verdict))
    return ""


def _calls(name: str, bench: Bench, policy: Policy, home: str) -> Iterator[ToolCall]:
    """Yield calls of a tool that are judged apart."""
    if named := parsed(name):
        yield ToolCall(id=_CALL, tool=MCP, args={"action": "call", "server": named[0], "tool": named[1]})
        return
    for spec in bench.specs(policy):
        if spec.name == name:
            yield from (ToolCall(id=_CALL, tool=name, args=args) for _, args in specimens(spec, policy, home))


async def _refused(call: ToolCall, bench: Bench, policy: Policy) -> Verdict | None:
    """Return the verdict on a call that is refused; None where it passes, waits, or nothing can be said of it."""
    facts = await bench.facts(call, policy, "", unagreed=False)
    verdict = adjudicate(facts, policy)
    return None if facts.problem or settled(verdict, policy) is not Settled.DENY else verdict
