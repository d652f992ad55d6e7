"""`kova-auto deliveries`: what endpoints are owed, and trying again."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from kova_auto.cli.account import Account
from kova_auto.cli.asking import ask, person
from kova_auto.cli.delivery_story import tell
from kova_auto.cli.ending import INTERRUPTED
from kova_auto.cli.frame import FAILED, new_app
from kova_auto.cli.ink import ink
from kova_auto.cli.instants import named
from kova_auto.cli.listing import listing
from kova_auto.cli.logs import keep_secrets, log_warnings
from kova_auto.cli.options import ConfigOption, JsonOption, settings_of
from kova_auto.cli.output import say, say_json
from kova_auto.cli.presses import Presses
from kova_auto.cli.run_rows import when
from kova_auto.cli.screen import screen
from kova_auto.cli.through import GLANCE_S, PATIENCE, Through
from kova_auto.cli.usage import since_of
from kova_auto.clock import SystemClock
from kova_auto.core.delivery.story import Story, Try
from kova_auto.core.delivery.text import one_line
from kova_auto.core.errors import ConfigError
from kova_auto.core.event import DeliveryRequeued, Event
from kova_auto.core.ids import DeliveryId, RunId
from kova_auto.core.owed import OPEN, Cause, DeliveryStatus
from kova_auto.core.schedule.zone import parse_zone
from kova_auto.core.view import DeliveryRow
from kova_auto.settings.environment import environment

if TYPE_CHECKING:
    from kova_auto.app.connect import Connection
    from kova_auto.app.control import Answers, Control
    from kova_auto.settings.model import Settings

app = new_app("List and show what endpoints are owed; try again.")

HEAD = ("DELIVERY", "ENDPOINT", "STATUS", "ATTEMPTS", "NEXT", "RUN", "DETAIL")
_MANY = 10_000
RETENTION = timedelta(days=30)
_GIVEN_UP = (DeliveryStatus.DEAD, DeliveryStatus.CANCELLED)
_STATUSES = ", ".join(status.value for status in DeliveryStatus)
_LIST = f"""\
List what endpoints are owed and were told, newest first.

With --json: a list of objects with {", ".join(DeliveryRow.model_fields)}. Instants are UTC.
"""
_RETRY = """\
Try deliveries again now, and say what came of it.

With a live service that one tries; else this command does. The receiver sees the id that it saw before. Exits with 0 if
all were delivered, else with 1.

--all-dead takes what was given up or cancelled and is not older than 30 days. --since takes what was owed since then
and is dead, cancelled or unknown: of the unknown the receiver may be told twice.
"""
_SHOW = f"""\
Show all that is on record of one delivery: each attempt, what the receiver said, and what comes next.

With --json: an object with {", ".join(Story.model_fields)}; each of tries has {", ".join(Try.model_fields)}.
"""

EndpointOption = Annotated[
    str | None, typer.Option("--endpoint", metavar="NAME", help="Only those to this endpoint.", show_default=False)
]


@app.command("list", help=_LIST)
def list_deliveries(
    *,
    status: Annotated[
        DeliveryStatus | None, typer.Option("--status", help=f"Only those that are {_STATUSES}.", show_default=False)
    ] = None,
    endpoint: EndpointOption = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=_MANY, help="How many.")] = 50,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show deliveries in a table."""
    settings = settings_of(config)

    async def question(answers: Answers) -> tuple[DeliveryRow, ...]:
        return await answers.deliveries(status, endpoint, limit)

    rows = ask(settings, question, kind="deliveries")
    if json:
        say_json([row.model_dump(mode="json") for row in rows])
    elif rows:
        zone = parse_zone(settings.timezone)
        say(listing(HEAD, [_cells(row, when(row.next_at, zone)) for row in rows], ink()))
    else:
        say("Nothing is owed to anybody." if status is None else f"No delivery is {status}.")


def _cells(row: DeliveryRow, next_at: str) -> tuple[str, ...]:
    return row.delivery_id, row.endpoint, row.status, f"{row.attempts}", next_at, row.run_id, row.detail


