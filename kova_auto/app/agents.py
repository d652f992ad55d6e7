"""Know the subagents and the plugins of this machine: where they are defined follows from the settings."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kova_auto.app.committed import REMEDY, uncommitted_agents
from kova_auto.app.places import places_of
from kova_auto.core.errors import ConfigError
from kova_auto.core.job import Job
from kova_auto.core.subagents.roster import Layers, Roster, definitions_for
from kova_auto.knowledge.plugins import Plugins, is_plugin, read_plugin, read_plugins
from kova_auto.knowledge.subagents import Definitions, definitions_at, definitions_of
from kova_auto.settings.model import Settings

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Agents:
    """Hold where subagents are defined, and what plugins bring.

    Attributes:
        definitions: Reads the files, each time it is asked.
        plugins: As they were when this was made.
    """

    definitions: Definitions
    plugins: Plugins

    def roster(self, job: Job) -> Roster:
        """Return the subagents that a run of a job may dispatch, as their files are now."""
        if not job.agents.allow:
            return Roster()
        return definitions_for(job.agents.allow, self.definitions.of(Path(job.workspace)))

    def lacking(self, job: Job) -> tuple[str, ...]:
        """Return why a job's runs would not begin for want of subagents, a sentence each; nothing where they would."""
        roster = self.roster(job)
        why = uncommitted_agents(job, roster)
        return (*(missing.sentence for missing in roster.missing), *([f"{why}: {REMEDY}"] if why else []))


def agents_of(settings: Settings, environ: Mapping[str, str]) -> Agents:
    """Return the subagents of this machine; the folders of plugins are read for it."""
    home, said = places_of(settings, environ).home, settings.agents
    plugins = read_plugins(settings.plugins.enabled, home)
    models = {name.lower(): model for name, model in said.models.items()}
    return Agents(Definitions(home, plugins.agents, said.disabled, models), plugins)


def checked(path: Path) -> tuple[Layers, tuple[ConfigError, ...]]:
    """Return what a file, a folder or a plugin defines that a person names, and what is wrong with the plugin.

    Raises:
        ConfigError: There is none.
    """
    if not is_plugin(path):
        return Layers((definitions_at(path),)), ()
    plugin = read_plugin(path)
    return Layers((definitions_of(plugin.agents),) if plugin.agents else ()), plugin.problems


def warn_of(plugins: Plugins) -> None:
    """Name in the log what settings enable and what is not used of it; everything else goes on."""
    for broken in plugins.broken:
        LOG.warning("plugin %s is not used: %s", broken.entry, broken.problem.sentence)
    for plugin in plugins.enabled:
        for problem in plugin.problems:
            LOG.warning("plugin %s: %s", plugin.name, problem.sentence)
