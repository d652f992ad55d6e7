"""The options and arguments that many commands share, and what follows from them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kova_auto.clock import SystemClock

if TYPE_CHECKING:
    from kova_auto.settings.model import Settings

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Settings file, instead of kova-auto.toml in your configuration directory.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON, for programs.")]


def settings_of(config: Path | None) -> Settings:
    """Load the settings: this costs time, so only where they are needed.

    Raises:
        SettingsError: Something is wrong with them.
    """
    from kova_auto.settings.environment import environment
    from kova_auto.settings.load import load_settings

    return load_settings(config, environment())


def now_of(context: typer.Context) -> datetime:
    """Return the present instant, UTC; the context may bring a clock of its own."""
    return (context.obj or SystemClock()).now()
