"""The names of a note's versions and of what is in the trash: told apart, in order, and read back."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.context.versions import (
    MAX_VERSIONS,
    Source,
    Trashed,
    Version,
    next_number,
    superfluous,
    trashed_of,
    versions_of,
)
from tests.support import at

NUMBERS = st.integers(1, 999_999_999)
INSTANTS = st.datetimes(datetime(1000, 1, 1), datetime(9999, 1, 1), timezones=st.just(UTC)).map(  # noqa: DTZ001
    lambda instant: instant.replace(microsecond=0)
)


def version(number: int = 1, source: Source = Source.AGENT) -> Version:
    return Version(number, at("06:00:00"), source)


@given(st.builds(Version, NUMBERS, INSTANTS, st.sampled_from(Source)))
def test_a_version_is_read_back_from_its_name(kept: Version) -> None:
    assert versions_of([kept.file]) == [kept]


@given(st.builds(Trashed, NUMBERS, INSTANTS, st.from_regex(r"(daily/)?[a-z0-9][a-z0-9. _-]{0,9}\.md", fullmatch=True)))
def test_what_is_in_the_trash_is_read_back_from_its_name(trashed: Trashed) -> None:
    assert trashed_of([trashed.file]) == [trashed]
    assert "/" not in trashed.file


@given(st.text())
def test_any_other_name_is_passed_over(name: str) -> None:
    assert all(kept.file == name for kept in versions_of([name]))
    assert all(trashed.file == name for trashed in trashed_of([name]))


def test_they_come_in_the_order_of_their_numbers() -> None:
    files = [version(number).file for number in (10, 9, 1_000_000)]
    assert [kept.number for kept in versions_of(files)] == [9, 10, 1_000_000]


def test_no_number_is_used_again_as_long_as_anything_is_kept() -> None:
    assert next_number([]) == 1
    assert next_number([version(7), version(9)]) == 10


def test_the_oldest_are_one_too_many() -> None:
    kept = [version(number) for number in range(1, MAX_VERSIONS + 3)]
    assert [old.number for old in superfluous(kept)] == [1, 2]
    assert superfluous(kept[:MAX_VERSIONS]) == []
