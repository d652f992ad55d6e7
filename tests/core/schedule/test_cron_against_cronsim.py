"""Cronsim as a second opinion, on random expressions and zones, where both mean the same.

What the two mean differently is left out by name: see `DIFFERENCES`. What cronsim cannot say is never made up: `W` but
for `LW`, `?`, `+`, nicknames, years, `FRIL`, `5#L`, `n-n/step`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim

from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.cron import parse_cron
from kova_auto.core.schedule.zone import parse_zone, shift_at, to_wall
from tests.core.schedule.schedule_oracle import utc, walk
from tests.core.schedule.zone_changes import NAMES, changes

FIRINGS = 12
FORTY_YEARS = timedelta(days=40 * 365)  # cronsim gives up after fifty
TEN_YEARS = utc("2026-01-01"), utc("2036-01-01")
STARS = ["*", "*", "*"]


@dataclass(frozen=True)
class Question:
    """Ask for the firings of an expression after an instant."""

    text: str
    zone: ZoneInfo
    start: datetime

    @property
    def fields(self) -> list[str]:
        """Return minute, hour, day, month and weekday."""
        return self.text.split()[-5:]

    @property
    def is_fixed(self) -> bool:
        return not any(field.startswith("*") for field in self.text.split()[:-3])

    def ours(self) -> list[datetime]:
        found = islice(walk(parse_cron(self.text), self.zone, self.start), FIRINGS)
        return list(takewhile(self._is_near, found))

    def theirs(self) -> list[datetime]:
        found = (moment.astimezone(UTC) for moment in islice(CronSim(self.text, self._local), FIRINGS))
        return list(takewhile(self._is_near, found))

    @property
    def _local(self) -> datetime:
        return self.start.astimezone(self.zone)

    def _is_near(self, moment: datetime) -> bool:
        return moment < self.start + FORTY_YEARS


def a_stepped_star_beside_another_day_field(question: Question) -> bool:
    """Cronsim wants both where a day field only begins with a star."""
    day, weekday = question.fields[2], question.fields[4]
    return "*" not in (day, weekday) and (day.startswith("*") or weekday.startswith("*"))


def seconds_where_clocks_are_changed(question: Question) -> bool:
    """Cronsim has no rule for that with six fields."""
    return len(question.text.split()) == 6 and not is_steady(question.zone)


def clocks_that_are_changed_by_half_an_hour(question: Question) -> bool:
    """Cronsim jumps over walls at Lord Howe: it adds an hour of real time."""
    return question.zone.key in ("Australia/Lord_Howe", "Australia/LHI")


def a_start_in_a_second_pass(question: Question) -> bool:
    """Cronsim answers with an instant before it."""
    wall = to_wall(question.start, question.zone)
    return bool(wall.fold) and shift_at(wall, question.zone) is not None


DIFFERENCES: tuple[Callable[[Question], bool], ...] = (
    a_stepped_star_beside_another_day_field,
    seconds_where_clocks_are_changed,
    clocks_that_are_changed_by_half_an_hour,
    a_start_in_a_second_pass,
)


def is_steady(zone: ZoneInfo) -> bool:
    """Say whether a zone's clocks are not changed from 2026 on."""
    return not changes(zone.key, *TEN_YEARS)


def plain(dice: random.Random, low: int, high: int) -> str:
    """Make one item of a field up."""
    start, end = sorted((dice.randint(low, high), dice.randint(low, high)))
    step = dice.randint(1, (high - low + 1) // 2)
    ranges = [f"{start}-{end}", f"{start}-{end}/{step}"] if start < end else []
    return dice.choice([str(start), f"{start},{end}", "*", f"*/{step}", *ranges])


def expression(dice: random.Random) -> str:
    seconds = [plain(dice, 0, 59)] if dice.random() < 0.1 else []
    day = dice.choice([*STARS, str(dice.randint(1, 31)), "L", "LW", "1,15", "10-20", plain(dice, 1, 31)])
    nth, number = dice.randint(1, 5), dice.randint(0, 7)
    days = ["1-5", f"{number % 7}#{nth}", f"{number}L", "sat,sun", "0-6/2", "MON-WED", plain(dice, 0, 6)]
    weekday = dice.choice([*STARS, str(number), *days])
    month = dice.choice([*STARS, "3-4", "10,11", "*/2", "feb", plain(dice, 1, 12)])
    return " ".join([*seconds, plain(dice, 0, 59), plain(dice, 0, 23), day, month, weekday])


def questions(seed: int, count: int) -> list[Question]:
    """Make up as many questions that mean the same to both."""
    dice, found = random.Random(seed), list[Question]()
    while len(found) < count:
        zone = parse_zone(dice.choice(NAMES))
        question = Question(expression(dice), zone, _start(dice, zone))
        if not any(differs(question) for differs in DIFFERENCES) and is_possible(question.text):
            found.append(question)
    return found


def _start(dice: random.Random, zone: ZoneInfo) -> datetime:
    """Choose an instant, half of the time shortly before clocks are changed."""
    known = changes(zone.key, *TEN_YEARS)
    if known and dice.random() < 0.5:
        return dice.choice(known).at - timedelta(minutes=dice.randrange(-120, 30 * 60))
    return TEN_YEARS[0] + timedelta(minutes=dice.randrange(10 * 365 * 24 * 60))


def is_possible(text: str) -> bool:
    """Say whether some calendar holds it: what can never fire is refused by us, and searched for by cronsim."""
    try:
        parse_cron(text)
    except ConfigError as exc:
        return "never fire" not in exc.hint
    return True


def disagreements(seed: int, count: int) -> list[tuple[str, str, str]]:
    asked = questions(seed, count)
    return [(one.text, one.zone.key, one.start.isoformat()) for one in asked if one.ours() != one.theirs()]


@pytest.mark.parametrize("seed", range(8))
def test_cronsim_finds_the_same_firings(seed: int) -> None:
    assert disagreements(seed, 50) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_cronsim_finds_the_same_firings_of_five_thousand_expressions(seed: int) -> None:
    assert disagreements(seed, 500) == []


def test_the_expressions_are_of_every_kind() -> None:
    asked = questions(0, 400)
    fixed = sum(one.is_fixed for one in asked)
    steady = sum(is_steady(one.zone) for one in asked)
    assert (fixed > 100, len(asked) - fixed > 100, len(asked) - steady > 100) == (True, True, True)
