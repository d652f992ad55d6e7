"""What people complain of in other systems about children, on a service whose loops all turn: cases T72 and T136."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from kova_auto.app.house import House
from kova_auto.clock import SystemClock
from kova_auto.core.delivery.signature import parse_secret, spell_secret
from kova_auto.core.event import ModelCallStarted
from kova_auto.core.ids import RunId
from kova_auto.delivery.receiver import Receiver
from tests.app.families import FIRST, RUN, call, child, leads, played, task, turn
from tests.app.houses import UNCONFINED, Home
from tests.app.test_state_complaints import Hurried, ended, is_alive, serving

SPELLED = spell_secret(bytes(range(32)))
ENDPOINT = """
[endpoints.ci]
url = "{url}"
secret = {{ env = "SECRET" }}
allow_http = true
allow_cidrs = ["127.0.0.0/8"]
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path.resolve(), {"SECRET": SPELLED})


async def asked(house: House) -> int:
    """Return how often the models of the family were asked."""
    facts = [fact for run_id in (RUN, FIRST) for _, fact in await house.store.journal.events(run_id)]
    return sum(isinstance(fact, ModelCallStarted) for fact in facts)


async def of_another_job(house: House, home: Home, key: str) -> RunId:
    """Have the service run something else to its end: by then all of its loops have turned."""
    row = await house.control.request(home.ask("other", key=key))
    await ended(house, row.run_id)
    return row.run_id


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="this machine does not say who is alive")
async def test_a_final_answer_beside_a_child_and_a_timer_ends_nothing_early_and_nothing_asks_a_model_later(
    home: Home,
) -> None:
    timer = call("bash", command="echo $$ > timer; exec sleep 600", run_in_background=True)
    waits = child(turn("", call("bash", command="cat gate")), turn("found it"))
    leads(home, played([turn("I send one.", task(), timer), turn("I am done."), turn("It was found.")], waits))
    home.job("other")
    for pipe in ("gate", "timer"):
        os.mkfifo(home.workspace / pipe)
    clock = Hurried()
    async with serving(home, clock) as house:
        await house.control.request(home.ask("lead"))
        pid = int(await asyncio.to_thread((home.workspace / "timer").read_text))
        gate = await asyncio.to_thread((home.workspace / "gate").open, "w")  # Once the child reads there.
        while (at_work := await house.control.find(RUN)).iterations < 2:
            await house.control.events(RUN, 10**6, 1)
        await of_another_job(house, home, "meanwhile")
        assert at_work.outcome is None
        assert is_alive(pid)

        gate.close()
        row = await ended(house, RUN)
        assert (row.outcome, row.answer_excerpt, is_alive(pid)) == ("done", "It was found.", False)

        asked_before = await asked(house)
        for minute in range(10):
            clock.ahead_s += 60
            await of_another_job(house, home, f"minute {minute}")
        assert (asked_before, await asked(house)) == (5, 5)


@pytest.mark.parametrize("when", ['["failed"]', '"always"'])
async def test_children_are_as_silent_as_their_parent_and_it_tells_once(home: Home, when: str) -> None:
    notify = f'[[notify]]\nendpoint = "ci"\nwhen = {when}\n'
    good, bad = child(turn("left it is")), child(turn("right"), agent="explorer", expect="what nobody was told")
    sends = turn("I send two.", task(what="left"), task("explorer", what="right"))
    async with Receiver([parse_secret(SPELLED)], SystemClock().now) as receiver:
        home.settings(ENDPOINT.format(url=receiver.url))
        leads(home, played([sends, turn("So."), turn("One of them failed.")], good, bad), f"{UNCONFINED}{notify}")
        home.job("other", '[[notify]]\nendpoint = "ci"\n')
        async with serving(home) as house:
            await house.control.request(home.ask("lead"))
            assert (await ended(house, RUN)).outcome == "done"
            outcomes = {row.outcome for row in await house.control.family(RUN)}
            other = await of_another_job(house, home, "behind it")
            await receiver.wait_for(1 if "failed" in when else 2)
        told = [json.loads(message.body)["data"]["run_id"] for message in receiver.received]

    assert outcomes == {"done", "failed"}
    assert sorted(told) == ([other] if "failed" in when else [RUN, other])
