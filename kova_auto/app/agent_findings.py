"""Look at subagents and plugins: what is broken, what takes whose place, and what jobs name that is not there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kova_auto.app.agents import Agents
from kova_auto.app.finding import Finding, Mark
from kova_auto.app.skills import Skills, lacking_for_agents
from kova_auto.core.delivery.document import count
from kova_auto.core.job import Job
from kova_auto.core.subagents.definition import Layer
from kova_auto.core.subagents.roster import Broken, Layers, Shelf
from kova_auto.core.subagents.standing import Standing, standings
from kova_auto.knowledge.plugins import Plugin

PLUGIN, AGENT = "plugin", "agent"


def of_agents(agents: Agents, jobs: Sequence[Job]) -> Iterator[Finding]:
    """Yield what there is to say of plugins, of what is defined for the workspaces of jobs, and of each job."""
    everywhere = agents.definitions.of(None)
    yield from _of_plugins(agents, everywhere)
    workspaces = dict.fromkeys(job.workspace for job in jobs)
    surveys = {place: agents.definitions.of(Path(place)) for place in workspaces}
    seen: dict[Finding, None] = {}
    for layers in (everywhere, *surveys.values()):
        seen.update(dict.fromkeys(_of_layers(layers)))
    for job in jobs:
        seen.update(dict.fromkeys(_of_job(agents, job)))
    yield from seen


def of_agent_skills(skills: Skills, agents: Agents, jobs: Sequence[Job]) -> Iterator[Finding]:
    """Yield for each job which subagents of it name skills that are not there."""
    for job in jobs:
        for why in lacking_for_agents(skills, job, agents.roster(job)):
            yield Finding(AGENT, job.name, Mark.FAIL, f"agents.allow: {why}")


def _of_job(agents: Agents, job: Job) -> Iterator[Finding]:
    for why in agents.lacking(job):
        yield Finding(AGENT, job.name, Mark.FAIL, f"agents.allow: {why}")
    for warning in agents.roster(job).warnings:
        yield Finding(AGENT, job.name, Mark.WARN, warning.sentence)


def _of_plugins(agents: Agents, layers: Layers) -> Iterator[Finding]:
    shelves = {shelf.plugin: shelf for shelf in layers.shelves if shelf.layer is Layer.PLUGIN}
    for plugin in agents.plugins.enabled:
        yield Finding(PLUGIN, plugin.name, Mark.OK, _brings(plugin, shelves.get(plugin.name)))
        yield from (Finding(PLUGIN, plugin.name, Mark.WARN, problem.sentence) for problem in plugin.problems)
    for broken in agents.plugins.broken:
        yield Finding(PLUGIN, broken.entry, Mark.FAIL, f"is not used: {broken.problem.sentence}")


def _brings(plugin: Plugin, shelf: Shelf | None) -> str:
    version = f" {plugin.version}" if plugin.version else ""
    agents = count(len(shelf.defined) if shelf else 0, "subagent")
    skills, servers = count(len(plugin.skills), "folder"), count(len(plugin.servers), "file")
    return f"{plugin.root}{version} brings {agents}, {skills} of skills, {servers} of MCP servers"


def _of_layers(layers: Layers) -> Iterator[Finding]:
    for shelf in layers.shelves:
        owner = shelf.plugin or shelf.layer
        yield from (Finding(AGENT, owner, Mark.WARN, problem.sentence) for problem in shelf.problems)
    for standing in standings(layers):
        if finding := _of_standing(standing):
            yield finding


def _of_standing(standing: Standing) -> Finding | None:
    """Return what there is to say of one definition: it is broken, or takes or would take the place of another."""
    layer, address, entry = standing.placed.shelf.layer, standing.placed.address, standing.placed.entry
    if isinstance(entry, Broken):
        return Finding(AGENT, address, Mark.WARN, standing.note)
    text = f"{standing.note} ({entry.agent.path})"
    if layer is Layer.USER and standing.note:
        return Finding(AGENT, address, Mark.OK, text)
    if layer in (Layer.WORKSPACE, Layer.PLUGIN) and standing.shadowed_by:
        return Finding(AGENT, address, Mark.WARN, text)
    return None
