"""Read the definitions of subagents: the user's own, those of plugins, and those of a workspace, which nobody trusts.

What is no definition is passed over; a file that is to be one and is not keeps its name, and says why. The user's files
may be reached by links, as people keep them in a repository of their own; everywhere else no link is followed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePath
from typing import Final

from kova_auto.core.delivery.text import one_line
from kova_auto.core.errors import ConfigError
from kova_auto.core.subagents.built_in import BUILT_IN
from kova_auto.core.subagents.definition import Layer
from kova_auto.core.subagents.reading import Written, name_of, parse_definition
from kova_auto.core.subagents.roster import Broken, Defined, Layers, Shelf
from kova_auto.knowledge.files import names_beneath, read_beneath, read_trusted
from kova_auto.knowledge.frontmatter import FENCE, split_mended, whole
from kova_auto.knowledge.permissions import FOLDER

SUBAGENTS: Final = "subagents"
ELSEWHERE: Final = (".claude", "agents")
"""Where a workspace keeps definitions for Claude Code."""
MOST_FILES: Final = 32
"""So many files of one layer are read at most; of plugins, of each."""
YAML: Final = (".yml", ".yaml")
MARKDOWN: Final = (".md",)

_NO_DEFINITIONS: Final = frozenset({"readme", "changelog", "license", "contributing", "index"})
_SELDOM_DEFINITIONS: Final = frozenset({"agents", "claude", "gemini", "security"})
"""Markdown of these names is a definition where it begins with front matter."""
_FORMS_OF_OTHERS: Final = (*YAML, ".toml", ".json", ".mdc")
_NAME_LINE: Final = re.compile(r"^name:[ \t]*[\"']?([^\"'\r\n]{1,200})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PluginAgents:
    """Say where a plugin's definitions lie.

    Attributes:
        name: Of the plugin.
        root: Its directory.
        places: Directories and files beneath it, relative; nothing leads out of it.
    """

    name: str
    root: Path
    places: tuple[str, ...] = ("agents",)


@dataclass(frozen=True, slots=True)
class Definitions:
    """Know where definitions lie, and what the settings say of them.

    Attributes:
        home: Of the service's user; canonical.
        plugins: That the settings enable, in their order.
        disabled: See `Layers`.
        models: See `Layers`.
    """

    home: Path
    plugins: tuple[PluginAgents, ...] = ()
    disabled: tuple[str, ...] = ()
    models: Mapping[str, str] = field(default_factory=dict)

    def of(self, workspace: Path | None) -> Layers:
        """Return everything that is defined, as the files are now.

        Args:
            workspace: Where a run works, or a copy of it; None for what is defined everywhere.
        """
        shelves = [BUILT_IN, self._own(), *map(definitions_of, self.plugins)]
        if workspace is not None:
            shelves.append(self._of_workspace(workspace))
        return Layers(tuple(shelves), self.disabled, self.models)

    def _own(self) -> Shelf:
        folder = self.home / FOLDER / SUBAGENTS
        found = _Found(Layer.USER)
        found.add(_Place(folder, partial(names_beneath, folder), lambda name: read_trusted(folder / name, follow=True)))
        return found.shelf()

    def _of_workspace(self, workspace: Path) -> Shelf:
        found = _Found(Layer.WORKSPACE)
        if os.path.realpath(workspace) != os.path.realpath(self.home):  # else these are the user's own
            found.add(_beneath(workspace, (FOLDER, SUBAGENTS)))
        found.add(_beneath(workspace, ELSEWHERE), MARKDOWN)
        return found.shelf()


def definitions_at(path: Path) -> Shelf:
    """Return what a file or a folder defines that a person names.

    Raises:
        ConfigError: There is no such file.
    """
    real = Path(os.path.realpath(path))
    found = _Found(Layer.USER)
    if real.is_dir():
        found.add(replace(_beneath(real, ()), path=path))
    elif real.suffix.lower() not in YAML + MARKDOWN:
        message = f"wanted a file that ends in {', '.join(YAML + MARKDOWN)}, or a folder of them"
        raise ConfigError(message, path=str(path))
    elif not real.exists():
        message = "there is no such file"
        raise ConfigError(message, path=str(path))
    else:
        found.read(replace(_beneath(real.parent, ()), path=path.parent), real.name)
    return found.shelf()


def definitions_of(plugin: PluginAgents) -> Shelf:
    """Return what a plugin defines, as its files are now."""
    found = _Found(Layer.PLUGIN, plugin.name)
    for place in plugin.places:
        parts = PurePath(place).parts
        if parts and PurePath(place).suffix.lower() in YAML + MARKDOWN:
            found.read(_beneath(plugin.root, parts[:-1]), parts[-1])
        else:
            found.add(_beneath(plugin.root, parts))
    return found.shelf()


@dataclass(frozen=True, slots=True)
class _Place:
    """Be a directory whose files are read in its own way."""

    path: Path
    names: Callable[..., Sequence[str]]
    text: Callable[[str], str | None]


def _beneath(root: Path, parts: tuple[str, ...]) -> _Place:
    """Return a directory in one that anybody may have filled."""
    return _Place(
        root.joinpath(*parts), partial(names_beneath, root, *parts), lambda name: read_beneath(root, *parts, name)
    )


@dataclass
class _Found:
    """Collect what one layer defines."""

    layer: Layer
    plugin: str = ""
    files: set[str] = field(default_factory=set)
    unread: str = ""
    defined: dict[str, Defined] = field(default_factory=dict)
    broken: dict[str, Broken] = field(default_factory=dict)
    problems: list[ConfigError] = field(default_factory=list)

    def shelf(self) -> Shelf:
        if self.unread:
            message = (
                f"is not read, as are all after it: wanted at most {MOST_FILES} definitions, found {len(self.files)}"
            )
            self.problems.append(ConfigError(message, path=self.unread))
        defined = tuple(self.defined[name] for name in sorted(self.defined))
        broken = tuple(self.broken[name] for name in sorted(self.broken))
        return Shelf(self.layer, self.plugin, defined, broken, tuple(self.problems))

    def add(self, place: _Place, endings: tuple[str, ...] = YAML + MARKDOWN) -> None:
        """Read the definitions that lie directly in a directory."""
        try:
            names = place.names()
        except ConfigError as exc:
            self.problems.append(exc)
            return
        for name in names:
            if _is_definition(name, endings):
                self.read(place, name)
            elif why := _why_unread(place, name, endings):
                self.problems.append(ConfigError(why, path=str(place.path / name)))

    def read(self, place: _Place, name: str) -> None:
        """Read one file, once; one that has just been removed defines nothing."""
        path, stem = str(place.path / name), PurePath(name).stem
        if path in self.files or (stem.lower() in _SELDOM_DEFINITIONS and not _has_front(place, name)):
            return
        self.files.add(path)
        if len(self.files) > MOST_FILES:
            self.unread = self.unread or path
            return
        try:
            text = place.text(name)
        except ConfigError as exc:
            self._break(stem, exc)
            return
        if text is None:
            return
        try:
            written, remarks = _written(text, path, stem)
        except ConfigError as exc:
            self._break(_name_in(text) or stem, exc)
            return
        try:
            defined = parse_definition(written, self.layer, self.plugin)
        except ConfigError as exc:
            self._break(name_of(written), exc)
            return
        if self._is_new(defined.agent.name, path):
            self.defined[defined.agent.name] = replace(defined, problems=(*remarks, *defined.problems))

    def _break(self, name: str, why: ConfigError) -> None:
        known = name.strip().lower()
        if self._is_new(known, why.path):
            self.broken[known] = Broken(known, why)

    def _is_new(self, name: str, path: str) -> bool:
        first = self.defined.get(name) or self.broken.get(name)
        if first is None:
            return True
        where = first.agent.path if isinstance(first, Defined) else first.problem.path
        message = f"{one_line(name, 64)} is defined in {where} already: this one does not count"
        self.problems.append(ConfigError(message, path=path))
        return False


def _written(text: str, path: str, stem: str) -> tuple[Written, tuple[ConfigError, ...]]:
    """Return what a file says, and what had to be mended in it.

    Raises:
        ConfigError: It cannot be read.
    """
    if path.lower().endswith(YAML):
        matter = whole(text, path=path)
        return Written(matter.front, matter.lines, None, path, stem), ()
    mended = split_mended(text, path=path)
    front, body, lines = mended.matter
    return Written(front, lines, body, path, stem), mended.remarks


def _is_definition(name: str, endings: tuple[str, ...]) -> bool:
    pure = PurePath(name)
    if name.startswith(".") or pure.suffix.lower() not in endings:
        return False
    return not (pure.suffix.lower() in MARKDOWN and pure.stem.lower() in _NO_DEFINITIONS)


def _has_front(place: _Place, name: str) -> bool:
    """Say whether a file begins as a definition does, or is YAML."""
    try:
        return name.lower().endswith(YAML) or (place.text(name) or "").startswith(FENCE)
    except ConfigError:
        return False


def _why_unread(place: _Place, name: str, endings: tuple[str, ...]) -> str:
    """Return why what somebody may have meant as a definition is none; empty where nobody did."""
    if name.startswith("."):
        return ""
    if PurePath(name).suffix.lower() in _FORMS_OF_OTHERS:
        return f"is not read: definitions here end in {', '.join(endings)}"
    try:
        below = [] if PurePath(name).suffix else place.names(name)
    except ConfigError:
        return ""
    is_full = any(_is_definition(one, endings) for one in below)
    return "is not read: definitions lie directly in the folder above it; move them there" if is_full else ""


def _name_in(text: str) -> str:
    found = _NAME_LINE.search(text[:4096])
    return found[1].strip() if found else ""
