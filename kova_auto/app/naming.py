"""Find the run that a person means by the beginning of its id, or as the newest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kova_auto.core.errors import UnknownRunError
from kova_auto.core.ids import DISPATCHED, RunId
from kova_auto.core.ports import Views

LAST: Final = "last"


async def run_named(text: str, views: Views) -> RunId:
    """Return the run whose id begins with a text; `last` is the newest, `RUN~1.2` a subagent of what RUN means.

    Raises:
        UnknownRunError: There is none, or more than one.
    """
    if await views.run(RunId(text)):
        return RunId(text)
    first, dispatched, rest = text.partition(DISPATCHED)
    root = await _root(first, views)
    return await _beginning(f"{root}{dispatched}{rest}", text, views) if dispatched else root


async def _root(text: str, views: Views) -> RunId:
    """Return the run that nobody dispatched."""
    if text == LAST and (newest := await views.runs(limit=1)):
        return newest[0].run_id
    return await _beginning(text, text, views)


async def _beginning(wanted: str, text: str, views: Views) -> RunId:
    if await views.run(RunId(wanted)):
        return RunId(wanted)
    ids = await views.matching(wanted)
    found = [run_id for run_id in ids if not any(run_id.startswith(f"{other}{DISPATCHED}") for other in ids)]
    if len(found) != 1:
        raise UnknownRunError(_none_or_many(text, found))
    return found[0]


def _none_or_many(text: str, ids: Sequence[RunId]) -> str:
    if not ids:
        return "no run has been made yet" if text == LAST else f"no run's id begins with {text!r}"
    shown = ", ".join(ids[:5])
    return f"{text!r} is the beginning of {len(ids)} runs' ids: {shown}"
