"""Take in requests in processes that kill themselves at one write after the other, from the 202 to the run's opening.

Writes one line of JSON for each kill: where it was, how the process ended and what it said, and what the next one said.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from kova_auto.app.house import House, build
from kova_auto.app.inbound import InboundDesk
from kova_auto.app.serving import _book, _scheduler
from kova_auto.settings.load import load_settings
from kova_auto.store.database import Work
from kova_auto.store.owner import OwnedBy, acquire_owner
from tests.core.inbound.senders import signed
from tests.support import ALONE
from tests.web.outside import a_home, a_hook

BODY = b'{"ref": "refs/heads/main"}'
FURTHEST = 16
Say = Callable[[object], None]
Write = Callable[[Work[Any]], Awaitable[Any]]


def dying(write: Write, kill_at: int) -> Write:
    """Return a database's write that kills this process before or behind one of its pieces of work."""
    done = 0

    def point() -> None:
        nonlocal done
        done += 1
        if done == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    async def wrapped(work: Work[Any]) -> object:
        point()
        found = await write(work)
        point()
        return found

    return wrapped


async def receive(house: House, say: Say) -> None:
    """Be sent one request, and say what was answered."""
    book = _book(house)
    book.refresh()
    desk = InboundDesk(book, house.store.hooks, house.clock, house.vault, lambda: None)
    request = signed("github", BODY, now=int(house.clock.now().timestamp()))
    answer = await desk.take("deploy", request, "application/json")
    say(answer.status)


async def live(home: Path, kill_at: int, say: Say) -> None:
    """Receive, look at the schedule, and say which runs there are."""
    settings = load_settings(None, {"HOME": str(home), "PATH": os.defpath, **a_home(home).environ, **ALONE})
    owner = acquire_owner(settings.data_dir, kind="victim")
    assert not isinstance(owner, OwnedBy)
    house = await build(settings, {"HOME": str(home), "PATH": os.defpath, **a_home(home).environ, **ALONE})
    if kill_at:
        object.__setattr__(house.store.database, "write", dying(house.store.database.write, kill_at))
    await receive(house, say)
    await _scheduler(house, _book(house)).tick()
    for row in await house.store.views.runs():
        say(f"{row.job} {row.origin}")
    await house.close()


def forked(home: Path, kill_at: int) -> tuple[int, list[str]]:
    """Return how a process ended, and what it said."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            asyncio.run(live(home, kill_at, partial(print, file=os.fdopen(writing, "w", buffering=1))))
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read().splitlines()
    return os.waitpid(child, 0)[1], said


def main(base: Path) -> None:
    """Kill at one point after the other, until there is none left."""
    for kill_at in range(1, FURTHEST + 1):
        home = base / f"{kill_at}"
        home.mkdir()
        a_hook(a_home(home))
        status, said = forked(home, kill_at)
        print(json.dumps([kill_at, status, said, *forked(home, 0)]), flush=True)
        if status == 0:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
