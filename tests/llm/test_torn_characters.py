"""Characters whose two halves come in two pieces."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.llm.unicode import Pieces, joined, mended


def shown(*pieces: str) -> list[str]:
    collected = Pieces()
    return [*(collected.add(piece) for piece in pieces), collected.text()]


@pytest.mark.parametrize(
    ("pieces", "seen"),
    [
        (("a", "b"), ["a", "b", "ab"]),
        (("a\ud83d", "\ude80b"), ["a", "🚀b", "a🚀b"]),
        (("\ud83d", "", "\ude80"), ["", "", "🚀", "🚀"]),
        (("\ud83d\ude80",), ["🚀", "🚀"]),
        (("\ud83d", "x"), ["", "\ufffdx", "\ufffdx"]),
        (("\ude80",), ["\ufffd", "\ufffd"]),
        (("a\ud83d",), ["a", "a\ufffd"]),
        (("\ud83d", "\ud83d", "\ude80"), ["", "\ufffd", "🚀", "\ufffd🚀"]),
        (("", "é"), ["", "é", "é"]),
    ],
)
def test_halves_wait_for_each_other(pieces: tuple[str, ...], seen: list[str]) -> None:
    assert shown(*pieces) == seen


@settings(deadline=None)
@given(st.text(), st.data())
def test_text_that_is_cut_by_utf16_units_comes_back(text: str, data: st.DataObject) -> None:
    units = text.encode("utf-16-le")
    cut = 2 * data.draw(st.integers(0, len(units) // 2))
    halves = [units[:cut].decode("utf-16-le", "surrogatepass"), units[cut:].decode("utf-16-le", "surrogatepass")]
    assert shown(*halves)[-1] == text
    assert mended(joined(*halves)) == text
