"""Show notes: what runs are shown of each, which versions are kept, and what is in the trash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from kova_auto.cli.job_rows import JsonDict
from kova_auto.core.context.memory import Layer, Note, chosen, in_order
from kova_auto.core.context.versions import Trashed

if TYPE_CHECKING:
    from kova_auto.app.memory import Kept

HEAD: Final = ("LAYER", "CHARACTERS", "SHOWN", "NOTE")
KEPT: Final = ("NUMBER", "KEPT AT", "CHARACTERS", "BY")
TRASH: Final = ("NUMBER", "FORGOTTEN AT", "NOTE")


@dataclass(frozen=True, slots=True)
class NoteRow:
    """Hold one note; `shown` is `whole`, `shortened`, `no room`, `empty` or `by search`."""

    note: Note
    shown: str

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the row as a person reads it."""
        return self.note.layer, str(len(self.note.text)), self.shown, self.note.name

    @property
    def json(self) -> JsonDict:
        """Return the row as a program reads it; the names stay."""
        note = self.note
        return {"layer": note.layer, "name": note.name, "characters": len(note.text), "shown": self.shown}


def note_rows(notes: Sequence[Note]) -> list[NoteRow]:
    """Return the notes in their order, each with what a run of all these layers is shown of it."""
    shown, omitted = chosen(notes)
    texts = {note.label: note.text for note in shown}
    left = {note.label for note in omitted}
    return [NoteRow(note, _shown(note, texts, left)) for note in in_order(notes)]


def _shown(note: Note, texts: Mapping[str, str], left: set[str]) -> str:
    if "/" in note.name:
        return "by search"
    if note.label in left:
        return "no room"
    if note.label not in texts:
        return "empty"
    return "whole" if texts[note.label] == note.text.strip() else "shortened"


def list_json(rows: Sequence[NoteRow], problems: Sequence[str], places: Mapping[Layer, str]) -> JsonDict:
    """Return a list of notes as a program reads it."""
    return {
        "workspace": places[Layer.WORKSPACE],
        "global": places[Layer.GLOBAL],
        "notes": [row.json for row in rows],
        "problems": list(problems),
    }


def kept_rows(kept: Sequence[Kept], zone: ZoneInfo) -> list[tuple[str, ...]]:
    """Return versions as a person in a zone reads them, the newest first."""
    return [
        (str(one.version.number), _clock(one.version.at, zone), str(len(one.text)), one.version.source)
        for one in reversed(kept)
    ]


def trash_rows(trashed: Sequence[Trashed], zone: ZoneInfo) -> list[tuple[str, ...]]:
    """Return what is in the trash as a person in a zone reads it, the newest first."""
    return [(str(one.number), _clock(one.at, zone), one.name) for one in reversed(trashed)]


def history_json(layer: Layer, name: str | None, kept: Sequence[Kept], trashed: Sequence[Trashed]) -> JsonDict:
    """Return versions and trash as a program reads them, oldest first."""
    return {
        "layer": layer,
        "name": name,
        "versions": [
            {
                "number": one.version.number,
                "at": _stamp(one.version.at),
                "by": one.version.source,
                "characters": len(one.text),
            }
            for one in kept
        ],
        "trash": [{"number": one.number, "at": _stamp(one.at), "name": one.name} for one in trashed],
    }


def _clock(at: datetime, zone: ZoneInfo) -> str:
    return f"{at.astimezone(zone):%Y-%m-%d %H:%M}"


def _stamp(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
