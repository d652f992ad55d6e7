"""How a test plays a crash with the double."""

from __future__ import annotations

import pytest

from kova_auto.core.event import Event, StopRequested
from kova_auto.core.ids import RunId
from kova_auto.core.job import Outcome
from tests.doubles.journal import MemoryJournal
from tests.support import a_request, at


class CrashError(Exception):
    """Stand for the end of a process."""


def crash(run_id: RunId, event: Event) -> None:
    """End the process as soon as somebody asks the run to stop."""
    if isinstance(event, StopRequested):
        raise CrashError


@pytest.mark.parametrize(
    ("journal", "kept"),
    [(MemoryJournal(before_append=crash), 1), (MemoryJournal(after_append=crash), 2)],
    ids=["before", "after"],
)
async def test_a_crash_before_a_fact_loses_it_and_one_after_keeps_it(journal: MemoryJournal, kept: int) -> None:
    state, _ = await journal.open(a_request())

    with pytest.raises(CrashError):
        await journal.append(state, StopRequested(at=at("06:00:01"), outcome=Outcome.CANCELLED, reason="", by="ada"))

    assert (await journal.load(state.run_id)).seq == kept
