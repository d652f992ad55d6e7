"""Find the files that configure MCP servers: the user's, those of plugins, and the workspace's.

The user's own are trusted as far as they are the user's; all others come with what was installed or cloned, and are
read as such.

Source: reference on the original, section 9.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from kova_auto.core.errors import ConfigError
from kova_auto.core.mcp.document import parse_servers
from kova_auto.core.mcp.names import is_server_name
from kova_auto.core.mcp.roster import Shelf
from kova_auto.core.mcp.server import Layer
from kova_auto.knowledge.files import read_beneath, read_trusted
from kova_auto.knowledge.permissions import FOLDER

FILE: Final = "mcp.json"
COMMON: Final = ".mcp.json"
"""Where all clients look, directly in a workspace."""
_NAMED_BY_US: Final = frozenset(layer.value for layer in Layer)


@dataclass(frozen=True, slots=True)
class PluginFile:
    """Name a file that a plugin brings; it lies within the plugin's folder, which is canonical."""

    plugin: str
    root: Path
    path: Path


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """Know where the files are, and what they say now.

    Attributes:
        home: Of the service's user; canonical.
        plugins: In the order of the settings.
    """

    home: Path
    plugins: tuple[PluginFile, ...] = ()

    @property
    def users(self) -> Path:
        """Return the user's own file."""
        return self.home / FOLDER / FILE

    def shelves(self, workspace: Path) -> tuple[Shelf, ...]:
        """Return what each file configures, in the order in which they count; those that are not there are left out."""
        return tuple(self._shelves(Path(os.path.realpath(workspace))))

    def _shelves(self, workspace: Path) -> Iterator[Shelf]:
        yield from _read(Layer.USER, self.users, lambda: read_trusted(self.users, follow=True))
        for file in self.plugins:
            yield from _of_plugin(file)
        for names in ((FOLDER, FILE), (COMMON,)):
            path = workspace.joinpath(*names)
            if path != self.users:  # The workspace may be the user's home.
                yield from _read(Layer.WORKSPACE, path, partial(read_beneath, workspace, *names))


def _of_plugin(file: PluginFile) -> Iterator[Shelf]:
    if file.plugin in _NAMED_BY_US or not is_server_name(file.plugin):
        message = f"a plugin named {file.plugin!r} brings no MCP servers: their tools could not be told from others"
        problem = ConfigError(message, path=str(file.path), hint="rename the plugin")
        yield Shelf(Layer.PLUGIN, str(file.path), file.plugin, problems=(problem,))
        return
    names = file.path.relative_to(file.root).parts
    yield from _read(Layer.PLUGIN, file.path, lambda: read_beneath(file.root, *names), file.plugin)


def _read(layer: Layer, path: Path, read: Callable[[], str | None], plugin: str = "") -> Iterator[Shelf]:
    try:
        text = read()
    except ConfigError as exc:
        yield Shelf(layer, str(path), plugin, problems=(exc,), is_unread=True)
        return
    if text is not None:
        yield parse_servers(text, str(path), layer, plugin)
