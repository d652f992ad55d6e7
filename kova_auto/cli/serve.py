"""`kova-auto serve`: the service itself."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from kova_auto import __version__
from kova_auto.cli.ending import INTERRUPTED
from kova_auto.cli.frame import new_app
from kova_auto.cli.job_rows import local, row_of, zone_of
from kova_auto.cli.job_source import JobSource
from kova_auto.cli.logs import LEVELS, keep_secrets, log_service
from kova_auto.cli.options import ConfigOption, settings_of
from kova_auto.cli.seen import first_seen
from kova_auto.cli.systemd import notify
from kova_auto.core.delivery.document import count
from kova_auto.core.errors import ConfigError
from kova_auto.core.ids import JobName
from kova_auto.core.job import Job
from kova_auto.settings.environment import Environment, environment

if TYPE_CHECKING:
    from kova_auto.app.house import House
    from kova_auto.settings.model import Settings

LOG = logging.getLogger(__name__)
_SHOWN = 10
_ABOUT = """\
Be the service: open runs as their schedules say, drive them, and deliver what came of them.

It owns the database; other commands ask it. It logs to standard error. SIGTERM and Ctrl-C let the steps under way end;
what then still runs, or a second signal cuts off, goes on from exactly that step at the next start.

Exit codes: 0 stopped as asked; 1 another service is there, or the database cannot be used; 2 the settings are wrong;
130 stopped at once.
"""

app = new_app(_ABOUT)


@app.command(help=_ABOUT)
def serve(
    *,
    config: ConfigOption = None,
    level: Annotated[
        str, typer.Option("--log-level", metavar="LEVEL", help=f"What to log: {', '.join(LEVELS)}.")
    ] = "info",
) -> None:
    """Serve until asked to stop."""
    settings, environ = settings_of(config), environment()
    if level not in LEVELS:
        msg = f"--log-level: wanted one of {', '.join(LEVELS)}, found {level!r}"
        raise ConfigError(msg)
    log_service(level, environ)
    raise typer.Exit(asyncio.run(_Service(settings, environ).run()))


class _Service:
    """Start, heed signals, stop."""

    def __init__(self, settings: Settings, environ: Environment) -> None:
        self._settings, self._environ = settings, environ
        self._stop = asyncio.Event()
        self._house: House | None = None
        self._is_hurried = False

    async def run(self) -> int:
        """Serve until a signal; return the exit code."""
        loop, serving = asyncio.get_running_loop(), asyncio.create_task(self._serve())
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._heed, number, serving)
        with contextlib.suppress(asyncio.CancelledError):
            return await serving
        return 0

    async def _serve(self) -> int:
        from kova_auto.app.connect import owning
        from kova_auto.app.serving import serve
        from kova_auto.app.zones import zone_rules

        LOG.info("kova-auto %s, data in %s", __version__, self._settings.data_dir)
        LOG.info("%s", zone_rules())
        async with owning(self._settings, self._environ) as house:
            keep_secrets(house)
            for line in _schedule(self._settings, house.clock.now()):
                LOG.info("%s", line)
            self._house = house
            notify(self._environ, "READY=1")
            await serve(house, self._stop)
        LOG.info("stopped")
        return INTERRUPTED if self._is_hurried else 0

    def _heed(self, number: signal.Signals, serving: asyncio.Task[int]) -> None:
        """Stop; at once where somebody asks a second time, or nothing has begun."""
        if self._house is None:
            serving.cancel()
        elif self._stop.is_set():
            LOG.warning("%s again: stopping at once", number.name)
            self._is_hurried = True
            self._house.engine.stopping.now.set()
        else:
            LOG.info("%s: stopping", number.name)
            notify(self._environ, "STOPPING=1")
            self._stop.set()


def _schedule(settings: Settings, now: datetime) -> Iterator[str]:
    """Yield what will happen by itself, soonest first; what is wrong with a file is said where it is read."""
    source = JobSource(settings)
    try:
        found, calendars = source.load_each(source.paths([])), settings.calendar_dates
        seen = first_seen(settings, [job for _, job in found if isinstance(job, Job)], asks=False)
        rows = [
            row_of(path, loaded, now, calendars=calendars, first_seen_at=seen.get(JobName(path.stem)))
            for path, loaded in found
        ]
    except ConfigError:
        return
    broken = sum(row.job is None for row in rows)
    yield f"{count(len(rows) - broken, 'job')}, {count(broken, 'broken file')}"
    coming = sorted(
        ((row.next_at, row.name, row.job) for row in rows if row.job and row.next_at), key=lambda found: found[:2]
    )
    for instant, name, job in coming[:_SHOWN]:
        yield f"next: {name} at {local(instant, zone_of(job))}"
