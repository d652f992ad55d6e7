"""Job files that people edit while they are read: half-written ones wait, whole ones take effect at the next look."""

from __future__ import annotations

import logging
import os
from datetime import timedelta
from pathlib import Path

import pytest

from kova_auto.scheduling.book import JobBook
from kova_auto.scheduling.stamps import SETTLE_NS
from tests.doubles.clock import HandClock
from tests.support import at

GOOD = 'prompt = "Look."\n'
SETTLE = timedelta(microseconds=SETTLE_NS / 1000)


class Room:
    """Hold a directory whose files get their times from a clock that is moved by hand."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.clock = directory, HandClock(at("07:00:00"))
        self.book = JobBook(directory, timezone="UTC", endpoints=(), clock=self.clock)

    def write(self, text: str = GOOD, name: str = "nightly.toml") -> Path:
        path = self.directory / name
        path.write_text(text)
        now_ns = int(self.clock.now().timestamp()) * 10**9 + self.clock.now().microsecond * 1000
        os.utime(path, ns=(now_ns, now_ns))
        return path

    def wait(self, span: timedelta = SETTLE) -> None:
        self.clock.instant += span

    def look(self) -> dict[str, str]:
        """Do as the service does: look, and read only what is said to have changed."""
        if self.book.has_changed():
            self.book.refresh()
        return {job.name: job.prompt for job in self.book.jobs}


@pytest.fixture
def room(tmp_path: Path) -> Room:
    directory = tmp_path.resolve() / "jobs"
    directory.mkdir()
    found = Room(directory)
    found.book.refresh()
    return found


def test_a_new_file_is_read_once_nobody_has_written_it_for_a_moment(room: Room) -> None:
    room.write()
    assert room.look() == {}

    room.wait(SETTLE - timedelta(milliseconds=1))
    assert room.look() == {}
    room.wait(timedelta(milliseconds=1))
    assert room.look() == {"nightly": "Look."}


def test_a_half_written_file_is_not_read_and_the_last_good_version_goes_on(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    room.write()
    room.wait()
    room.look()
    room.write('prompt = "Look ar')

    with caplog.at_level(logging.WARNING):
        assert room.look() == {"nightly": "Look."}
        assert not room.book.refresh()
    room.write('prompt = "Look around."\n')
    room.wait()
    assert room.look() == {"nightly": "Look around."}
    assert caplog.records == []


def test_a_pass_that_comes_while_a_file_is_written_reads_nothing_of_it(room: Room) -> None:
    room.write()

    assert not room.book.refresh()
    assert room.book.entries == {}


def test_a_file_that_takes_the_place_of_another_is_read_at_once(room: Room) -> None:
    room.write()
    room.wait()
    room.look()
    there = room.write(GOOD.replace("Look", "Peek"), "nightly.tmp")
    room.wait()
    was = (room.directory / "nightly.toml").stat()
    os.utime(there, ns=(was.st_mtime_ns, was.st_mtime_ns))
    there.rename(room.directory / "nightly.toml")

    assert room.look() == {"nightly": "Peek."}


def test_a_file_that_draws_in_one_that_is_being_written_waits_for_it(room: Room) -> None:
    room.write('prompt_file = "ask.md"\n')
    room.wait()
    room.write("Look ar", "ask.md")
    assert room.look() == {}

    room.write("Look around.", "ask.md")
    room.wait()
    assert room.look() == {"nightly": "Look around."}
    room.write("Peek", "ask.md")
    assert room.look() == {"nightly": "Look around."}
    room.wait()
    assert room.look() == {"nightly": "Peek"}


@pytest.mark.parametrize(
    ("name", "text", "job"),
    [
        ("ask.md", "Look.", 'prompt_file = "ask.md"\n'),
        ("fit.json", "{}", GOOD + 'output.schema = "fit.json"\n'),
        ("turns.script.toml", "", GOOD + 'script = "turns.script.toml"\n'),
        ("../ask.md", "Look.", 'prompt_file = "../ask.md"\n'),
    ],
)
def test_every_kind_of_file_that_a_job_draws_in_counts(room: Room, name: str, text: str, job: str) -> None:
    room.write(text, name)
    room.write(job)
    room.wait()
    room.look()
    assert not room.book.has_changed()

    room.write(text + "\n", name)
    room.wait()
    assert room.book.has_changed()
    room.book.refresh()
    assert not room.book.has_changed()


def test_behind_a_link_files_are_drawn_in_from_beside_the_file_itself(room: Room) -> None:
    (room.directory.parent / "src").mkdir()
    room.write("Look.", "../src/ask.md")
    real = room.write('prompt_file = "ask.md"\n', "../src/real.toml")
    (room.directory / "nightly.toml").symlink_to(real)
    room.wait()
    assert room.look() == {"nightly": "Look."}

    room.write("Look around.", "../src/ask.md")
    room.wait()
    assert room.look() == {"nightly": "Look around."}


def test_what_a_broken_file_lacked_is_noticed_when_it_comes(room: Room) -> None:
    room.write('prompt_file = "ask.md"\n')
    room.wait()
    assert room.look() == {}

    room.write("Look.", "ask.md")
    room.wait()
    assert room.look() == {"nightly": "Look."}


def test_a_file_that_was_renamed_is_a_new_job_and_the_old_one_is_gone(room: Room) -> None:
    path = room.write()
    room.wait()
    room.look()
    path.rename(path.with_name("weekly.toml"))

    assert room.look() == {"weekly": "Look."}


def test_a_file_that_is_gone_takes_even_its_last_good_version_with_it(room: Room) -> None:
    path = room.write()
    room.wait()
    room.look()
    room.write("prompt = 7\n")
    room.wait()
    assert room.look() == {"nightly": "Look."}

    path.unlink()
    assert room.look() == {}


def test_the_log_says_that_the_last_good_version_goes_on(room: Room, caplog: pytest.LogCaptureFixture) -> None:
    room.write()
    room.wait()
    room.look()
    room.write("prompt = 7\n")
    room.wait()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            room.look()

    assert len(caplog.messages) == 1
    assert "nightly.toml:1: prompt:" in caplog.text
    assert "its last good version goes on" in caplog.text


def test_the_first_look_reads_young_files_too_and_they_are_read_again(tmp_path: Path) -> None:
    room = Room(tmp_path.resolve())
    room.write()
    room.book.refresh()
    assert room.look() == {"nightly": "Look."}

    room.write("prompt = 7\n")
    room.write(GOOD.replace("Look", "Peek"))
    room.wait()
    assert room.look() == {"nightly": "Peek."}


def test_a_time_to_come_says_nothing_of_who_is_writing(room: Room) -> None:
    room.wait(timedelta(days=1))
    room.write()
    room.wait(-timedelta(days=1))

    assert room.look() == {"nightly": "Look."}


def test_a_look_at_a_directory_that_is_gone_finds_no_change(room: Room) -> None:
    room.write()
    room.wait()
    room.look()
    room.directory.rename(room.directory.with_name("away"))

    assert not room.book.has_changed()
    assert [job.name for job in room.book.jobs] == ["nightly"]
