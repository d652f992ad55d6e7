"""Instants are filled in by a whole service: asked for over its socket, opened as requests, told their date."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kova_auto.app.driving import drive_one
from kova_auto.app.remote import RemoteControl
from kova_auto.app.socket import listening
from kova_auto.core.backfill import Backfill
from kova_auto.core.event import Origin
from kova_auto.core.ids import JobName
from kova_auto.core.job import Outcome
from kova_auto.scheduling.filling import Filler
from tests.app.houses import Home
from tests.doubles.clock import HandClock
from tests.support import at

LOOK = JobName("look")


def item(home: Home, clock: str) -> Backfill:
    path = str(home.jobs / "look.toml")
    return Backfill(job=LOOK, nominal_at=at(clock), asked_at=at("06:00:00"), path=path, by="ada")


async def test_what_is_asked_for_over_the_socket_runs_one_after_the_other(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.job("look", 'schedule.cron = "0 * * * *"\n')
    wanted = (item(home, "04:00:00"), item(home, "05:00:00"))
    async with home.house(HandClock()) as house, listening(house.control, tmp_path / "s"):
        remote = await RemoteControl.connect(tmp_path / "s")
        assert await remote.backfill(wanted) == wanted
        assert await remote.backfill(wanted) == ()
        assert await remote.backfills("look") == wanted
        store = house.store
        filler = Filler(store.backfills, store.journal, store.views, house.opening.of_backfill, house.bells.work)
        seen = []
        for _ in wanted:
            await filler.look()
            (run,) = await store.views.runs(unfinished=True)
            await drive_one(house, run.run_id, asyncio.Event())
            seen.append((run.run_id, run.origin, run.nominal_at))
        ended = [row.outcome for row in await store.views.runs()]
        annals = await remote.annals("look", at("04:00:00"), at("05:00:00"))
        assert await remote.drop_backfills("look") == 0
        await remote.close()

    assert seen == [
        ("look+20261201T060000Z-20261201T040000Z", Origin.REQUEST, at("04:00:00")),
        ("look+20261201T060000Z-20261201T050000Z", Origin.REQUEST, at("05:00:00")),
    ]
    assert ended == [Outcome.DONE, Outcome.DONE]
    assert [run.nominal_at for run in annals.runs] == [at("04:00:00")]
    assert annals.ends_at is None


@pytest.mark.parametrize("rests", [True, False])
async def test_a_run_by_hand_of_a_paused_job_runs_and_the_schedule_still_rests(tmp_path: Path, rests: bool) -> None:
    home = Home(tmp_path)
    home.job("look", 'schedule.cron = "0 * * * *"\n')
    async with home.house(HandClock()) as house:
        if rests:
            await house.control.pause_job("look", "ada", "not now")
        run = await house.control.request(home.ask("look"))
        await drive_one(house, run.run_id, asyncio.Event())

        assert (await house.control.find(run.run_id)).outcome is Outcome.DONE
        assert [pause.reason for pause in await house.control.pauses()] == (["not now"] if rests else [])


async def test_resuming_says_whether_what_was_skipped_is_caught_up_with(tmp_path: Path) -> None:
    async with Home(tmp_path).house(HandClock()) as house, listening(house.control, tmp_path / "s"):
        remote = await RemoteControl.connect(tmp_path / "s")
        seen = []
        for catch_up in (True, False):
            await remote.pause_job("look", "ada", "")
            await remote.resume_job("look", "bob", catch_up=catch_up)
            seen += [(mark.paused, mark.catch_up, mark.by) for mark in await house.store.ledger.marks()]
        await remote.close()

    assert seen == [(False, True, "bob"), (False, False, "bob")]
