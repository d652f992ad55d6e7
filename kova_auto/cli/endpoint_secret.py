"""`kova-auto endpoints secret`: replace what an endpoint shares with us."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Annotated

import typer

from kova_auto.cli.frame import new_app
from kova_auto.cli.instants import named
from kova_auto.cli.options import ConfigOption, settings_of
from kova_auto.cli.output import say
from kova_auto.cli.run_rows import when
from kova_auto.clock import SystemClock
from kova_auto.core.duration import parse_duration
from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.zone import parse_zone
from kova_auto.settings.environment import environment

LONGEST = timedelta(days=30)
_ROTATE = """\
Replace an endpoint's secret. For a while the old one signs beside the new, so that the receiver can follow.

A secret in a file is written there. Any other is shown, once: put it where the settings say it is, and restart the
service. The old one is kept in the data directory until its time is over, for its owner alone.
"""
_DROP = """\
Let an endpoint's old secret sign no more, before its time is over.
"""
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Of the endpoint.", show_default=False)]

app = new_app("Replace the secret of an endpoint.")


@app.command("rotate", help=_ROTATE)
def rotate_secret(
    name: NameArgument,
    *,
    grace: Annotated[str, typer.Option("--grace", metavar="T", help="How long both sign: 24h, 7d.")] = "24h",
    config: ConfigOption = None,
) -> None:
    """Replace a secret."""
    from kova_auto.app.rotation import BYTES, rotate

    settings, lasting = settings_of(config), named("--grace", _lasting, grace)
    fresh = secrets.token_bytes(BYTES)
    done = rotate(settings, environment(), name, now=SystemClock().now(), grace=lasting, fresh=fresh)
    until = when(done.until, parse_zone(settings.timezone))
    if done.shown:
        say(done.shown)
        say(f"{name}: this is the new secret, shown once: put it in {done.place}, and restart the service.")
    else:
        say(f"{name}: the new secret is in {done.place}.")
    if done.public:
        say(done.public)
    given = "its public half, above," if done.public else "it"
    say(f"Give {given} to the receiver; both sign until {until}, and then the new one alone.")


@app.command("drop", help=_DROP)
def drop_secret(name: NameArgument, *, config: ConfigOption = None) -> None:
    """Drop the old secret."""
    from kova_auto.app.rotation import drop

    was_there = drop(settings_of(config), name)
    say(f"{name}: {'the old secret signs no more' if was_there else 'no old secret signs'}.")


def _lasting(text: str) -> timedelta:
    try:
        found = parse_duration(text)
    except ValueError as exc:
        raise ConfigError(str(exc)) from exc
    if not isinstance(found, timedelta) or not timedelta(0) < found <= LONGEST:
        msg = f"wanted a duration up to 30 days, found {text!r}"
        raise ConfigError(msg, hint="for example 24h or 7d")
    return found
