"""The page on the model in this process says what the code does."""

from __future__ import annotations

from kova_auto.app.shelf import ModelRow
from kova_auto.core.provider import BUILT_IN
from kova_auto.llm.capability import capability
from kova_auto.llm.local.actions import MOST_CALLS
from kova_auto.llm.local.engine import MOST_THREADS
from kova_auto.llm.local.weights import EXTRA, SMOLLM2
from tests.docs.pages import codes, table, text_of

PAGE = "docs/local.md"


def test_the_names_of_a_model_are_those_that_json_writes() -> None:
    written = [name for row in table(PAGE, "Which models there are").body for name in codes(row[0])]
    assert written == list(ModelRow.model_fields)


def test_the_bounds_are_those_of_the_code() -> None:
    known = capability(BUILT_IN["local"], SMOLLM2.model)
    said = " ".join(text_of(PAGE).split())
    assert f"Its window is {known.window:,} tokens, of which {known.max_output} are for its answer" in said
    assert f"it was trained for {SMOLLM2.window:,} tokens" in said
    assert (MOST_CALLS, MOST_THREADS) == (3, 4)
    assert "three calls" in said
    assert "at most four" in said
    assert EXTRA in said
