"""Every example of every page is what it says: it runs, prints what is shown, loads, or says why no test runs it."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

import pytest

from kova_auto.scheduling.jobfiles import load_job
from kova_auto.settings.load import load_settings
from tests.docs.pages import Block, blocks, pages
from tests.docs.reader import Reader
from tests.docs.terminal import environment

MARKS = {
    *("run", "output", "run beside", "output beside", "file", "job", "part of a job", "settings"),
    *("picture", "not run", "recorded"),
}
BY_TEST = "README.md"  # its commands run in a copy of the repository: test_readme
TYPED = {"run", "run beside"}
LONG = [page for page in pages() if page != BY_TEST and sum(block.mark in TYPED for block in blocks(page)) > 1]
"""Pages with more than one example: only the first of them is typed each time, all of them in the slow step."""


def _beginning(page: str) -> list[Block]:
    """Return what stands before the second example of a page."""
    typed = [block for block in blocks(page) if block.mark in TYPED]
    return list(takewhile(lambda block: block != typed[1], blocks(page)))


def _follow(home: Path, followed: list[Block]) -> None:
    with Reader(home) as reader:
        for block in followed:
            reader.follow(block)


@pytest.mark.parametrize("page", pages())
def test_every_fenced_block_says_what_it_is(page: str) -> None:
    assert [block.place for block in blocks(page) if block.mark not in MARKS] == []


@pytest.mark.parametrize("page", LONG)
def test_the_first_example_of_a_long_page_does_what_it_says(page: str, home: Path) -> None:
    _follow(home, _beginning(page))


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] * (page in LONG)) for page in pages() if page != BY_TEST],
)
def test_the_examples_of_a_page_do_what_it_says(page: str, home: Path) -> None:
    _follow(home, blocks(page))


@pytest.mark.parametrize("page", [page for page in pages() if page != BY_TEST])
def test_jobs_and_settings_that_a_page_shows_are_sound(page: str, tmp_path: Path) -> None:
    path = tmp_path / "example.toml"
    for block in blocks(page):
        match block.mark:
            case "job":
                path.write_text(block.text)
                assert load_job(path).name == "example", block.place
            case "part of a job":
                path.write_text(f'prompt = "Look around."\n{block.text}')
                assert load_job(path).name == "example", block.place
            case "settings":
                path.write_text(block.text)
                assert load_settings(path, environment(tmp_path)).path == path, block.place
            case _:
                pass
