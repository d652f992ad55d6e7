"""Run the command as a person does: with a home of its own, and a clock that stands still."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from textwrap import dedent

from typer.testing import CliRunner, Result

from kova_auto.cli.main import app
from kova_auto.core.ports import Clock
from tests.support import ALONE

NOW = datetime(2026, 3, 27, 12, tzinfo=UTC)


class StoppedClock:
    """Tell one time for ever."""

    def now(self) -> datetime:
        return NOW


@contextmanager
def logging_restored() -> Iterator[None]:
    """Undo what a command does to the process's logging: other tests run in this process too."""
    known = [logging.getLogger(name) for name in ("", *logging.root.manager.loggerDict)]
    before = [(logger, logger.level, list(logger.handlers)) for logger in known]
    try:
        yield
    finally:
        logging.captureWarnings(capture=False)
        for logger, level, handlers in before:
            if logger.level != level:  # to set it makes every logger forget what it knows
                logger.setLevel(level)
            logger.handlers[:] = handlers


@dataclass(frozen=True)
class Home:
    """Hold a person's home directory."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / ".config" / "kova-auto"

    @property
    def jobs(self) -> Path:
        return self.config / "jobs"

    def run(self, *args: str, clock: Clock | None = None) -> Result:
        environ = {
            "HOME": str(self.path),
            "TZ": "Europe/Berlin",
            "XDG_CONFIG_HOME": None,
            "XDG_DATA_HOME": None,
            "STATE_DIRECTORY": None,
            **ALONE,
        }
        with logging_restored():
            return CliRunner(env=environ).invoke(app, args, obj=clock or StoppedClock(), prog_name="kova-auto")

    def settings(self, text: str) -> None:
        self.config.mkdir(parents=True, exist_ok=True)
        (self.config / "kova-auto.toml").write_text(dedent(text))

    def job(self, name: str, text: str) -> Path:
        self.jobs.mkdir(parents=True, exist_ok=True)
        path = self.jobs / f"{name}.toml"
        path.write_text(dedent(text))
        return path
