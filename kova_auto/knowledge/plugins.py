"""Find what a plugin brings: where its skills, subagents and the files of its MCP servers lie, all within its folder.

Nothing of a plugin runs here, and no link in it is followed. What it brings besides is named and never used.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from kova_auto.core.delivery.text import one_line
from kova_auto.core.errors import ConfigError
from kova_auto.core.plugin import NEVER, Manifest, parse_manifest
from kova_auto.knowledge.files import read_beneath
from kova_auto.knowledge.permissions import FOLDER
from kova_auto.knowledge.subagents import PluginAgents

PLUGINS: Final = "plugins"
"""Where a plugin lies, below `~/.kova`, that the settings name by its folder alone."""
MOST_PLUGINS: Final = 64
MANIFESTS: Final = ((".kova-plugin", "plugin.json"), (".claude-plugin", "plugin.json"))
"""The first that is there counts."""

_LONGEST: Final = 1024
_SKILLS, _AGENTS, _SERVERS = "skills", "agents", ".mcp.json"
_UNUSED: Final = {
    "commands": "commands",
    "hooks": "hooks",
    "hooks.json": "hooks",
    ".lsp.json": "lspServers",
    "output-styles": "outputStyles",
}


@dataclass(frozen=True, slots=True)
class Plugin:
    """Hold what a plugin brings.

    Attributes:
        root: Its folder, canonical.
        skills: Folders in which folders of skills lie; within the plugin.
        agents: Where its subagents are defined.
        servers: Files that configure MCP servers; within the plugin.
        problems: What of it is not used, and why.
    """

    name: str
    root: Path
    version: str = ""
    description: str = ""
    skills: tuple[Path, ...] = ()
    agents: PluginAgents | None = None
    servers: tuple[Path, ...] = ()
    problems: tuple[ConfigError, ...] = ()


@dataclass(frozen=True, slots=True)
class BrokenPlugin:
    """Hold what the settings enable and what is no plugin, and why; `entry` is as it is written there."""

    entry: str
    problem: ConfigError


@dataclass(frozen=True, slots=True)
class Plugins:
    """Hold the plugins that the settings enable, in their order, and what is wrong with others."""

    enabled: tuple[Plugin, ...] = ()
    broken: tuple[BrokenPlugin, ...] = ()

    @property
    def agents(self) -> tuple[PluginAgents, ...]:
        """Return where their subagents are defined."""
        return tuple(plugin.agents for plugin in self.enabled if plugin.agents)

    @property
    def skills(self) -> tuple[tuple[str, Path], ...]:
        """Return their folders of skills, each with the name of its plugin."""
        return tuple((plugin.name, folder) for plugin in self.enabled for folder in plugin.skills)

    @property
    def servers(self) -> tuple[tuple[str, Path], ...]:
        """Return the files of their MCP servers, each with the name of its plugin."""
        return tuple((plugin.name, file) for plugin in self.enabled for file in plugin.servers)


def read_plugins(enabled: Sequence[str], home: Path) -> Plugins:
    """Return the plugins of the settings; one that is broken is named, and the others count.

    Args:
        enabled: Absolute paths, paths that begin with `~`, and names of folders in `~/.kova/plugins`.
        home: Of the service's user; canonical.
    """
    found: dict[str, Plugin] = {}
    broken: list[BrokenPlugin] = []
    for entry in dict.fromkeys(enabled):
        try:
            if len(found) == MOST_PLUGINS:
                message = f"wanted at most {MOST_PLUGINS} plugins, found more"
                raise ConfigError(message)  # noqa: TRY301
            plugin = read_plugin(place_of(entry, home))
            if first := found.get(plugin.name):
                message = f"a plugin named {plugin.name} is enabled already: {first.root}"
                raise ConfigError(message, path=str(plugin.root))  # noqa: TRY301
        except ConfigError as exc:
            broken.append(BrokenPlugin(entry, exc))
        else:
            found[plugin.name] = plugin
    return Plugins(tuple(found.values()), tuple(broken))


def place_of(entry: str, home: Path) -> Path:
    """Return the folder that an entry of the settings means."""
    if entry == "~" or entry.startswith("~/"):
        return Path(f"{home}{entry[1:]}")
    return Path(entry) if entry.startswith("/") else home / FOLDER / PLUGINS / entry


def is_plugin(folder: Path) -> bool:
    """Say whether a folder is to be a plugin."""
    return any(os.path.lexists(folder.joinpath(*parts)) for parts in MANIFESTS)


def read_plugin(folder: Path) -> Plugin:
    """Return what a plugin brings.

    Raises:
        ConfigError: It is none.
    """
    root = Path(os.path.realpath(folder))
    if not root.is_dir():
        found = "a file" if root.exists() else "nothing"
        message = f"wanted the folder of a plugin, found {found}"
        raise ConfigError(message, path=str(folder))
    manifest, path = _manifest(root)
    looking = _Looking(root, path)
    skills = looking.for_all(_SKILLS, "skills", manifest.skills, stat.S_ISDIR)
    agents = looking.for_all(_AGENTS, "agents", manifest.agents, lambda mode: stat.S_ISDIR(mode) or stat.S_ISREG(mode))
    servers = looking.for_all(_SERVERS, "mcpServers", manifest.servers, stat.S_ISREG)
    return Plugin(
        name=manifest.name,
        root=root,
        version=manifest.version,
        description=manifest.description,
        skills=tuple(root / place for place in skills),
        agents=PluginAgents(manifest.name, root, agents) if agents else None,
        servers=tuple(root / place for place in servers),
        problems=(*manifest.problems, *looking.problems, *_unused(root, {each.key for each in manifest.problems})),
    )


def _manifest(root: Path) -> tuple[Manifest, str]:
    for parts in MANIFESTS:
        text = read_beneath(root, *parts)
        if text is not None:
            path = str(root.joinpath(*parts))
            return parse_manifest(text, path), path
    message = f"wanted the folder of a plugin, found no {' or '.join('/'.join(parts) for parts in MANIFESTS)} in it"
    raise ConfigError(message, path=str(root))


@dataclass
class _Looking:
    """Look up places in a plugin, and collect what is wrong with them."""

    root: Path
    manifest: str
    problems: list[ConfigError] = field(default_factory=list)

    def for_all(self, usual: str, key: str, named: Sequence[str], fits: Callable[[int], bool]) -> tuple[str, ...]:
        """Return the places that are there, relative and each once: the usual one, and those of the manifest.

        Args:
            usual: Where it lies without being named; it need not be there.
            key: Of the manifest.
            named: What that says.
            fits: Says of a mode whether such a thing can be used.
        """
        found: dict[str, None] = {}
        for place in (usual, *named):
            try:
                parts = _parts(place)
                mode = _mode(self.root, parts)
                if mode is None and place is usual:
                    continue
                if mode is None or not fits(mode):
                    what = "nothing" if mode is None else "something else"
                    message = f"{_shown(place)} is not used: there is {what} there"
                    raise ConfigError(message)  # noqa: TRY301
            except ConfigError as exc:
                own = place is not usual
                path = self.manifest if own else str(self.root)
                self.problems.append(ConfigError(exc.message, path=path, key=key if own else ""))
            else:
                found["/".join(parts) or "."] = None
        return tuple(found)


def _parts(place: str) -> tuple[str, ...]:
    """Return the names on the way to a place.

    Raises:
        ConfigError: It cannot be one in the plugin.
    """
    parts = PurePosixPath(place).parts
    if not place.strip() or "\0" in place or len(place) > _LONGEST:
        message = "wanted a place in the plugin, found no path"
        raise ConfigError(message)
    if place.startswith(("/", "~")) or ".." in parts or "\\" in place or "$" in place:
        message = f"{_shown(place)} is not used: it leads out of the plugin; write a path that begins with ./"
        raise ConfigError(message)
    return parts


def _mode(root: Path, parts: tuple[str, ...]) -> int | None:
    """Return what kind of thing lies at a place; None for nothing.

    Raises:
        ConfigError: A link is on the way, or it cannot be looked at.
    """
    here, mode = root, root.lstat().st_mode
    for part in parts:
        here = here / part
        try:
            mode = here.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as exc:
            message = f"{_shown('/'.join(parts))} is not used: it cannot be looked at: {exc.strerror}"
            raise ConfigError(message) from exc
        if stat.S_ISLNK(mode):
            message = f"{_shown('/'.join(parts))} is not used: a link is on the way, and none is followed in a plugin"
            raise ConfigError(message)
    return mode


def _unused(root: Path, said: AbstractSet[str]) -> Iterator[ConfigError]:
    """Yield what lies in a plugin and is not used; `said` are the keys of which the manifest's problems say so."""
    for name, key in _UNUSED.items():
        if key not in said and os.path.lexists(root / name):
            yield ConfigError(f"{name} is not used: {NEVER[key]}", path=str(root))


def _shown(place: str) -> str:
    return f"`{one_line(place, 80)}`"
