"""`kova-auto endpoints`: who may be told, and whether telling works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kova_auto.cli import endpoint_secret
from kova_auto.cli.asking import ask, change, person
from kova_auto.cli.endpoint_rows import health_json, say_state
from kova_auto.cli.frame import FAILED, new_app
from kova_auto.cli.ink import ink
from kova_auto.cli.job_rows import JsonDict
from kova_auto.cli.listing import listing
from kova_auto.cli.options import ConfigOption, JsonOption, settings_of
from kova_auto.cli.output import GREEN, RED, paint, say, say_json
from kova_auto.clock import SystemClock
from kova_auto.core.delivery.health import Health
from kova_auto.core.delivery.needs import NEEDS
from kova_auto.core.delivery.text import one_line
from kova_auto.core.errors import ConfigError
from kova_auto.core.job import Outcome
from kova_auto.core.owed import DeliveryStatus
from kova_auto.core.schedule.zone import parse_zone
from kova_auto.core.secret import SecretRef

if TYPE_CHECKING:
    from kova_auto.app.control import Answers, Control, Told
    from kova_auto.settings.model import EndpointTable, Settings

app = new_app("List endpoints; send one a test; enable one again; replace a secret.")
app.add_typer(endpoint_secret.app, name="secret")
_MANY = 10_000

HEAD = ("NAME", "FORMAT", "URL", "SECRET", "REACHES", "TIMEOUT", "STATE")
BEST_EFFORT = "best effort, no receipts"
_LIST = """\
List the endpoints of the settings, and how they are doing. Neither a URL nor a secret is ever shown: only where it
comes from.

With --json: a list of objects with name, format, url_from, secret_from, allow_http, allow_cidrs, timeout_s, receipts,
and how it is doing: state (unused, ok, failing, paused, disabled), failures, failing_since, last_failure,
last_success_at, paused_until, paused_why, disabled_at, disabled_why, gone, probe_at, told. Instants are UTC.
"""
_TEST = """\
Send an endpoint a test, outside of every run, and say what it answered.

With --as OUTCOME it is the report of a run that ended so, marked as a test. Exits with 1 if it was not delivered. One
that is delivered enables the endpoint, if it was disabled or paused.
"""
_ENABLE = """\
Let things be sent to an endpoint again that is disabled or paused.

What waits for it goes on. What was given up meanwhile is taken up only if you say so, by --retry-dead.
"""
_SCHEMA = """\
Write what is sent in the format standard as an OpenAPI 3.1 document, or the JSON Schema of one type of event.
"""


@app.command("list", help=_LIST)
def list_endpoints(*, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Show endpoints in a table."""
    settings, now = settings_of(config), SystemClock().now()
    found, health = sorted(settings.endpoints.items()), _health(settings)
    if json:
        say_json([{**_json(name, endpoint), **health_json(health.get(name), now)} for name, endpoint in found])
    elif found:
        zone = parse_zone(settings.timezone)
        rows = [(*_cells(name, endpoint), say_state(health.get(name), now, zone)) for name, endpoint in found]
        say(listing(HEAD, rows, ink()))
    else:
        say("No endpoints. [endpoints.NAME] in the settings makes one.")


def _health(settings: Settings) -> dict[str, Health]:
    """Return what is known of endpoints; nothing, where nothing was ever run."""
    if settings.database == "sqlite" and not settings.database_file.exists():
        return {}

    async def question(answers: Answers) -> tuple[Health, ...]:
        return await answers.healths()

    return {one.endpoint: one for one in ask(settings, question, kind="endpoints")}


def _url_from(endpoint: EndpointTable) -> str:
    if endpoint.url is None:
        return "format"
    return endpoint.url.source if isinstance(endpoint.url, SecretRef) else "settings"


def _json(name: str, endpoint: EndpointTable) -> JsonDict:
    return {
        "name": name,
        "format": endpoint.format.value,
        "url_from": _url_from(endpoint),
        "secret_from": ", ".join(one.source for one in endpoint.secret) or None,
        "allow_http": endpoint.allow_http,
        "allow_cidrs": list(endpoint.allow_cidrs),
        "timeout_s": endpoint.timeout.total_seconds(),
        "receipts": NEEDS[endpoint.format].receipts,
    }


def _cells(name: str, endpoint: EndpointTable) -> tuple[str, ...]:
    secret = ", ".join(one.source for one in endpoint.secret) or "-"
    wider = [*(["plain http"] if endpoint.allow_http else []), *endpoint.allow_cidrs]
    reaches = ", ".join(("public https", *wider)) if NEEDS[endpoint.format].receipts else BEST_EFFORT
    return name, endpoint.format.value, _url_from(endpoint), secret, reaches, f"{endpoint.timeout.total_seconds():g} s"


@app.command("test", help=_TEST)
def send_test(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the endpoint.", show_default=False)],
    *,
    outcome: Annotated[
        Outcome | None,
        typer.Option("--as", metavar="OUTCOME", help=f"{', '.join(Outcome)}.", show_default=False),
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Send one test."""

    async def question(control: Control) -> Told:
        return await control.test_endpoint(name, outcome)

    told = change(settings_of(config), question, kind="endpoints")
    word = paint("delivered", GREEN) if told.delivered else paint(told.result.replace("_", " "), RED)
    say(f"{name}: {word}: {one_line(told.detail, 400)}")
    if not told.delivered:
        raise typer.Exit(FAILED)


@app.command("schema", help=_SCHEMA)
def schema(
    kind: Annotated[str, typer.Option("--type", metavar="TYPE", help="As kova.run.failed.", show_default=False)] = "",
) -> None:
    """Write what a receiver needs to check what it is sent."""
    from kova_auto.core.delivery.schema import event_schema, event_types, openapi

    if kind and kind not in event_types():
        msg = f"wanted {', '.join(event_types())}, found {kind}"
        raise typer.BadParameter(msg, param_hint="--type")
    say_json(event_schema(kind) if kind else openapi())


@app.command("enable", help=_ENABLE)
def enable(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the endpoint.", show_default=False)],
    *,
    retry_dead: Annotated[bool, typer.Option("--retry-dead", help="Take up what was given up, too.")] = False,
    config: ConfigOption = None,
) -> None:
    """Enable one endpoint."""
    settings = settings_of(config)
    if name not in settings.endpoints:
        known = ", ".join(sorted(settings.endpoints)) or "none"
        msg = f"there is no endpoint {name}; the settings have {known}"
        raise ConfigError(msg, hint="kova-auto endpoints list shows them")

    async def question(control: Control) -> tuple[Health, int]:
        before = await control.enable_endpoint(name)
        dead = await control.deliveries(DeliveryStatus.DEAD, name, _MANY) if retry_dead else ()
        for row in dead:
            await control.requeue(row.delivery_id, person())
        return before, len(dead)

    before, taken_up = change(settings, question, kind="endpoints")
    was = say_state(before, SystemClock().now(), parse_zone(settings.timezone))
    more = f"; of what was given up, {taken_up} taken up again" if retry_dead else ""
    say(f"{name}: {paint('enabled', GREEN)}; it was {one_line(was, 300)}{more}")
