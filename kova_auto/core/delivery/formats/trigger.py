"""Say what starts something elsewhere, and with which values: a pipeline runs for what it was meant for, and no more.

Values come from three places, and each says so: `run:` is ours alone, `input:` was given to the run from outside, and
`untrusted:` is what a model wrote. The last two are data for who asked for them by name; nothing decides by them here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, assert_never

from pydantic import JsonValue

from kova_auto.core.delivery.data import LONG
from kova_auto.core.delivery.format import Wish
from kova_auto.core.delivery.formats.standard import spell_time
from kova_auto.core.delivery.notice import (
    ApprovalNotice,
    Digest,
    EndpointNotice,
    EndpointTest,
    Notice,
    RunReport,
    ScheduleNotice,
)
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult
from kova_auto.core.delivery.sample import SAMPLE_RUN
from kova_auto.core.delivery.text import border
from kova_auto.core.delivery.thin import thin_data

_LISTED: Final = re.compile(r"[\s,]+")


class Occasion(StrEnum):
    """Say on which occasion something is told; `on` lists those that start something."""

    OUTCOME = "outcome"
    APPROVAL = "approval"
    ALERT = "alert"
    TEST = "test"  # somebody asks for it by name, so it is always made


def occasion_of(notice: Notice) -> Occasion:
    """Return the occasion of a notice."""
    match notice:
        case RunReport() | Digest():
            return Occasion.OUTCOME
        case ApprovalNotice():
            return Occasion.ALERT if notice.unreached else Occasion.APPROVAL
        case ScheduleNotice() | EndpointNotice():
            return Occasion.ALERT
        case EndpointTest():
            return Occasion.TEST
        case _:
            assert_never(notice)


def declined(notice: Notice, wish: Wish) -> AttemptResult | None:
    """Return how a notice is settled on whose occasion the endpoint starts nothing; None where it does.

    A request that puts nothing before a person has failed: the job says what becomes of it then. Other news is of no
    use here, and that is on record.
    """
    occasion, on = occasion_of(notice), wish.text("on") or Occasion.OUTCOME
    if is_test(notice) or occasion in _LISTED.split(on):
        return None
    if occasion is Occasion.APPROVAL:
        detail = f"it starts something, and puts no question to a person: on = {on}"
        return AttemptResult(AttemptOutcome.POLICY_BLOCK, detail)
    return AttemptResult(AttemptOutcome.EXPIRED, f"not sent: this endpoint starts nothing for an {occasion}: on = {on}")


def is_test(notice: Notice) -> bool:
    """Say whether it comes of no run: somebody tries the endpoint out."""
    return isinstance(notice, EndpointTest) or (isinstance(notice, RunReport) and notice.run_id == SAMPLE_RUN)


def facts_of(notice: Notice, wish: Wish) -> dict[str, str]:
    """Return what is ours of a notice, each value as a text: the names behind `run:`."""
    scalars = {name: _spelled(value) for name, value in thin_data(notice).items() if not isinstance(value, list | dict)}
    head = {"delivery_id": wish.delivery_id, "type": notice.type, "timestamp": spell_time(notice.at)}
    return {**head, **{name: value for name, value in scalars.items() if name not in {"thin", "note"}}}


def _spelled(value: JsonValue) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def untrusted_of(notice: Notice) -> dict[str, str]:
    """Return what others wrote: the names behind `untrusted:`."""
    long = LONG[type(notice)]
    texts = {"answer": str(getattr(notice, long))}
    return {**texts, "reason": notice.reason} if isinstance(notice, RunReport | ApprovalNotice) else texts


def given_input(notice: Notice, text: str) -> str | None:
    """Return the run's own input that `input:NAME` names; None where the run has none of it."""
    return notice.inputs.get(text.removeprefix("input:")) if isinstance(notice, RunReport) else None


def values_of(table: Mapping[str, str], notice: Notice, wish: Wish) -> dict[str, str]:
    """Return a table of the settings with every reference replaced by what it refers to, empty where it is nothing."""
    facts, untrusted = facts_of(notice, wish), untrusted_of(notice)

    def value(text: str) -> str:
        source, _, name = text.partition(":")
        match source:
            case "run":
                return facts.get(name, "")
            case "input":
                return given_input(notice, text) or ""
            case "untrusted":
                return untrusted.get(name, "")
            case _:
                return text

    return {name: value(text) for name, text in table.items()}


def is_reference(text: str) -> bool:
    """Say whether a value is not our own: it may be cut to what there is room for."""
    return text.startswith(("input:", "untrusted:"))


def bounded(text: str, most: int, size: Callable[[str], int]) -> str:
    """Return at most `most` units of a text, whole characters as a reader sees them, with `…` for what is missing."""
    if size(text) <= most:
        return text
    mark = "…" if size("…") <= most else ""
    low, high = 0, min(len(text), most)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size(text[:middle] + mark) <= most else (low, middle - 1)
    return text[: border(text, low)].rstrip() + mark