@app.command("show", help=_SHOW)
def show(
    delivery: Annotated[str, typer.Argument(metavar="DELIVERY", help="Id of a delivery.", show_default=False)],
    *,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show one delivery."""
    settings = settings_of(config)

    async def question(answers: Answers) -> Story:
        return await answers.delivery(DeliveryId(delivery))

    found = ask(settings, question, kind="deliveries")
    if json:
        say_json(found.model_dump(mode="json"))
        return
    for line in tell(found, SystemClock().now(), parse_zone(settings.timezone)):
        say(line)


@app.command("retry", help=_RETRY)
def retry(
    delivery: Annotated[
        str | None, typer.Argument(metavar="DELIVERY", help="Id of a delivery.", show_default=False)
    ] = None,
    *,
    all_dead: Annotated[bool, typer.Option("--all-dead", help="All that were given up.")] = False,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="T", help="All that failed since: a date, an instant, 2h.", show_default=False),
    ] = None,
    endpoint: EndpointOption = None,
    config: ConfigOption = None,
) -> None:
    """Take up one delivery, or many."""
    if (delivery is None) is not (all_dead or since is not None):
        msg = "wanted either a delivery's id or --all-dead or --since"
        raise ConfigError(msg)
    if endpoint and delivery:
        msg = "--endpoint goes with --all-dead and --since"
        raise ConfigError(msg)
    log_warnings()
    settings, now = settings_of(config), SystemClock().now()
    begin = named("--since", lambda text: since_of(text, now, settings.timezone), since) if since else now - RETENTION
    raise typer.Exit(asyncio.run(_retry(settings, delivery, _Failed(all_dead, begin, endpoint))))


@dataclass(frozen=True, slots=True)
class _Failed:
    """Say which deliveries are meant: those that failed since an instant, perhaps to one endpoint alone."""

    only_dead: bool
    since: datetime
    endpoint: str | None

    async def ids(self, control: Control) -> list[DeliveryId]:
        found: list[DeliveryRow] = []
        for status in _GIVEN_UP if self.only_dead else (*_GIVEN_UP, DeliveryStatus.UNKNOWN):
            found += await control.deliveries(status, self.endpoint, _MANY)
        return [row.delivery_id for row in found if row.owed_at >= self.since]


async def _retry(settings: Settings, delivery: str | None, failed: _Failed) -> int:
    from kova_auto.app.connect import connected

    async with connected(settings, environment(), kind="deliveries", drives=True) as connection:
        keep_secrets(connection.house)
        control = connection.control
        ids = [DeliveryId(delivery)] if delivery else await failed.ids(control)
        if not ids:
            say("No delivery is dead.")
            return 0
        runs: dict[RunId, list[DeliveryId]] = defaultdict(list)
        alerts: list[DeliveryRow] = []
        for delivery_id in ids:
            row = await control.requeue(delivery_id, person())
            if row.cause == Cause.ALERT:
                alerts.append(row)
            else:
                runs[row.run_id].append(delivery_id)
        codes = [await _told(connection, run_id, wanted) for run_id, wanted in runs.items()]
        codes += [await _told_of_alert(connection, row) for row in alerts]
    return max(codes)


async def _told(connection: Connection, run_id: RunId, wanted: list[DeliveryId]) -> int:
    """Show what comes of deliveries of one run; return the exit code."""
    through = Through(connection, run_id, Account(screen(), as_json=False), Presses(), SystemClock())
    facts = await connection.control.events(run_id, 0, 0)
    asked = [index for index, placed in enumerate(facts) if _asks_for(placed.event, wanted)]
    before = asked[-len(wanted)]
    through.account.take(facts[:before], is_shown=False)
    through.account.take(facts[before:])
    through.presses.heed()
    if not await through.to_told():
        return INTERRUPTED
    owed = through.account.state.deliveries
    return 0 if all(owed[key].status is DeliveryStatus.DELIVERED for key in wanted) else FAILED


async def _told_of_alert(connection: Connection, row: DeliveryRow) -> int:
    """Show what comes of a delivery that no run owes; return the exit code."""
    deadline = SystemClock().now() + PATIENCE
    if connection.house:
        from kova_auto.app.serving import deliver_one

        await deliver_one(connection.house, row.run_id, patience=PATIENCE)
        row = await _as_it_is(connection.control, row)
    while row.status in OPEN and not row.next_at and SystemClock().now() < deadline:
        await asyncio.sleep(GLANCE_S)
        row = await _as_it_is(connection.control, row)
    detail = f": {one_line(row.detail, 200)}" if row.detail else ""
    say(f"delivery to {row.endpoint}, {row.run_id}: {row.status}{detail}")
    return 0 if row.status == DeliveryStatus.DELIVERED else FAILED


async def _as_it_is(control: Control, row: DeliveryRow) -> DeliveryRow:
    rows = await control.deliveries(None, row.endpoint, _MANY)
    return next((one for one in rows if one.delivery_id == row.delivery_id), row)


def _asks_for(event: Event, wanted: list[DeliveryId]) -> bool:
    return isinstance(event, DeliveryRequeued) and event.delivery_id in wanted
