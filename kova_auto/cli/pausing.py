"""Know which jobs' schedules rest, without making a listing wait for it, and say so."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from kova_auto.cli.asking import ask
from kova_auto.cli.output import complain
from kova_auto.core.errors import KovaError
from kova_auto.core.ids import JobName
from kova_auto.core.parked import Parked
from kova_auto.core.pausing import Pause
from kova_auto.settings.environment import environment

if TYPE_CHECKING:
    from kova_auto.app.control import Answers
    from kova_auto.settings.model import Settings


def pauses_known(settings: Settings) -> dict[JobName, Pause]:
    """Return the jobs whose schedules rest; where that cannot be had, it is said, and the rest of the answer stands."""
    from kova_auto.app.glance import pauses_at_a_glance

    try:
        seen = pauses_at_a_glance(settings)
        return {pause.job: pause for pause in ask(settings, _pauses, kind="jobs")} if seen is None else seen
    except KovaError as exc:
        complain(f"whether schedules rest is not known: {exc}", "note")
        return {}


async def _pauses(answers: Answers) -> tuple[Pause, ...]:
    return await answers.pauses()


def parked_known(settings: Settings) -> dict[JobName, Parked]:
    """Return what a live service has of the jobs whose files are broken; nothing where none lives, or that is said."""
    from kova_auto.app.parking import parked

    try:
        return {one.job: one for one in asyncio.run(parked(settings, environment()))}
    except KovaError as exc:
        complain(f"what goes on of broken files is not known: {exc}", "note")
        return {}


def spell_pause(pause: Pause, zone: ZoneInfo) -> str:
    """Say since when a schedule rests, and why."""
    since = pause.at.astimezone(zone).isoformat(" ", "minutes")
    return f"paused since {since} by {pause.by}" + (f": {pause.reason}" if pause.reason else "")
