"""Drive a run of hundreds of iterations in a small window, in a process that may kill itself: PLACE LIFE KILL_AT."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.crash.points import DyingJournal, Points
from tests.engine.long_runs import WINDOW, LongRun
from tests.engine.tellers import Counter

PROMPT = "Please count to 120, one look at a time."
ANSWER = "120: zebra, notes/tally.txt"


async def live(place: Path, life: int, kill_at: int) -> None:
    """Go on where the life before was ended; its lease is over by then."""
    run = LongRun(place / "journal.db", Counter(window=WINDOW))
    run.stage.clock.later(60 * life)
    await run.open(PROMPT)
    await run.drive(DyingJournal(run.store.journal, Points(kill_at, place / "points.log")))
    await run.close()


if __name__ == "__main__":
    asyncio.run(live(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
