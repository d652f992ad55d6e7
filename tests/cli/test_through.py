"""Seeing a run through that a live service drives: what ends it, what is said, and with which exit code."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from io import StringIO

import pytest

from kova_auto.cli.account import Account
from kova_auto.cli.ending import see_through
from kova_auto.cli.presses import Presses
from kova_auto.cli.screen import Screen
from kova_auto.cli.through import Through
from kova_auto.core.errors import IllegalEventError, JournalBusyError
from kova_auto.core.event import Event, StopRequested
from kova_auto.core.job import Outcome
from tests.cli.paper import Paper
from tests.doubles.control import FakeService
from tests.story import Story
from tests.support import a_job, a_request, at, call, says

SUSPENDS = a_job(approval={"when_needed": "suspend"})
NOTIFIED = a_job(notify=[{"endpoint": "ci"}])


class StoppedClock:
    """Tell one time for ever."""

    def now(self) -> datetime:
        return at("06:00:30")


class Watcher:
    """See one run through, as a command does."""

    def __init__(self, service: FakeService) -> None:
        self.service, self.notes, self.results = service, Paper(), StringIO()
        account = Account(Screen(self.results, self.notes, {}), as_json=False)
        run_id = Story().run_id
        self.presses = Presses()
        self.through = Through(service.connection, run_id, account, self.presses, StoppedClock())

    async def sees(self) -> int:
        async with asyncio.timeout(60):
            return await see_through(self.through)

    @property
    def last_words(self) -> list[str]:
        return self.notes.getvalue().splitlines()[-3:]


def stop(story: Story) -> list[Event]:
    """Return what a cancelled run still does."""
    asked = StopRequested(at=at("06:00:20"), outcome=Outcome.CANCELLED, reason="enough", by="terminal")
    story.events.append(asked)
    return [asked, *story.ends(Outcome.CANCELLED, reason="enough").events[-1:]]


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (Outcome.DONE, 0),
        (Outcome.NOTHING_TO_REPORT, 0),
        (Outcome.BLOCKED, 3),
        (Outcome.NEEDS_INPUT, 3),
        (Outcome.FAILED, 1),
        (Outcome.TIMED_OUT, 1),
        (Outcome.CANCELLED, 1),
    ],
)
async def test_the_outcome_decides_the_exit_code(outcome: Outcome, code: int) -> None:
    assert await Watcher(FakeService(Story().ends(outcome).events)).sees() == code


async def test_facts_are_shown_as_they_happen() -> None:
    story = Story()
    watcher = Watcher(FakeService(list(story.events)))
    seeing = asyncio.create_task(watcher.sees())
    await watcher.notes.holds("run nightly")
    watcher.service.tell(*story.says(says("Fine.")).ends(answer="Fine.").events[3:])
    assert await seeing == 0
    assert watcher.results.getvalue() == "Fine.\n"


async def test_a_run_that_waits_for_a_person_says_how_to_answer() -> None:
    watcher = Watcher(FakeService(Story().says(says("", call("change"))).waits("1.1").events))
    assert await watcher.sees() == 3
    assert watcher.last_words == [
        "it waits for a person:",
        "  kova-auto approvals allow nightly@20261201T060000Z 1.1",
        "  kova-auto approvals deny nightly@20261201T060000Z 1.1",
    ]


async def test_every_call_that_waits_for_a_person_is_said() -> None:
    story = Story(a_request(job=SUSPENDS)).says(says("", call("change"), call("change"))).waits("1.1")
    watcher = Watcher(FakeService(list(story.events)))
    seeing = asyncio.create_task(watcher.sees())
    await watcher.notes.holds("waits for a person: call 1.1")
    for _ in range(50):  # turns of the loop, in which it could leave
        await asyncio.sleep(0)
    told = len(story.events)
    watcher.service.tell(*story.waits("1.2").events[told:])
    assert await seeing == 3
    assert [line for line in watcher.notes.getvalue().splitlines() if " approvals allow " in line] == [
        "  kova-auto approvals allow nightly@20261201T060000Z 1.1",
        "  kova-auto approvals allow nightly@20261201T060000Z 1.2",
    ]


async def test_the_first_ctrl_c_ends_the_run_and_follows_it_to_its_end() -> None:
    story = Story()
    watcher = Watcher(FakeService(list(story.events), on_cancel=stop(story)))
    watcher.presses.press()
    assert await watcher.sees() == 130
    assert watcher.service.asked == ["cancel nightly@20261201T060000Z by terminal: interrupted in the terminal"]
    assert watcher.last_words[-1].startswith("cancelled: enough")


async def test_the_second_ctrl_c_leaves_the_run_as_it_is() -> None:
    watcher = Watcher(FakeService(Story().events))
    watcher.presses.press()
    seeing = asyncio.create_task(watcher.sees())
    await watcher.notes.holds("ending the run")
    watcher.presses.press()
    assert await seeing == 130
    assert watcher.last_words[-1] == (
        "left as it is: run nightly@20261201T060000Z goes on under the next service (kova-auto serve)"
    )


async def test_the_end_of_this_process_leaves_the_run_as_it_is() -> None:
    watcher = Watcher(FakeService(Story().events))
    watcher.presses.end()
    assert (await watcher.sees(), watcher.service.asked) == (130, [])


async def test_a_run_that_finished_before_it_could_be_ended_is_shown() -> None:
    story = Story()
    watcher = Watcher(FakeService(list(story.events), on_cancel=IllegalEventError("the run has finished")))
    watcher.presses.press()
    seeing = asyncio.create_task(watcher.sees())
    await watcher.notes.holds("ending the run")
    watcher.service.tell(*story.ends(answer="Done.").events[3:])
    assert (await seeing, watcher.results.getvalue()) == (130, "Done.\n")


async def test_deliveries_are_waited_for() -> None:
    story = Story(a_request(job=NOTIFIED)).ends(answer="Done.")
    watcher = Watcher(FakeService(list(story.events)))
    seeing = asyncio.create_task(watcher.sees())
    await watcher.notes.holds("done")
    watcher.service.tell(*story.delivers("delivered").events[-2:])
    assert await seeing == 0
    assert watcher.last_words[-1] == "delivery to ci: delivered: the receiver answered"


async def test_a_delivery_that_is_due_much_later_is_not_waited_for() -> None:
    story = Story(a_request(job=NOTIFIED)).ends(answer="Done.").delivers("waiting", at("09:00:00"))
    watcher = Watcher(FakeService(story.events))
    assert await watcher.sees() == 0
    assert watcher.last_words[-1].endswith("serve tries again at 2026-12-01 09:00:00 UTC")


async def test_a_delivery_that_nobody_tried_in_time_is_said_to_be_owed() -> None:
    watcher = Watcher(FakeService(Story(a_request(job=NOTIFIED)).ends(answer="Done.").events))
    watcher.through.patience = timedelta(0)
    seeing = asyncio.create_task(watcher.sees())
    await watcher.notes.holds("done")
    assert await seeing == 0
    assert watcher.last_words[-1] == "delivery to ci: still owed; serve will try"


async def test_ctrl_c_while_deliveries_are_made_leaves_them() -> None:
    watcher = Watcher(FakeService(Story(a_request(job=NOTIFIED)).ends(answer="Done.").events))
    seeing = asyncio.create_task(watcher.sees())
    await watcher.notes.holds("done")
    watcher.presses.press()
    assert await seeing == 130


async def test_a_service_that_comes_back_is_followed_on() -> None:
    story = Story()
    watcher = Watcher(FakeService(list(story.events)))
    watcher.through.glance_s = 0.001
    seeing = asyncio.create_task(watcher.sees())
    await watcher.notes.holds("run nightly")
    watcher.service.fails = [JournalBusyError("the service went away")] * 3
    watcher.service.tell(*story.says(says("Fine.")).ends(answer="Fine.").events[3:])
    assert (await seeing, watcher.service.fails, watcher.results.getvalue()) == (0, [], "Fine.\n")


async def test_a_service_that_is_gone_for_good_is_an_error() -> None:
    watcher = Watcher(FakeService(Story().events))
    watcher.through.glance_s = 0.001
    seeing = asyncio.create_task(watcher.sees())
    await watcher.notes.holds("run nightly")
    watcher.service.fails = [JournalBusyError("the service went away")] * 100
    watcher.service.tell(*Story().asks().events[3:])
    with pytest.raises(JournalBusyError, match="went away"):
        await seeing
