"""`kova-auto memory`: the notes that runs and people keep for later runs; looking at them, changing, bringing back."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kova_auto.cli.frame import FAILED, new_app
from kova_auto.cli.ink import ink
from kova_auto.cli.listing import listing
from kova_auto.cli.options import ConfigOption, JsonOption, now_of, settings_of
from kova_auto.cli.output import complain, say, say_json
from kova_auto.core.context.memory import MAIN_NOTE, MAX_NOTE_BYTES, Layer
from kova_auto.core.delivery.text import clean, one_line
from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.zone import parse_zone
from kova_auto.settings.environment import environment

if TYPE_CHECKING:
    from kova_auto.app.memory import Found, Memory

_ABOUT: Final = """\
List, show, search and edit the notes that outlive runs; forget them, and bring back what they held before.

Notes are Markdown files in .kova/memory of a workspace, for its runs, and in ~/.kova/memory, for all of them. The
workspace is the current directory unless --workspace names another. Jobs choose by [context] memory.
"""
_LIST: Final = """\
List the notes of a workspace and of the user, in the order in which a run is shown them, and how much of each.

With --global, the user's alone. With --json: an object with workspace, global, notes, problems.
"""
_SHOW: Final = """\
Show a note; with --version, what it held before.

With --json: an object with layer, name, path, version, text.
"""
_SEARCH: Final = """\
Search the notes of a workspace and of the user for words, daily ones too. Exits with 1 where nothing is found.

With --global, the user's alone. With --json: a list of objects with layer, name, line, text.
"""
_EDIT: Final = """\
Edit a note in $VISUAL or $EDITOR, or with - take all of it from standard input. One that is not there is begun.
"""
_FORGET: Final = "Move notes to the trash of their memory; kova-auto memory restore brings them back."
_HISTORY: Final = """\
List the versions of a note with whose doing each was; without a name, what is in the trash.

With --json: an object with layer, name, versions, trash.
"""
_RESTORE: Final = """\
Bring back a version of a note by its number; without one, what was in the trash or what the note held before.
"""

WorkspaceOption = Annotated[
    Path | None,
    typer.Option("--workspace", metavar="DIR", help="The workspace; else the current directory.", show_default=False),
]
GlobalOption = Annotated[bool, typer.Option("--global", help="The user's memory: ~/.kova/memory.")]
NameArgument = Annotated[str, typer.Argument(metavar="NOTE", help="As lessons.md, or daily/2026-12-01.md.")]

app = new_app(_ABOUT)


@contextmanager
def _opened(workspace: Path | None, config: Path | None) -> Iterator[Memory]:
    from kova_auto.app.memory import memory_of

    place = (workspace or Path()).absolute()
    if not place.is_dir():
        message = f"wanted a directory, found {'a file' if place.exists() else 'nothing'}"
        raise ConfigError(message, path=str(place), hint="--workspace names where runs work")
    with memory_of(settings_of(config), environment(), place.resolve()) as memory:
        yield memory


def _layer(workspace: Path | None, everywhere: bool) -> Layer:  # noqa: FBT001
    if everywhere and workspace is not None:
        message = "wanted one of --workspace and --global, found both"
        raise ConfigError(message)
    return Layer.GLOBAL if everywhere else Layer.WORKSPACE


def _layers(workspace: Path | None, everywhere: bool) -> tuple[Layer, ...]:  # noqa: FBT001
    return (Layer.GLOBAL,) if _layer(workspace, everywhere) is Layer.GLOBAL else tuple(Layer)


def _there(memory: Memory, layer: Layer, name: str) -> Found:
    """Return a note.

    Raises:
        ConfigError: It is not there.
    """
    found = memory.find(layer, name)
    if found is None:
        known = ", ".join(note.name for note in memory.notes((layer,))[0][:20]) or "none"
        hint = f"there are: {known}; kova-auto memory history {name} shows what it held before"
        message = "there is no such note"
        raise ConfigError(message, path=str(memory.directory(layer) / name), hint=hint)
    return found


@app.command("list", help=_LIST, short_help="List notes, and what runs are shown of them.")
def list_notes(
    *,
    workspace: WorkspaceOption = None,
    everywhere: GlobalOption = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show notes in a table."""
    from kova_auto.cli.memory_rows import HEAD, list_json, note_rows

    layers = _layers(workspace, everywhere)
    with _opened(workspace, config) as memory:
        notes, problems = memory.notes(layers)
        rows = note_rows(notes)
        if json:
            say_json(list_json(rows, problems, {layer: str(memory.directory(layer)) for layer in Layer}))
            return
    say(listing(HEAD, [row.cells for row in rows], ink()) if rows else "Nothing is kept here yet.")
    for problem in problems:
        complain(one_line(problem, 1000), "warning")


