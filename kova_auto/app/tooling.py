"""Build the tools of a service, and what they share."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kova_auto.app.mcp import McpServers, dialled, servers_of
from kova_auto.app.mcp_findings import cache_of
from kova_auto.app.memory import roots_of, shelf_of
from kova_auto.app.neighbours import Neighbours
from kova_auto.app.places import HousePlaces
from kova_auto.app.vault import Vault
from kova_auto.core.approval.levels import Effect, Mode
from kova_auto.core.approval.policy import Policy
from kova_auto.core.approval.tables import Box, Reach, boxes, reach
from kova_auto.core.errors import ConfigError
from kova_auto.core.goal.contract import named_by
from kova_auto.core.job import Job
from kova_auto.core.net.http import Exchange
from kova_auto.core.nursery import Nursery
from kova_auto.core.secret import SecretRef
from kova_auto.engine.world import Blobs
from kova_auto.knowledge.plugins import Plugins
from kova_auto.knowledge.skills import parse_skill
from kova_auto.net.proxy import Proxy
from kova_auto.tools.bash import BashTool
from kova_auto.tools.checking import CommandChecks
from kova_auto.tools.commands import Commands, Host
from kova_auto.tools.edit import EditTool
from kova_auto.tools.failure import ReportFailureTool
from kova_auto.tools.glob import GlobTool
from kova_auto.tools.goal import BlockedTool, CompleteTool, ProposeCriteriaTool
from kova_auto.tools.grep import GrepTool
from kova_auto.tools.ignore import Lister
from kova_auto.tools.mcp.pool import Pool
from kova_auto.tools.mcp.tool import McpTool
from kova_auto.tools.memory.read import MemoryReadTool
from kova_auto.tools.memory.search import MemorySearchTool
from kova_auto.tools.memory.write import MemoryWriteTool
from kova_auto.tools.nothing import NothingToReportTool
from kova_auto.tools.plan import PlanExitTool, PlanWriteTool
from kova_auto.tools.question import QuestionTool
from kova_auto.tools.read import ReadTool
from kova_auto.tools.roots import Roots
from kova_auto.tools.sandbox import landlock
from kova_auto.tools.sandbox.plan import Level, Refusal, hidden_places
from kova_auto.tools.sandbox.plan import Policy as Proof
from kova_auto.tools.sandbox.seatbelt import find_seatbelt
from kova_auto.tools.sandbox.select import Sandbox, find_bwrap
from kova_auto.tools.search import own_engine, ripgrep
from kova_auto.tools.subagents import AwaitTool, DispatchTool, EndTool, SurveyTool
from kova_auto.tools.tasks import TaskOutputTool, TaskStopTool
from kova_auto.tools.todo import TodoTool
from kova_auto.tools.tool import Tool
from kova_auto.tools.toolbox import LocalToolbox
from kova_auto.tools.use_skill import UseSkillTool
from kova_auto.tools.verifying import Verifier
from kova_auto.tools.web_fetch import WebFetchTool
from kova_auto.tools.work_needed import WorkNeededTool
from kova_auto.tools.write import WriteTool


@dataclass(frozen=True, slots=True)
class Tooling:
    """Hold the toolbox with what else it is made of."""

    toolbox: LocalToolbox
    checks: CommandChecks
    commands: Commands
    roots: Roots
    lister: Lister
    sandbox: Sandbox
    servers: McpServers
    pool: Pool

    async def close(self) -> None:
        """End what was left running, and give back what is held."""
        await self.pool.close()
        await self.commands.close()
        self.roots.close()


async def unproven(sandbox: Sandbox, policy: Policy, job: Job | None = None) -> str:
    """Return why a run must not begin: it needs proof that its commands are confined, and there is none.

    Empty where there is, where neither the job insists nor its goal is judged by a command, or where the run's mode
    reaches no commands.
    """
    reached = reach(policy.mode, Effect.COMMAND)
    because = _why_proven(policy, job)
    if not because or reached is Reach.NO:
        return ""
    wanted = (Box.READING,) if reached is Reach.READING else boxes(policy.level)
    network = policy.network != "off" and wanted != (Box.READING,)
    found = [await sandbox.select(Proof(policy.sandbox), Level(box.value), network=network) for box in wanted]
    reasons = [refused.reason for refused in found if isinstance(refused, Refusal)]
    return f"{because}: {reasons[0]}" if len(reasons) == len(found) else ""


def _why_proven(policy: Policy, job: Job | None) -> str:
    """Return what a run needs confinement for, in the words of its job; empty where it can do without."""
    if policy.sandbox == "required":
        return 'permissions.sandbox = "required"'
    judges = policy.mode is Mode.GOAL and job and any(one.command is not None for one in named_by(job))
    return "goal.criteria names a command" if judges and policy.sandbox == "auto" else ""


def sandbox_of(places: HousePlaces, *, leaves_record: bool = True) -> Sandbox:
    """Return what confines commands, nothing proved yet.

    Args:
        places: Of the service.
        leaves_record: Whether its proofs are written down, for those who look at the service from outside.

    Raises:
        ConfigError: There is no place for its self-tests.
    """
    scratch = places.work / "scratch"
    try:
        scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as exc:
        message = f"what runs need while they go on cannot be kept here: {exc.strerror}"
        hint = "set XDG_CACHE_HOME to a directory of your own, or CacheDirectory= in the unit"
        raise ConfigError(message, path=str(scratch), hint=hint) from exc
    return Sandbox(
        scratch,
        _hidden(places),
        bwrap=find_bwrap(),
        landlock_abi=landlock.abi(),
        seatbelt=find_seatbelt(),
        leaves_record=leaves_record,
    )


def _hidden(places: HousePlaces) -> tuple[Path, ...]:
    """Return what no command sees, save its own directories in it: homes, secrets, our state, what other runs use."""
    return hidden_places(places.home, (*places.secret, places.data, places.work))


def _host(places: HousePlaces, environ: Mapping[str, str], vault: Vault) -> Host:
    """Return what commands run on."""

    def secret(reference: SecretRef) -> str:
        return vault.value(reference)

    return Host(
        base=places.work,
        environment=environ,
        hidden=_hidden(places),
        toolchains=places.toolchains,
        secret=secret,
        gateway=Proxy(),
        job_dirs=places.job_dirs,
        others=Neighbours(places.job_dirs[0]).workspaces,
    )


def tooling_of(
    places: HousePlaces,
    environ: Mapping[str, str],
    vault: Vault,
    journal: Blobs,
    exchange: Exchange,
    *,
    nursery: Nursery,
    plugins: Plugins | None = None,
) -> Tooling:
    """Build the tools, in the order in which the model is told of them; plugins lend them MCP servers."""
    sandbox = sandbox_of(places)
    commands, roots = Commands(sandbox, _host(places, environ, vault)), roots_of(places)
    servers = servers_of(places, environ, vault, plugins)
    pool = Pool(servers.launch, commands.dirs, cache_of(servers), dialled)
    shelf = shelf_of(places, roots)
    lister = Lister(roots, shutil.which("git"))
    tools: tuple[Tool, ...] = (
        ReadTool(roots, journal.blob),
        WriteTool(roots),
        EditTool(roots),
        GlobTool(roots, lister),
        GrepTool(roots, lister, ripgrep(rg) if (rg := shutil.which("rg")) else own_engine()),
        BashTool(commands),
        TaskOutputTool(commands),
        TaskStopTool(commands),
        WebFetchTool(exchange),
        McpTool(lambda scene: servers.chosen(scene.job), pool, vault.redact),
        MemoryWriteTool(shelf),
        MemoryReadTool(shelf),
        MemorySearchTool(shelf),
        UseSkillTool(roots, parse_skill),
        TodoTool(),
        QuestionTool(),
        NothingToReportTool(),
        ReportFailureTool(),
        PlanWriteTool(roots),
        PlanExitTool(),
        WorkNeededTool(),
        ProposeCriteriaTool(),
        CompleteTool(Verifier(commands)),
        BlockedTool(),
        DispatchTool(nursery),
        AwaitTool(nursery),
        SurveyTool(nursery),
        EndTool(nursery),
    )
    toolbox = LocalToolbox(tools, redact=vault.redact, holds_secret=vault.holds, settles=(roots,))
    checks = CommandChecks(commands, vault.redact)
    return Tooling(toolbox, checks, commands, roots, lister, sandbox, servers, pool)
