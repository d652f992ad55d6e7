"""Read the skills of a user and of plugins; those of a workspace, which anybody may have filled, are read elsewhere.

A link of the user's own may lead to a folder: people keep skills in a repository of their own. Within a folder nothing
leads out of it, and within a plugin nothing leads out of the plugin.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Final

from kova_auto.core.errors import ConfigError
from kova_auto.core.skills.check import skill_of
from kova_auto.core.skills.precedence import Broken
from kova_auto.core.skills.skill import FILES, FOLDERS, Layer, Skill, SkillFile
from kova_auto.core.skills.stray import Found, Stray, at_most, strays
from kova_auto.knowledge.files import read_trusted
from kova_auto.knowledge.frontmatter import split_mended

_MOST_ENTRIES: Final = 4_096
_MOST_KNOWN: Final = 32 * 1024
"""Characters of a file that is kept in mind as it was parsed."""


def user_skills(home: Path) -> Iterator[Found]:
    """Yield the skills of a user in the order of their places, and a sentence where one is not read."""
    for parts in FOLDERS:
        yield from _in_folder(home.joinpath(*parts), Layer.USER, f"~/{'/'.join(parts)}", home=home)


def plugin_skills(extra: Sequence[tuple[str, Path]], home: Path) -> Iterator[Found]:
    """Yield the skills of plugins.

    Args:
        extra: Name of each plugin, and a directory in it: of skills, or a skill itself.
        home: Of the user.
    """
    for name, folder in extra:
        within = f"plugin {name}"
        if (alone := _found(folder, Layer.PLUGIN, within, home)) is not None:
            yield alone
        else:
            yield from _in_folder(folder, Layer.PLUGIN, within, home=home)


def parse_skill(file: SkillFile) -> Skill | Broken:
    """Return the skill of a file, or what is wrong with it."""
    return _known(file) if len(file.text) <= _MOST_KNOWN else _parsed(file)


@lru_cache(maxsize=512)  # Each run is told of the same few.
def _known(file: SkillFile) -> Skill | Broken:
    return _parsed(file)


def _parsed(file: SkillFile) -> Skill | Broken:
    if file.problem:
        return Broken(file, ConfigError(file.problem, path=file.path))
    try:
        mended = split_mended(file.text, path=file.path)
        return skill_of(file, mended.matter.front, mended.matter.body, mended.matter.lines, mended.remarks)
    except ConfigError as exc:
        return Broken(file, exc)


def _in_folder(folder: Path, layer: Layer, within: str, *, home: Path) -> Iterator[Found]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in islice(entries, _MOST_ENTRIES) if not entry.name.startswith("."))
    except FileNotFoundError:
        return
    except OSError as exc:
        yield f"{within} is not read: {exc.strerror}"
        return
    found = (_found(folder / name, layer, within, home) or _stray(folder / name, within) for name in names)
    yield from at_most(within, (one for one in found if one))


def _found(entry: Path, layer: Layer, within: str, home: Path) -> SkillFile | None:
    """Return the skill in a folder; None where there is none."""
    file = next((name for name in FILES if os.path.exists(entry / name)), None)  # noqa: PTH110 -- no error where it may not be looked at
    if file is None:
        return None
    folder = Path(os.path.realpath(entry))
    text, problem = "", _leads_out(entry, folder, folder / file, layer, home)
    if not problem:
        try:
            text = read_trusted(Path(os.path.realpath(folder / file)), follow=False) or ""
        except ConfigError as exc:
            problem = exc.message
    if "\0" in text:
        text, problem = "", "wanted text, found a NUL in it"
    return SkillFile(layer, within, entry.name, str(folder), file, text, problem)


def _stray(entry: Path, within: str) -> Stray | None:
    def holds_skill(name: str) -> bool:
        return os.path.isfile(entry / name / FILES[0])  # noqa: PTH113 -- likewise

    try:
        with os.scandir(entry) as entries:
            names = sorted(one.name for one in islice(entries, _MOST_ENTRIES))
    except OSError:
        return None
    return strays(within, entry.name, names, holds_skill)


def _leads_out(entry: Path, folder: Path, path: Path, layer: Layer, home: Path) -> str:
    """Return why a folder's links are not followed; empty where they may be."""
    if home.is_relative_to(folder):
        return f"wanted a folder of its own, found a link to {folder}"
    if layer is Layer.PLUGIN and not folder.is_relative_to(os.path.realpath(entry.parent)):
        return "wanted a folder in the plugin, found a link that leads out of it"
    if not Path(os.path.realpath(path)).is_relative_to(folder):
        return "wanted a file in the skill's own folder, found a link that leads out of it"
    return ""