@app.command("show", help=_SHOW, short_help="Show a note, or what it held before.")
def show(
    name: NameArgument = MAIN_NOTE,
    *,
    version: Annotated[
        int | None, typer.Option("--version", metavar="NUMBER", help="As history lists them.", show_default=False)
    ] = None,
    workspace: WorkspaceOption = None,
    everywhere: GlobalOption = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show one note."""
    layer = _layer(workspace, everywhere)
    with _opened(workspace, config) as memory:
        path = memory.directory(layer) / name
        if version is None:
            text = _there(memory, layer, name).text
        else:
            kept = {one.version.number: one.text for one in memory.history(layer, name)}
            if version not in kept:
                there = ", ".join(map(str, kept)) or "none"
                message = f"there is no version {version} of it"
                raise ConfigError(message, path=str(path), hint=f"there are: {there}")
            text = kept[version]
    if json:
        say_json({"layer": layer, "name": name, "path": str(path), "version": version, "text": text})
    else:
        say(clean(text).rstrip("\n"))


@app.command("search", help=_SEARCH, short_help="Search notes for words.")
def search(
    context: typer.Context,
    query: Annotated[list[str], typer.Argument(metavar="WORD...", help="A line need not have all of them.")],
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100, help="How many lines at most.")] = 20,
    workspace: WorkspaceOption = None,
    everywhere: GlobalOption = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show the lines that were found, the best first."""
    layers = _layers(workspace, everywhere)
    with _opened(workspace, config) as memory:
        hits = memory.search(layers, " ".join(query), limit)
    if json:
        say_json(
            [
                {"layer": hit.note.layer, "name": hit.note.name, "line": hit.number, "text": hit.line}
                for hit in hits.found
            ]
        )
    else:
        for hit in hits.found:
            say(one_line(f"{hit.note.label}:{hit.number}: {hit.line}", 400))
    if hits.unsearched:
        complain(f"{hits.unsearched} notes were not searched: there is too much text", "warning")
    if not hits.found:
        complain("nothing was found", "")
        context.exit(FAILED)


@app.command("edit", help=_EDIT, short_help="Edit a note, or take it from standard input.")
def edit(
    context: typer.Context,
    name: NameArgument = MAIN_NOTE,
    source: Annotated[
        str | None, typer.Argument(metavar="-", help="Take it from standard input.", show_default=False)
    ] = None,
    *,
    workspace: WorkspaceOption = None,
    everywhere: GlobalOption = False,
    config: ConfigOption = None,
) -> None:
    """Write one note."""
    if source not in (None, "-"):
        message = f"wanted -, found {source!r}"
        raise ConfigError(message, hint=f"kova-auto memory edit {name} - < FILE")
    layer = _layer(workspace, everywhere)
    with _opened(workspace, config) as memory:
        found = memory.find(layer, name)
        if source == "-":
            changed = memory.write(layer, name, _given(name), now_of(context), over=found)
        else:
            from kova_auto.cli.editor import edited

            with edited(found.text if found else "", environment()) as text:
                changed = memory.write(layer, name, _some(text, name), now_of(context), over=found)
        path = memory.directory(layer) / name
    say(f"{'changed' if found else 'began'} {path}" if changed else f"nothing changed in {path}")


def _given(name: str) -> str:
    data = sys.stdin.buffer.read(MAX_NOTE_BYTES + 1)
    try:
        return _some(data.decode("utf-8-sig"), name)
    except UnicodeDecodeError as exc:
        message = f"wanted text in UTF-8 on standard input, found byte {data[exc.start]:#04x} at {exc.start}"
        raise ConfigError(message) from exc


def _some(text: str, name: str) -> str:
    if not text.strip():
        message = "wanted text for the note, found none; nothing was written"
        raise ConfigError(message, hint=f"kova-auto memory forget {name} moves it to the trash")
    return text if text.endswith("\n") else f"{text}\n"


@app.command("forget", help=_FORGET, short_help="Move notes to the trash.")
def forget(
    context: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="NOTE...", help="As lessons.md, or daily/2026-12-01.md.")],
    *,
    workspace: WorkspaceOption = None,
    everywhere: GlobalOption = False,
    config: ConfigOption = None,
) -> None:
    """Forget notes; where one is not there, none is touched."""
    layer = _layer(workspace, everywhere)
    with _opened(workspace, config) as memory:
        for found in [_there(memory, layer, name) for name in dict.fromkeys(names)]:
            memory.forget(layer, found, now_of(context))
            option = " --global" if everywhere else ""
            say(f"forgot {memory.directory(layer) / found.name} (kova-auto memory restore {found.name}{option})")


@app.command("history", help=_HISTORY, short_help="List what a note held before, or what is in the trash.")
def history(
    name: Annotated[
        str | None, typer.Argument(metavar="NOTE", help="Left out: what is in the trash.", show_default=False)
    ] = None,
    *,
    workspace: WorkspaceOption = None,
    everywhere: GlobalOption = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show versions in a table."""
    from kova_auto.cli.memory_rows import KEPT, TRASH, history_json, kept_rows, trash_rows

    layer = _layer(workspace, everywhere)
    with _opened(workspace, config) as memory:
        kept = memory.history(layer, name) if name else []
        trashed = [one for one in memory.trashed(layer) if name in (None, one.name)]
    if json:
        say_json(history_json(layer, name, kept, trashed))
        return
    zone = parse_zone(settings_of(config).timezone)
    if name:
        say(listing(KEPT, kept_rows(kept, zone), ink()) if kept else f"No version of {clean(name)} is kept.")
    else:
        say(listing(TRASH, trash_rows(trashed, zone), ink()) if trashed else "The trash is empty.")


@app.command("restore", help=_RESTORE, short_help="Bring back a version, or what was forgotten.")
def restore(
    context: typer.Context,
    name: NameArgument = MAIN_NOTE,
    version: Annotated[
        int | None, typer.Argument(metavar="NUMBER", help="As history lists them.", show_default=False)
    ] = None,
    *,
    workspace: WorkspaceOption = None,
    everywhere: GlobalOption = False,
    config: ConfigOption = None,
) -> None:
    """Write a version again."""
    layer = _layer(workspace, everywhere)
    with _opened(workspace, config) as memory:
        what = memory.restore(layer, name, version, now_of(context))
        say(f"restored {memory.directory(layer) / name} {what}")
