"""Read from an answer's headers when the provider wants to be asked again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Final

_SPAN: Final = re.compile(r"(\d{1,9}(?:\.\d+)?)(ms|s|m|h|d)")
_UNIT_S: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BUDGETS: Final = (  # how much is left, and when it is filled again
    *((f"x-ratelimit-remaining-{kind}", f"x-ratelimit-reset-{kind}") for kind in ("requests", "tokens")),
    *(
        (f"anthropic-ratelimit-{kind}-remaining", f"anthropic-ratelimit-{kind}-reset")
        for kind in ("requests", "tokens", "input-tokens", "output-tokens")
    ),
)


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
    return max(_resets(headers), default=None)


def _resets(headers: Mapping[str, str]) -> Iterator[float]:
    """Yield when each budget that is used up will be there again."""
    for remaining, reset in _BUDGETS:
        if headers.get(remaining) == "0":
            then = headers.get(reset, "")
            span = _span(then)
            span = _until(then, headers.get("date", "")) if span is None else span
            if span is not None:
                yield span


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\s*\d{1,9}(\.\d+)?\s*", text, re.ASCII) else None


def _until(then: str, now: str) -> float | None:
    try:
        return max((_instant(then) - parsedate_to_datetime(now)).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return None  # Not both are dates, or only one of them names its zone.


def _instant(text: str) -> datetime:
    """Read a date of HTTP, or one of RFC 3339."""
    return datetime.fromisoformat(text) if text[:4].isdigit() else parsedate_to_datetime(text)


def _span(text: str) -> float | None:
    parts = _SPAN.findall(text)
    if not parts or "".join(map("".join, parts)) != text:
        return _number(text)
    return sum(float(number) * _UNIT_S[unit] for number, unit in parts)
