"""Say which MCP servers a run may use, what starts each, and what stands in the way before a model is asked.

What a `${NAME}` stands for is known to the vault from the moment it is looked up: whatever a server makes of it, it is
taken out of what it says.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kova_auto.app.places import HousePlaces
from kova_auto.app.vault import Vault
from kova_auto.core.errors import ConfigError
from kova_auto.core.job import Job
from kova_auto.core.mcp.expansion import PLAIN, expanded
from kova_auto.core.mcp.foreign import SAYS_SECRET, SCHEME
from kova_auto.core.mcp.roster import Chosen, Shelf, choose
from kova_auto.core.mcp.server import Given, Layer, Server
from kova_auto.core.net.address import EgressRefusedError
from kova_auto.core.net.url import Egress, parse_url
from kova_auto.core.secret import SecretRef
from kova_auto.core.tool import Scene
from kova_auto.knowledge.mcp import PluginFile, ServerFiles
from kova_auto.knowledge.plugins import Plugins
from kova_auto.tools.environment import clean_environment
from kova_auto.tools.mcp.connection import EXTRA, is_there
from kova_auto.tools.mcp.launch import Address, Launch, Program

LOG = logging.getLogger(__name__)
_ROOTS: Final = ("KOVA_PLUGIN_ROOT", "CLAUDE_PLUGIN_ROOT")
_WORKSPACE: Final = "workspaceFolder"
_PLACES: Final = (_WORKSPACE, "userHome")
"""What other clients call the workspace and the home."""
_MAY_BE_PRIVATE: Final = "; where it is one of yours on this machine or network, write allow_private: true"
_USERS = "set it in the environment of the service, or give a default as ${NAME:-default}"
_OTHERS = "name it in [env] of the job: nothing else is given to what others configured"
_PUBLIC, _PRIVATE = Egress(), Egress(allow_http=True)
_OVERHEAD = 1 << 20


@dataclass(frozen=True, slots=True)
class McpServers:
    """Know the servers of this machine.

    Attributes:
        files: Reads what configures them, each time it is asked.
        places: Of the service.
        environ: Of the service.
        vault: Learns whatever is given to a server.
    """

    files: ServerFiles
    places: HousePlaces
    environ: Mapping[str, str]
    vault: Vault

    def shelves(self, workspace: str) -> tuple[Shelf, ...]:
        """Return what each file configures, for a workspace."""
        return self.files.shelves(Path(workspace))

    def chosen(self, job: Job) -> Chosen:
        """Return the servers that a run of a job may use, as their files are now; none where it names none."""
        return choose(job.mcp.servers, self.shelves(job.workspace)) if job.mcp.servers else Chosen()

    def exempt(self, job: Job) -> tuple[str, ...]:
        """Return the tools that the user's own file exempts from approval, as patterns of full names."""
        return tuple(pattern for server in self.chosen(job).servers for pattern in server.exempt)

    def launch(self, server: Server, scene: Scene) -> Launch:
        """Return what starts a server for a run, or where it answers.

        Raises:
            ConfigError: It cannot be had here.
        """
        return self.launched(server, scene.job, scene.workspace)

    def launched(self, server: Server, job: Job, workspace: str) -> Launch:
        """Return the same for a run of a job that works in a workspace.

        Raises:
            ConfigError: It cannot be had here.
        """
        reading = _Reading(server, job, workspace, self)
        if server.url:
            url, headers = reading.text("url", server.url), reading.given("headers", server.headers)
            most = 2 * server.max_result_bytes + _OVERHEAD
            return Address(url, headers, allow_private=server.allow_private, max_body_bytes=most)
        env = self._environment(server, reading, workspace)
        command = self._at_home(reading.text("command", server.command))
        args = (reading.text(f"args[{at}]", arg) for at, arg in enumerate(server.args))
        cwd = Path(workspace, self._at_home(reading.text("cwd", server.cwd)))
        return Program((command, *args), env, cwd)

    def _environment(self, server: Server, reading: _Reading, workspace: str) -> dict[str, str]:
        given = reading.given("env", server.env)
        try:
            env = clean_environment(self.environ, given, untrusted=(Path(workspace),))
        except ConfigError as exc:
            raise reading.problem(exc.key, exc.message, exc.hint) from exc
        return {"HOME": str(self.places.home), **env}

    def _at_home(self, text: str) -> str:
        return f"{self.places.home}{text[1:]}" if text == "~" or text.startswith("~/") else text

    def learn(self, job: Job) -> None:
        """Get to know every secret that a job's servers are given, so that it is known before anything is written."""
        for server in self.chosen(job).servers:
            with suppress(ConfigError):
                self.launched(server, job, job.workspace)

    def lacks(self, job: Job) -> Iterator[str]:
        """Yield what keeps the servers of a job from being used, a sentence each; nothing is started."""
        if not job.mcp.servers:
            return
        chosen = self.chosen(job)
        yield from chosen.missing
        if not is_there():
            yield f"mcp.servers: {EXTRA}"
        for server in chosen.servers:
            yield from self.flaws(server, job)

    def flaws(self, server: Server, job: Job) -> Iterator[str]:
        """Yield what keeps one server from being started or reached, as far as that shows without trying."""
        try:
            launch = self.launched(server, job, job.workspace)
        except ConfigError as exc:
            yield exc.sentence
            return
        place = f"{server.path}: mcpServers.{server.name}"
        if isinstance(launch, Address):
            try:
                parse_url(launch.url, _PRIVATE if server.allow_private else _PUBLIC)
            except EgressRefusedError as exc:
                if not server.allow_private or exc.rule.startswith("url."):
                    is_yours = server.layer is Layer.USER and not server.allow_private
                    yield f"{place}.url: {exc}{_MAY_BE_PRIVATE if is_yours else ''}"
            return
        if not launch.cwd.is_dir():
            yield f"{place}.cwd: there is no directory {launch.cwd}"
        if shutil.which(str(_found(launch)), path=launch.env["PATH"]) is None:
            yield f"{place}.command: there is no program {launch.argv[0]} (PATH is {launch.env['PATH']})"


