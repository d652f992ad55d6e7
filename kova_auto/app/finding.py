"""What an examination finds: one line for each thing that was looked at."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Mark(StrEnum):
    """Say how a thing is."""

    OK = "ok"
    WARN = "warn"  # it works, and may surprise
    FAIL = "fail"  # something will not work


@dataclass(frozen=True, slots=True)
class Finding:
    """Hold what was found of one thing.

    Attributes:
        check: What kind of thing was looked at, as `provider`.
        name: Which one.
        text: What was found, and what to do about it.
    """

    check: str
    name: str
    mark: Mark
    text: str
