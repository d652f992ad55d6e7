"""What a run is shown of its memory, and of the runs before it, is on record piece by piece."""

from __future__ import annotations

from kova_auto.core.context.briefing import NOTHING, Briefing
from kova_auto.core.context.digest import NO_DIGEST, Digest
from kova_auto.core.context.memory import SHOWN_PER_NOTE, Layer, Note
from kova_auto.core.context.recall import recalled, recounted
from kova_auto.core.context.stamp import stamp
from kova_auto.core.ids import RunId
from kova_auto.core.source import Source, SourceKind
from tests.support import at

MAIN = Note(Layer.WORKSPACE, "MEMORY.md", "The tests run with make check.\n")
LONG = [Note(Layer.GLOBAL, f"{name}.md", name * 9_000) for name in "abc"]


def of_memory(name: str, chars: int, *, cut: bool = False) -> Source:
    return Source(kind=SourceKind.MEMORY, name=name, chars=chars, cut=cut)


def test_each_note_that_is_shown_is_named_and_so_is_one_that_no_longer_fits() -> None:
    brief = recalled([*LONG, MAIN], [], may_write=False)

    assert "make check" in brief.memory
    assert brief.sources == (
        of_memory("workspace/MEMORY.md", 30),
        of_memory("global/a.md", SHOWN_PER_NOTE, cut=True),
        of_memory("global/b.md", SHOWN_PER_NOTE, cut=True),
        of_memory("global/c.md", 0, cut=True),
    )


def test_a_note_that_cannot_be_read_is_said_behind_the_prompt() -> None:
    brief = recalled([MAIN], ["The note workspace/b.md is not read: wanted text."], may_write=False)

    assert brief.notices == ("[The note workspace/b.md is not read: wanted text.]",)


def test_only_a_run_that_may_write_notes_is_told_how() -> None:
    assert "memory_write" in recalled([MAIN], [], may_write=True).memory
    assert "memory_write" not in recalled([MAIN], [], may_write=False).memory


def test_a_note_of_a_tainted_run_taints_the_run_that_is_shown_it_whatever_of_it_is_cut() -> None:
    kept = f"{stamp(at('06:00:00'), RunId('look@1'), 'a page of x.org')}\n"
    cut = Note(Layer.WORKSPACE, "MEMORY.md", f"{'x' * 9_000}\n{kept}{'x' * 9_000}")
    daily = Note(Layer.WORKSPACE, "daily/x.md", kept)

    taints = "the note workspace/MEMORY.md, kept after reading a page of x.org"
    assert recalled([MAIN, daily], [], may_write=True).taints == ""
    assert recalled([cut], [], may_write=True).taints == taints


def test_nothing_to_remember_is_nothing() -> None:
    assert recalled([Note(Layer.WORKSPACE, "MEMORY.md", " \n")], [], may_write=True) == NOTHING
    assert recounted(NO_DIGEST) == NOTHING


def test_what_an_earlier_run_reported_taints_the_run_that_is_shown_it() -> None:
    assert recounted(Digest("It was fine.", "the web page https://example.org")) == Briefing(
        digest="It was fine.",
        sources=(Source(kind=SourceKind.DIGEST, name="earlier runs of this job", chars=12),),
        taints="the web page https://example.org",
    )
