"""Who is woken by which bell, and that nothing stays behind."""

from __future__ import annotations

from kova_auto.core.ids import RunId
from kova_auto.engine.bells import Alarm, Bell, Bells, Ear

RUN = RunId("nightly@20261201T060000Z")


async def test_a_bell_that_is_rung_wakes_its_waiter_and_remembers() -> None:
    bell = Bell()
    waiter = bell.waiter()
    bell.set()
    bell.set()
    await waiter
    assert bell.rung


async def test_an_alarm_wakes_who_listens_and_rings_nothing() -> None:
    alarm, bell = Alarm(), Bell()
    alarm.bells.add(bell)
    waiter = bell.waiter()
    alarm.set()
    await waiter
    await alarm.wait()
    assert not bell.rung


async def test_a_bell_that_was_taken_down_is_rung_no_more() -> None:
    bells, bell = Bells(), Bell()
    bells.hang(bell, Ear.DRIVE, RUN)
    bells.asked(RunId("another"))
    assert not bell.rung

    bells.take_down(bell, Ear.DRIVE, RUN)
    bells.asked(RUN)
    assert not bell.rung
