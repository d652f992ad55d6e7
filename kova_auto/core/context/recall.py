"""Make of a memory's notes, and of what a job's earlier runs reported, what a run is shown of them."""

from __future__ import annotations

from collections.abc import Sequence

from kova_auto.core.context.briefing import NOTHING, Briefing
from kova_auto.core.context.digest import Digest
from kova_auto.core.context.memory import Note, chosen, in_order, injected
from kova_auto.core.context.stamp import untrusted
from kova_auto.core.source import Source, SourceKind

EARLIER = "earlier runs of this job"


def recalled(notes: Sequence[Note], unread: Sequence[str], *, may_write: bool) -> Briefing:
    """Return what a run is shown of its memory.

    Args:
        notes: Of the layers that its job names, without secrets.
        unread: A sentence for each note that could not be read.
        may_write: Whether the run may write notes.
    """
    shown, omitted = chosen(notes)
    whole = {note.label: note.text.strip() for note in notes}
    sources = [_source(note.label, len(note.text), cut=note.text != whole[note.label]) for note in shown]
    sources += [_source(note.label, 0, cut=True) for note in omitted]
    told = injected(notes, may_write=may_write)
    labels = {note.label for note in shown}
    taints = untrusted(note for note in in_order(notes) if note.label in labels)  # whole: a stamp may be cut out
    return Briefing(memory=told, sources=tuple(sources), remarks=tuple(unread), taints=taints)


def recounted(digest: Digest) -> Briefing:
    """Return what a run is shown of those before it."""
    if not digest.text:
        return NOTHING
    source = Source(kind=SourceKind.DIGEST, name=EARLIER, chars=len(digest.text))
    return Briefing(digest=digest.text, sources=(source,), taints=digest.tainted_by)


def _source(label: str, chars: int, *, cut: bool) -> Source:
    return Source(kind=SourceKind.MEMORY, name=label, chars=chars, cut=cut)
