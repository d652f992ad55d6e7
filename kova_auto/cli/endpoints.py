"""`kova-auto endpoints`: who may be told, and whether telling works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kova_auto.cli.asking import change
from kova_auto.cli.frame import FAILED, new_app
from kova_auto.cli.job_rows import JsonDict
from kova_auto.cli.options import ConfigOption, JsonOption, settings_of
from kova_auto.cli.output import GREEN, RED, paint, say, say_json, table
from kova_auto.core.delivery.text import one_line
from kova_auto.core.job import Outcome
from kova_auto.core.secret import SecretRef

if TYPE_CHECKING:
    from kova_auto.app.control import Control, Told
    from kova_auto.settings.model import EndpointTable

app = new_app("List endpoints; send one a test.")

HEAD = ("NAME", "FORMAT", "URL", "SECRET", "REACHES", "TIMEOUT")
_LIST = """\
List the endpoints of the settings. Neither a URL nor a secret is ever shown: only where it comes from.

With --json: a list of objects with name, format, url_from, secret_from, allow_http, allow_cidrs, timeout_s.
"""
_TEST = """\
Send an endpoint a test, outside of every run, and say what it answered.

With --as OUTCOME it is the report of a run that ended so, marked as a test. Exits with 1 if it was not delivered.
"""
_SCHEMA = """\
Write what is sent in the format standard as an OpenAPI 3.1 document, or the JSON Schema of one type of event.
"""


@app.command("list", help=_LIST)
def list_endpoints(*, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Show endpoints in a table."""
    found = sorted(settings_of(config).endpoints.items())
    if json:
        say_json([_json(name, endpoint) for name, endpoint in found])
    elif found:
        say(table(HEAD, [_cells(name, endpoint) for name, endpoint in found]))
    else:
        say("No endpoints. [endpoints.NAME] in the settings makes one.")


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
    }


def _cells(name: str, endpoint: EndpointTable) -> tuple[str, ...]:
    secret = ", ".join(one.source for one in endpoint.secret) or "-"
    wider = [*(["plain http"] if endpoint.allow_http else []), *endpoint.allow_cidrs]
    reaches = ", ".join(("public https", *wider))
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
