"""A person's answer and the end of the time to answer: whichever is written first counts, and nothing breaks."""

from __future__ import annotations

import pytest

from kova_auto.core.approval.levels import Decision
from kova_auto.core.event import ApprovalDecided, StopRequested
from kova_auto.core.ids import CallId
from kova_auto.core.job import Outcome
from kova_auto.engine.dispatch import Advanced
from tests.doubles.flaky import FlakyJournal
from tests.engine.worlds import RUN, Stage
from tests.support import a_job, call, says

REPLIES = (says("Hm.", call("change")), says("So be it."))


async def _asked(on_timeout: str) -> tuple[Stage, FlakyJournal]:
    """Return a stage whose run waits for a person, and whose time to wait is over."""
    journal = FlakyJournal()
    stage = Stage(journal=journal)
    await stage.opened(job=a_job(approval={"when_needed": "suspend", "timeout": "1h", "on_timeout": on_timeout}))
    assert await stage.advance(*REPLIES) is Advanced.SUSPENDED
    stage.clock.later(3600)
    return stage, journal


@pytest.mark.parametrize("on_timeout", ["deny", "stop"])
async def test_an_answer_in_the_last_moment_counts(on_timeout: str) -> None:
    stage, journal = await _asked(on_timeout)
    journal.overtakes["approval_decided"] = ApprovalDecided(
        at=stage.clock.now(), call_id=CallId("1.1"), decision=Decision.ONCE, by="ann"
    )

    assert await stage.advance(*REPLIES) is Advanced.DONE
    assert await stage.ended() == (Outcome.DONE, "")
    assert stage.hands.done == ["1.1 change"]


async def test_a_stop_in_the_last_moment_counts() -> None:
    stage, journal = await _asked("stop")
    journal.overtakes["approval_decided"] = StopRequested(
        at=stage.clock.now(), outcome=Outcome.CANCELLED, reason="enough", by="ann"
    )

    assert await stage.advance(*REPLIES) is Advanced.DONE
    assert await stage.ended() == (Outcome.CANCELLED, "enough")


async def test_a_job_that_wants_to_stop_where_nobody_answers_is_blocked() -> None:
    stage, _ = await _asked("stop")

    assert await stage.advance(*REPLIES) is Advanced.DONE
    assert await stage.ended() == (Outcome.BLOCKED, "nobody answered in time about change")
    assert stage.hands.done == []


async def test_a_worker_that_dies_as_the_time_is_over_changes_nothing_about_that() -> None:
    stage, journal = await _asked("stop")
    expired = ApprovalDecided(at=stage.clock.now(), call_id=CallId("1.1"), decision=Decision.DENY, by="timeout")
    await journal.append(await journal.load(RUN), expired)

    assert await stage.advance(*REPLIES) is Advanced.DONE
    assert await stage.ended() == (Outcome.BLOCKED, "nobody answered in time about change")
