"""Answer lines of standard input that ask when a cron expression fires: no job, no settings, no database."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

from kova_auto.cli.output import say
from kova_auto.core.delivery.text import one_line
from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.cron import Cron, parse_cron
from kova_auto.core.schedule.zone import parse_zone

MOST: Final = 10_000
_WIDE = 400
_SHAPE = 'wanted an object as {"expr": "0 7 * * *", "tz": "Europe/Berlin", "start": "2026-03-28T00:00:00Z", "count": 5}'


@dataclass(frozen=True, slots=True)
class Question:
    """Hold what one line asks."""

    cron: Cron
    zone: ZoneInfo
    start: datetime
    count: int

    def times(self) -> Iterator[str]:
        """Yield the firings after the start, as a clock in the zone shows them."""
        after = self.start
        for _ in range(self.count):
            found = self.cron.next_after(after, self.zone)
            if found is None:
                return
            yield found.astimezone(self.zone).isoformat()
            after = found


def answer_lines(now: datetime) -> bool:
    """Answer each line of standard input, as soon as it is there; return whether all could be read.

    Args:
        now: Where a line names no start, its firings follow this instant.
    """
    is_sound = True
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if not line.strip():
            continue
        try:
            answer: dict[str, object] = {"times": list(_read(line, now).times())}
        except ConfigError as exc:
            answer = {"error": one_line(exc.sentence, _WIDE)}
        except OverflowError:  # no clock shows what lies before the year 1
            answer = {"error": "start: wanted an instant that the zone's clock can show"}
        except (ValueError, RecursionError) as exc:  # not UTF-8, no JSON, nested too deep, or not such an object
            answer, is_sound = {"error": one_line(f"line {number}: {_SHAPE}: {exc}", _WIDE)}, False
        say(json.dumps(answer))
    return is_sound


def _read(line: bytes, now: datetime) -> Question:
    """Read one line.

    Raises:
        ConfigError: The expression, the zone, the start or the count makes no sense.
        ValueError: The line is no such object.
    """
    asked = json.loads(line.decode())
    if not isinstance(asked, dict) or not isinstance(asked.get("expr"), str):
        message = "found another"
        raise ValueError(message)  # noqa: TRY004 - a line is not an argument
    cron, zone = parse_cron(asked["expr"]), _zone(asked.get("tz", "UTC"))
    return Question(cron, zone, _start(asked.get("start"), now), _count(asked.get("count", 10)))


def _zone(name: object) -> ZoneInfo:
    if not isinstance(name, str):
        message = f"wanted the IANA name of a time zone, found {name!r}"
        raise ConfigError(message, key="tz", hint="for example Europe/Berlin")
    try:
        return parse_zone(name)
    except ConfigError as exc:
        raise ConfigError(exc.message, key="tz", hint=exc.hint) from exc


def _start(text: object, now: datetime) -> datetime:
    if text is None:
        return now
    try:
        found = datetime.fromisoformat(text if isinstance(text, str) else "")
    except ValueError as exc:
        message = f"wanted an instant, found {text!r}"
        raise ConfigError(message, key="start", hint="for example 2026-03-28T00:00:00Z") from exc
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _count(number: object) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MOST:
        message = f"wanted a whole number from 0 to {MOST}, found {number!r}"
        raise ConfigError(message, key="count")
    return number
