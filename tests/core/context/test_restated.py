"""What a loaded skill says survives the folding of older iterations, whole as long as there is room."""

from __future__ import annotations

import pytest

from kova_auto.core.context.compaction import LESS, next_compaction, restatable, size_after
from kova_auto.core.context.restated import chars_loaded, restated
from kova_auto.core.context.summing import shown
from kova_auto.core.event import Event
from kova_auto.core.message import TextPart
from kova_auto.core.run import RunState
from kova_auto.core.skill_facts import UsedSkill
from kova_auto.core.steps import Compact
from tests.core.context.foldings import SMALL, after, context, filled, folded, looked
from tests.core.facts import acquired, run_of

TITLE = "Skills that you have loaded; their instructions still hold:"


def loads(iteration: int, name: str, text: str, counted: int = 9_000) -> list[Event]:
    """Return the facts of an iteration that loads a skill."""
    result = {"skill": UsedSkill(name=name, folder=f"/w/{name}"), "parts": (TextPart(text=text),)}
    return looked(iteration, counted, result=result)


def a_run(*iterations: list[Event]) -> RunState:
    return run_of(acquired(), context(), [event for facts in iterations for event in facts], pins=(SMALL,))


def test_a_run_without_skills_says_nothing_again() -> None:
    assert restated(filled(6, 9_000), 4, 10_000) == ""
    assert chars_loaded(filled(6, 9_000)) == 0


def test_what_is_folded_is_said_again_whole_and_what_stays_is_not() -> None:
    state = a_run(loads(1, "notes", "Sort them."), looked(2, 9_000), loads(3, "style", "Be brief."), looked(4, 9_000))

    assert restated(state, 2, 10_000) == f"{TITLE}\n\nSort them."
    assert restated(state, 3, 10_000) == f"{TITLE}\n\nSort them.\n\nBe brief."
    assert chars_loaded(state) == len("Sort them.Be brief.")


def test_of_a_skill_that_was_loaded_twice_only_the_newest_counts() -> None:
    state = a_run(loads(1, "notes", "Old."), loads(2, "notes", "New."), looked(3, 9_000))

    assert restated(state, 2, 10_000) == f"{TITLE}\n\nNew."
    assert restated(state, 1, 10_000) == ""


@pytest.mark.parametrize("most", [300, 1_000, 5_000])
def test_long_ones_lose_their_middle_and_short_ones_stay_whole(most: int) -> None:
    state = a_run(loads(1, "long", "x" * 9_000), loads(2, "short", "Be brief."), looked(3, 9_000))
    text = restated(state, 3, most)

    assert text.endswith("\n\nBe brief.")
    assert "; use_skill gives all of long ...]" in text
    assert len(text) <= most + len(TITLE) + 4


def test_a_compaction_says_them_again_behind_its_summary_each_time() -> None:
    state = a_run(loads(1, "notes", "Sort them."), *(looked(number, 9_000) for number in range(2, 7)))
    step = Compact(4, "threshold", 9_000, "test/model", words=300)
    text = shown(state, step, "I looked.", ())
    again = after(folded(state, step, summary=text), looked(7, 9_000))

    assert f"{TITLE}\n\nSort them.\n\n[Go on with the job" in text
    assert f"{TITLE}\n\nSort them.\n\n[Go on" in shown(again, Compact(6, "threshold", 9_000, "test/model"), "More.", ())
    assert f"{TITLE}\n\nSort them.\n\n[Go on" in shown(again, Compact(6, "threshold", 9_000), "", ())


def test_at_most_a_quarter_of_a_request_is_taken_and_a_compaction_still_helps() -> None:
    state = a_run(loads(1, "huge", "x" * 60_000), *(looked(number, 9_000) for number in range(2, 7)))
    step = next_compaction(state, SMALL)

    assert step is not None
    assert restatable(state, step) == 8_000
    text = shown(state, step, "I looked.", ())
    assert "; use_skill gives all of huge ...]" in text
    assert size_after(state, step.through, text) <= LESS * step.tokens