def _found(launch: Program) -> str:
    """Return a program as it is looked for: with a slash in it, from where it is started."""
    command = launch.argv[0]
    return os.path.join(launch.cwd, command) if "/" in command else command  # noqa: PTH118  # keeps a plain name plain


@dataclass(frozen=True, slots=True)
class _Reading:
    """Read the texts of one server's configuration for a run of one job."""

    server: Server
    job: Job
    workspace: str
    house: McpServers

    def problem(self, key: str, message: str, hint: str = "") -> ConfigError:
        """Return a complaint with its place."""
        return ConfigError(message, path=self.server.path, key=f"mcpServers.{self.server.name}.{key}", hint=hint)

    def text(self, key: str, text: str) -> str:
        """Return a text with its references replaced.

        Raises:
            ConfigError: One has no value.
        """
        refused = _USERS if self.server.layer is Layer.USER else _OTHERS
        try:
            return expanded(text, self._value, refused)
        except ConfigError as exc:
            raise self.problem(key, exc.message, exc.hint) from exc

    def given(self, key: str, values: Mapping[str, Given]) -> dict[str, str]:
        """Return variables or headers with their values, all that looks like a secret known to the vault.

        Raises:
            ConfigError: One has no value.
        """
        found = {name: self._given(f"{key}.{name}", value) for name, value in values.items()}
        for name, value in found.items():
            if SAYS_SECRET.search(name):
                known = f"{self.server.address}:{name}"
                self.house.vault.remember(known, value)
                self.house.vault.remember(known, SCHEME.sub("", value))
        return found

    def _given(self, place: str, value: Given) -> str:
        if not isinstance(value, SecretRef):
            return self.text(place, value)
        try:
            return self.house.vault.value(value, base=Path(self.server.path).parent)
        except ConfigError as exc:
            raise self.problem(place, exc.message, exc.hint) from exc

    def _value(self, name: str) -> str | None:
        """Return what a variable holds that this server's file may name; whatever it is, it is taken out of text."""
        if reference := self.job.env.get(name):
            return self.house.vault.value(reference)
        if name in _PLACES:
            return self.workspace if name == _WORKSPACE else str(self.house.places.home)
        if self.server.layer is Layer.USER:
            value = self.house.environ.get(name)
            if value is not None and name not in PLAIN:
                self.house.vault.remember(name, value)
            return value
        roots = {file.plugin: file.root for file in self.house.files.plugins}
        return str(roots[self.server.plugin]) if name in _ROOTS and self.server.plugin in roots else None


def servers_of(
    places: HousePlaces, environ: Mapping[str, str], vault: Vault, plugins: Plugins | None = None
) -> McpServers:
    """Return what knows the servers of this machine; nothing is read yet.

    Args:
        places: Of the service.
        environ: Of the service.
        vault: Learns what servers are given.
        plugins: Whose servers count, after the user's own.
    """
    enabled = plugins.enabled if plugins else ()
    brought = tuple(PluginFile(one.name, one.root, path) for one in enabled for path in one.servers)
    return McpServers(ServerFiles(places.home, brought), places, environ, vault)


@asynccontextmanager
async def dialled(address: Address) -> AsyncIterator[tuple[Any, Any]]:
    """Connect to a server over HTTP, by what is imported only now."""
    import asyncio
    import importlib

    found = await asyncio.to_thread(importlib.import_module, "kova_auto.net.mcp")
    async with found.streams(
        address.url, address.headers, allow_private=address.allow_private, max_body_bytes=address.max_body_bytes
    ) as streams:
        yield streams
