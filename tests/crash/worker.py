"""Advance one run on a shared database until it has ended or somebody else has it; say each outcome on a line.

Called as `python -m tests.crash.worker BASE DATABASE JOB NAME`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from kova_auto.app.control import RunAsk
from kova_auto.app.house import build
from kova_auto.core.ids import JobName, requested_run_id
from kova_auto.engine.dispatch import Advanced
from kova_auto.engine.service import Engine
from kova_auto.settings.load import load_settings
from tests.support import ALONE, at

LEASE = timedelta(seconds=1.5)
KEY = "shared"


async def work(base: Path, job: Path, name: str) -> None:
    """Advance until nothing is left to do here."""
    environ = {"HOME": str(base / "home"), "PATH": os.defpath, "DATABASE": sys.argv[2], **ALONE}
    house = await build(load_settings(base / "settings" / "kova-auto.toml", environ), environ)
    engine = Engine(replace(house.engine._world, worker=name), house.bells, lease=LEASE)
    await house.control.request(RunAsk(job=str(job), key=KEY, asked_at=at("06:00:00")))
    advanced = Advanced.BUSY
    while advanced is Advanced.BUSY:
        advanced = await engine.advance(requested_run_id(JobName(job.stem), at("06:00:00"), KEY))
        print(advanced, flush=True)
        await asyncio.sleep(0.2)
    await house.close()


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), Path(sys.argv[3]), sys.argv[4]))
