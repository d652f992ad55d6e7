"""What "auto" means to a job that nobody looks at stays the model that it was."""

from __future__ import annotations

import pytest

from kova_auto.core.keeping import stays_with
from kova_auto.core.view import RunRow, run_row
from tests.story import Story
from tests.support import a_request, says


def ran(model: str, *, replies: bool = True, scripted: bool = False) -> RunRow:
    """Return the row of a run that has ended."""
    story = Story(a_request(model=model, scripted=scripted))
    ended = (story.says(says("Done.")) if replies else story.fails()).ends()
    return run_row(ended.state).model_copy(update={"model": model})


def test_a_job_stays_with_the_model_of_its_last_run() -> None:
    last = ran("test/small")

    assert stays_with("test/big", [last, ran("test/big")]) == last


@pytest.mark.parametrize(
    "last_runs",
    [
        pytest.param([], id="it never ran"),
        pytest.param([ran("test/big")], id="it is the same"),
        pytest.param([ran("test/big"), ran("test/small")], id="it was moved"),
        pytest.param([ran("test/small", replies=False)], id="the model never answered"),
        pytest.param([ran("none", replies=False)], id="there was no model"),
        pytest.param([ran("scripted/look", scripted=True)], id="a script was played"),
    ],
)
def test_nothing_is_kept_that_is_no_other_model(last_runs: list[RunRow]) -> None:
    assert stays_with("test/big", last_runs) is None


def test_runs_in_which_no_model_answered_are_looked_past() -> None:
    last = ran("test/small")

    assert stays_with("test/big", [ran("scripted/look", scripted=True), ran("test/other", replies=False), last]) == last
