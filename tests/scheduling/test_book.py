"""The job files of a directory as they are now: read anew when they change, parked when they break."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from kova_auto.core.errors import ConfigError
from kova_auto.core.ids import JobName
from kova_auto.core.parked import spell_parked
from kova_auto.scheduling.book import JobBook

NIGHTLY = JobName("nightly")
GOOD = 'prompt = "Look."\n'
BROKEN = "prompt = 7\n"


class Shelf:
    """Hold a directory, and the book that watches it."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.writes = directory, 0
        self.book = JobBook(directory, timezone="UTC", endpoints=("ci",))

    def write(self, text: str, name: str = "nightly.toml") -> Path:
        self.writes += 1
        path = self.directory / name
        path.write_text(text)
        os.utime(path, ns=(self.writes * 10**9,) * 2)  # Files that people edit differ in time.
        return path

    @property
    def prompts(self) -> dict[str, str]:
        return {job.name: job.prompt for job in self.book.jobs}

    @property
    def problem(self) -> str:
        return str(self.book.entries[NIGHTLY].problem or "").replace(f"{self.directory}/", "")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    directory = tmp_path.resolve() / "jobs"
    directory.mkdir()
    return Shelf(directory)


def test_a_book_is_empty_until_it_is_read(shelf: Shelf) -> None:
    shelf.write(GOOD)
    assert shelf.prompts == {}

    assert shelf.book.refresh()
    assert shelf.prompts == {"nightly": "Look."}


def test_only_a_change_is_a_change(shelf: Shelf) -> None:
    shelf.write(GOOD)
    assert [shelf.book.refresh() for _ in range(3)] == [True, False, False]

    shelf.write(GOOD.replace("Look", "Look around"))
    assert [shelf.book.refresh() for _ in range(2)] == [True, False]
    assert shelf.prompts == {"nightly": "Look around."}


def test_files_come_and_go(shelf: Shelf) -> None:
    shelf.write(GOOD)
    shelf.write(GOOD, "weekly.toml")
    shelf.write('[[turn]]\ntext = "Hm."\n', "nightly.script.toml")
    shelf.book.refresh()
    assert list(shelf.prompts) == ["nightly", "weekly"]

    (shelf.directory / "nightly.toml").unlink()
    assert shelf.book.refresh()
    assert list(shelf.prompts) == ["weekly"]


def test_a_file_that_breaks_keeps_its_last_good_version_and_says_what_is_wrong(shelf: Shelf) -> None:
    shelf.write(GOOD)
    shelf.book.refresh()
    shelf.write(BROKEN)

    assert shelf.book.refresh()
    assert shelf.prompts == {"nightly": "Look."}
    assert shelf.problem.startswith("nightly.toml:1: prompt: ")


def test_a_file_that_was_never_good_has_no_job_and_parks_no_other(shelf: Shelf) -> None:
    shelf.write(BROKEN)
    shelf.write(GOOD, "weekly.toml")
    shelf.book.refresh()

    assert shelf.prompts == {"weekly": "Look."}
    assert shelf.book.entries[NIGHTLY].job is None


def test_a_file_that_is_mended_is_read_again(shelf: Shelf) -> None:
    shelf.write(GOOD)
    shelf.book.refresh()
    shelf.write(BROKEN)
    shelf.book.refresh()
    shelf.write(GOOD.replace("Look", "Look again"))
    shelf.book.refresh()

    assert (shelf.prompts, shelf.problem) == ({"nightly": "Look again."}, "")


def test_a_broken_file_is_complained_of_once(shelf: Shelf, caplog: pytest.LogCaptureFixture) -> None:
    shelf.write(BROKEN)
    with caplog.at_level(logging.WARNING):
        assert [shelf.book.refresh() for _ in range(3)] == [True, False, False]
    assert len(caplog.records) == 1

    shelf.write("prompt = 8\n")
    with caplog.at_level(logging.WARNING):
        assert [shelf.book.refresh() for _ in range(2)] == [True, False]
    assert len(caplog.records) == 2


def test_a_file_that_a_job_draws_in_belongs_to_it(shelf: Shelf) -> None:
    shelf.write("Look.", "prompt.md")
    shelf.write('prompt_file = "prompt.md"\n')
    shelf.book.refresh()
    assert not shelf.book.refresh()

    shelf.write("Look around.", "prompt.md")
    assert shelf.book.refresh()
    assert shelf.prompts == {"nightly": "Look around."}


def test_a_file_that_was_missing_is_found_when_it_comes(shelf: Shelf) -> None:
    shelf.write('prompt_file = "prompt.md"\n')
    shelf.book.refresh()
    assert "prompt_file" in shelf.problem

    shelf.write("Look.", "prompt.md")
    assert shelf.book.refresh()
    assert (shelf.prompts, shelf.problem) == ({"nightly": "Look."}, "")


def test_a_file_that_goes_missing_keeps_the_last_good_version(shelf: Shelf) -> None:
    drawn_in = shelf.write("Look.", "prompt.md")
    shelf.write('prompt_file = "prompt.md"\n')
    shelf.book.refresh()
    drawn_in.unlink()

    assert shelf.book.refresh()
    assert shelf.prompts == {"nightly": "Look."}
    assert "prompt_file" in shelf.problem


def test_an_endpoint_that_the_settings_do_not_know_is_a_problem(shelf: Shelf) -> None:
    shelf.write(GOOD + '[[notify]]\nendpoint = "ci"\n[[notify]]\nendpoint = "cj"\n')
    shelf.book.refresh()

    assert "no endpoint is called 'cj'" in shelf.problem


def test_a_directory_that_is_gone_is_an_error_and_forgets_nothing(shelf: Shelf) -> None:
    shelf.write(GOOD)
    shelf.book.refresh()
    shelf.directory.rename(shelf.directory.with_name("away"))

    with pytest.raises(ConfigError, match="wanted a directory of job files"):
        shelf.book.refresh()
    assert shelf.prompts == {"nightly": "Look."}


class Meddling(frozenset[str]):
    """Be the names of endpoints, and the editor who saves the job file once somebody has read it."""

    path: Path

    def __contains__(self, name: object) -> bool:
        if self.path.read_text().startswith(GOOD):
            self.path.write_text(TELLS.replace("Look", "Look twice"))
        return True


TELLS = GOOD + '[[notify]]\nendpoint = "ci"\n'


def test_a_file_that_changes_while_it_is_read_is_read_again(shelf: Shelf) -> None:
    endpoints = Meddling()
    endpoints.path = shelf.write(TELLS)
    shelf.book = JobBook(shelf.directory, timezone="UTC", endpoints=endpoints)
    shelf.book.refresh()
    assert shelf.prompts == {"nightly": "Look."}

    assert shelf.book.refresh()
    assert shelf.prompts == {"nightly": "Look twice."}


def test_a_broken_file_is_parked_with_when_its_last_good_version_was_written(shelf: Shelf) -> None:
    shelf.write(GOOD)
    shelf.write(BROKEN, "never.toml")
    shelf.book.refresh()
    assert [(one.job, one.good_at) for one in shelf.book.parked] == [("never", None)]

    for _ in range(2):
        shelf.write(BROKEN)
        shelf.book.refresh()
    assert [(one.job, spell_parked(one.good_at)) for one in shelf.book.parked] == [
        ("never", "nothing of it runs until it is mended"),
        ("nightly", "its last good version, of 1970-01-01 00:00:01 UTC, goes on"),
    ]

    shelf.write(GOOD)
    shelf.write(GOOD, "never.toml")
    shelf.book.refresh()
    assert shelf.book.parked == []
