"""Read the notes of a memory's layers: a user's own directory, and that of a workspace, which anybody may have filled.

What is no note is passed over; a note that cannot be read is left out, and a notice says why. Nothing here is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kova_auto.core.context.memory import BENEATH, DAILY, ENDING, MAIN_NOTE, Layer, Note, wrong_name
from kova_auto.core.errors import ConfigError
from kova_auto.core.permissions import shown
from kova_auto.knowledge.files import names_beneath, read_beneath

MAX_NOTES: Final = 500
"""So many notes of one directory are read at most."""


def global_memory(home: Path) -> Path:
    """Return the directory of the global layer."""
    return home.joinpath(*BENEATH)


def workspace_memory(workspace: Path) -> Path:
    """Return the directory of a workspace's layer."""
    return workspace.joinpath(*BENEATH)


def read_layer(directory: Path, layer: Layer, *, daily: bool = False) -> tuple[tuple[Note, ...], tuple[str, ...]]:
    """Return the notes of a layer by name, and a sentence for each that is left out; nothing where there is none.

    Args:
        directory: As `global_memory` or `workspace_memory` names it. A link may lead to the user's own one; in a
            workspace none is followed.
        layer: Which one it is.
        daily: Whether those in `daily/` are read as well.
    """
    root, beneath = (directory, ()) if layer is Layer.GLOBAL else (directory.parent.parent, BENEATH)
    notes: list[Note] = []
    notices: list[str] = []
    for folder in ("", DAILY) if daily else ("",):
        try:
            names, more = _names(root, beneath, folder)
        except ConfigError as exc:
            notices.append(f"The {layer} memory is not read: {exc.path}: {exc.message}.")
            continue
        notices += (f"The note {shown(f'{layer}/{name}')} is not read: {why}." for name, why in _misnamed(names))
        for name in (name for name in names if not wrong_name(name)):
            try:
                notes += _read(root, beneath, layer, name)
            except ConfigError as exc:
                notices.append(f"The note {layer}/{name} is not read: {exc.message}.")
        if more:
            notices.append(f"The {layer} memory has more than {MAX_NOTES} files; {more} are not read.")
    return tuple(notes), tuple(notices)


def _names(root: Path, beneath: tuple[str, ...], folder: str) -> tuple[list[str], int]:
    """Return the names of the Markdown files of a directory, and how many there are besides.

    `MEMORY.md` comes first. Daily notes are named by their days: where there are too many, the newest are read.
    """
    below = (*beneath, folder) if folder else beneath
    found = [name for name in names_beneath(root, *below) if name.endswith(ENDING) and not name.startswith(".")]
    found.sort(key=lambda name: (name != MAIN_NOTE, name))
    prefix = f"{folder}/" if folder else ""
    kept = found[-MAX_NOTES:] if folder else found[:MAX_NOTES]
    return [prefix + name for name in kept], len(found) - len(kept)


def _misnamed(names: list[str]) -> Iterator[tuple[str, str]]:
    yield from ((name, why) for name in names if (why := wrong_name(name)))


def _read(root: Path, beneath: tuple[str, ...], layer: Layer, name: str) -> Iterator[Note]:
    """Yield the note; nothing where it has just been removed.

    Raises:
        ConfigError: It cannot be read.
    """
    text = read_beneath(root, *beneath, *name.split("/"))
    if text is None:
        return
    if "\0" in text:
        message = "wanted text, found a NUL in it"
        raise ConfigError(message)
    yield Note(layer, name, text)
