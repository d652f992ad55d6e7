"""Read what an option says, and complain under the option's name."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.triggers import parse_at
from kova_auto.core.schedule.zone import parse_zone

T = TypeVar("T")
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def instant(text: str, timezone: str) -> datetime:
    """Read an instant as a zone's clock shows it, UTC; a date alone is its midnight.

    Raises:
        ConfigError: It is none.
    """
    whole = f"{text}T00:00" if _DATE.fullmatch(text) else text
    return parse_at(whole, parse_zone(timezone))


def named(option: str, parse: Callable[[str], T], text: str) -> T:
    """Read an option's value; what is wrong with it is said under the option's name.

    Raises:
        ConfigError: Something is.
    """
    try:
        return parse(text)
    except ConfigError as exc:
        raise ConfigError(exc.message, key=option, hint=exc.hint) from exc
