"""Summaries that admit what is left, and those that only sound like it."""

from __future__ import annotations

import pytest

from kova_auto.core.goal.admissions import admission


@pytest.mark.parametrize(
    "summary",
    [
        "The parser is rewritten. Remaining work: the docs.",
        "Two items are left to do.",
        "Everything builds, but 2 tests still fail.",
        "Everything builds; some tests are red",
        "3 of 14 tests failed in the last run.",
        "The tests are still failing on Python 3.11.",
        "The build fails on macOS.",
        "The flag is not yet implemented.",
        "The migration isn't finished.",
        "The migration isn\u2019t finished.",
        "The second criterion has not been met.",
        "c2 could not be verified here.",
        "c2 could not be fully verified here.",
        "The two issues are not resolved.",
        "The second bug isn't fixed.",
        "The remaining tasks are the docs and the changelog.",
        "We cannot fix the crash.",
        "I did not manage to run the slow tests.",
        "I could not run the slow suite.",
        "I was unable to fix the flaky test.",
        "I did not manage to finish the README.",
        "I haven't tested the Windows path.",
        "The README is mostly done.",
        "Everything is done except the changelog.",
        "The docs still need an example.",
        "A few issues remain.",
        "The cleanup is left for later.",
        "The examples have yet to be written.",
        "The index needs further work.",
        "Done.\nTODO: update the changelog",
        "Done.\n- TODO: update the changelog",
        "The work remains unfinished.",
        "No blockers, but the parser is still broken.",
        "The docs are to be written later.",
        "Failed to get the suite green.",
    ],
)
def test_a_summary_that_admits_what_is_left_is_noticed(summary: str) -> None:
    assert admission(summary) != ""


@pytest.mark.parametrize(
    "summary",
    [
        "",
        "All criteria are met.",
        "No remaining work.",
        "Nothing remains to be done.",
        "No tests fail any more.",
        "0 tests fail, 212 pass.",
        "All tests pass: 212 passed.",
        "All 14 checks are green.",
        "The failing tests are repaired.",
        "Fixed the two tests that were failing.",
        "Removed every remaining TODO.",
        "The tests fail before the change and pass after it.",
        "It used to be incomplete; now every option is described.",
        'It now prints "not yet implemented" for the old flag.',
        "It now raises `could not be completed` instead of hanging.",
        "Requests that could not be completed are retried.",
        "The page says what happens when a test fails.",
        "Where the file is not finished, the reader waits.",
        "Tests were added for the case in which the upload is not completed if the line drops.",
        "I did not change the interface.",
        "I left the old flag in place and documented it.",
        "The queue holds what is still pending.",
        "The README explains the flag, with an example.",
        "The left column now shows tasks.",
        "The remaining budget is printed at the end.",
        "The remaining items were already correct.",
        "The remaining issues are resolved.",
        "One of the tests covers the failure case.",
        "Several checks guard against failures.",
        "It cannot be run twice at the same time.",
        "It failed to get a lock; now it waits for one.",
        "The command cannot test itself, so a script does.",
        "I have not changed the interface.",
        "The two tests that failed have been fixed.",
        "Files are written with mode 0600.",
        "```\n2 tests failed\n```\nwas the state at first; all pass now.",
        "Without the flag nothing changes.",
    ],
)
def test_a_summary_that_only_sounds_like_it_passes(summary: str) -> None:
    assert admission(summary) == ""


def test_what_was_admitted_is_shown_bounded() -> None:
    assert admission("All is well. Two items are left  to do here.") == "Two items are left to do here"
    assert len(admission("Two items are left to do " + "and so on " * 100)) == 200


def test_a_summary_of_many_clauses_is_read_in_short_order() -> None:
    assert admission("The tests are green and the work goes on " * 100) == ""
