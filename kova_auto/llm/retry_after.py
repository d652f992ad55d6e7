"""Read from an answer's headers when the provider wants to be asked again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final

_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNIT_S: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return after how many seconds the provider wants to be asked again; None where it does not say.

    Args:
        headers: Of its answer, names in lower case. A date counts from the answer's own `date`.
    """
    if (spoken := _number(headers.get("retry-after-ms", ""))) is not None:
        return spoken / 1000
    after = headers.get("retry-after", "")
    if (spoken := _number(after)) is not None:
        return spoken
    if after and (span := _until(after, headers.get("date", ""))) is not None:
        return span
    spent = [
        _span(headers.get(f"x-ratelimit-reset-{kind}", ""))
        for kind in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{kind}") == "0"
    ]
    return max((span for span in spent if span is not None), default=None)


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\s*\d{1,9}(\.\d+)?\s*", text, re.ASCII) else None


def _until(then: str, now: str) -> float | None:
    try:
        return max((parsedate_to_datetime(then) - parsedate_to_datetime(now)).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return None  # Not both are dates, or only one of them names its zone.


def _span(text: str) -> float | None:
    parts = _SPAN.findall(text)
    if not parts or "".join(map("".join, parts)) != text:
        return _number(text)
    return sum(float(number) * _UNIT_S[unit] for number, unit in parts)
