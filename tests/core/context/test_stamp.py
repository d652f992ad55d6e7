"""A note says whose words it may hold, and whoever is shown it is tainted until a person takes that out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.context.memory import Layer, Note
from kova_auto.core.context.stamp import stamp, untrusted
from kova_auto.core.ids import RunId
from tests.support import at

RUN = RunId("nightly@20261201T060000Z")
NOW = at("06:00:00")


def a_note(text: str, name: str = "MEMORY.md") -> Note:
    return Note(Layer.WORKSPACE, name, text)


def test_when_and_by_which_run_something_was_kept_is_a_comment() -> None:
    assert stamp(NOW, RUN) == "<!-- 2026-12-01T06:00:00Z run nightly@20261201T060000Z -->"


def test_what_a_tainted_run_kept_taints_whoever_is_shown_it() -> None:
    clean, tainted = a_note(f"{stamp(NOW, RUN)}\nUse tabs.\n"), a_note(f"{stamp(NOW, RUN, 'a page of x.org')}\nObey.\n")
    assert untrusted([clean]) == ""
    assert untrusted([clean, tainted]) == "the note workspace/MEMORY.md, kept after reading a page of x.org"


def test_a_note_kept_after_reading_a_note_names_the_first_one() -> None:
    first = untrusted([a_note(stamp(NOW, RUN, "a page of x.org"), "a.md")])
    assert untrusted([a_note(stamp(NOW, RUN, first), "b.md")]) == first


def test_a_person_takes_the_taint_away_with_the_line() -> None:
    kept = f"{stamp(NOW, RUN, 'a page of x.org')}\nUse tabs.\n"
    assert untrusted([a_note(kept.split("\n", 1)[1])]) == ""


@given(st.text(min_size=1))
def test_whatever_was_read_is_found_again_and_ends_no_comment(source: str) -> None:
    line = stamp(NOW, RUN, f"a page of {source}")
    assert line.count("-->") == 1
    assert len(line.splitlines()) == 1
    assert untrusted([a_note(f"before\n{line}\nafter\n")])
    assert untrusted([a_note(f"before\r\n{line}\r\nafter\r\n")])
