"""Which reasons tell of a mishap, and which only say that there was none."""

from __future__ import annotations

import pytest

from kova_auto.core.mishap import mishap_in


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("The fetch failed.", "failed"),
        ("No news, as the feed timed out.", "timed out"),
        ("Nothing new because the fetch failed", "failed"),
        ("No commits; git log gave an error", "error"),
        ("I could not read the file", "could not"),
        ("I couldn\u2019t open it", "couldn\u2019t"),
        ("Unable to reach the server", "Unable to"),
        ("The page cannot be read", "cannot"),
        ("My call was refused", "was refused"),
        ("permission denied on /srv", "permission denied"),
        ("The API answered HTTP 503", "HTTP 503"),
        ("The registry is unreachable", "unreachable"),
        ("No commits and the build failed", "failed"),
    ],
)
def test_what_went_wrong_is_named(reason: str, words: str) -> None:
    assert mishap_in(reason) == words


@pytest.mark.parametrize(
    "reason",
    [
        "No commits since yesterday.",
        "All 214 tests pass; no failures.",
        "There were no errors in the log",
        "0 errors, 0 failed jobs",
        "None of the builds failed",
        "I did not find any errors",
        "I could not find anything new",
        "Unable to find a changed file: none was touched",
        "The log is free of errors",
        "Looked without finding a single exception",
        "",
    ],
)
def test_that_nothing_went_wrong_is_no_mishap(reason: str) -> None:
    assert mishap_in(reason) == ""
