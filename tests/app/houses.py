"""A whole service on a home of its own, with scripted jobs in it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kova_auto.app.control import RunAsk
from kova_auto.app.house import House, build
from kova_auto.core.ids import JobName, RunId, requested_run_id
from kova_auto.core.ports import SteadyClock
from kova_auto.settings.load import load_settings
from kova_auto.store.owner import Owner, acquire_owner
from tests.support import ALONE, at

SAYS = '[[turns]]\ntext = "Well."\n'
UNCONFINED = 'automation = "full"\n[permissions]\nsandbox = "off"\n'
"""Needs no confinement, which not every machine that runs tests can prove."""


@dataclass(frozen=True)
class Home:
    """Hold a person's home directory."""

    path: Path
    environ: Mapping[str, str] = field(default_factory=dict)

    @property
    def jobs(self) -> Path:
        return self.path / ".config" / "kova-auto" / "jobs"

    @property
    def workspace(self) -> Path:
        return self.path / "work"

    def settings(self, text: str) -> None:
        """Write the settings."""
        self.jobs.mkdir(parents=True, exist_ok=True)
        (self.jobs.parent / "kova-auto.toml").write_text(text)

    def job(self, name: str, more: str = "", script: str | None = SAYS) -> Path:
        """Write a job; `more` are further keys and tables."""
        self.jobs.mkdir(parents=True, exist_ok=True)
        self.workspace.mkdir(exist_ok=True)
        said = f'prompt = "Look."\nworkspace = "{self.workspace}"\n'
        if script is not None:
            said += f'script = "{name}.script.toml"\n'
            (self.jobs / f"{name}.script.toml").write_text(script)
        (self.jobs / f"{name}.toml").write_text(said + more)
        return self.jobs / f"{name}.toml"

    def ask(self, name: str, **more: object) -> RunAsk:
        """Ask for a run of a job."""
        asked = {"job": str(self.jobs / f"{name}.toml"), "key": "k", "asked_at": at("06:00:00")}
        return RunAsk.model_validate({**asked, **more})

    @asynccontextmanager
    async def house(self, clock: SteadyClock | None = None) -> AsyncIterator[House]:
        """Be the owner of the database, and the service."""
        environ = {"HOME": str(self.path), "PATH": os.defpath, **ALONE, **self.environ}
        settings = load_settings(None, environ)
        owner = acquire_owner(settings.data_dir, kind="test")
        assert isinstance(owner, Owner)
        with owner:
            house = await build(settings, environ, clock=clock)
            yield house
            await house.close()


def id_of(name: str) -> RunId:
    """Return the id of the run that `Home.ask` asks for."""
    return requested_run_id(JobName(name), at("06:00:00"), "k")
