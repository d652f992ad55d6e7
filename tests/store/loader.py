"""Load a journal until somebody kills this process; say on stdout what was promised to be kept.

Run as `python -m tests.store.loader PATH`.
"""

from __future__ import annotations

import asyncio
import sys

from kova_auto.core.event import DeliveryRequeued, RunFinished
from kova_auto.core.job import Outcome
from kova_auto.store.store import Store, open_store
from tests.support import a_job, a_request, at


async def press(store: Store, name: str) -> None:
    """Append to one run for ever."""
    state, _ = await store.journal.open(a_request(f"{name}@1", job=a_job(name, notify=({"endpoint": "ci"},))))
    state = await store.journal.append(state, RunFinished(at=at("06:00:01"), outcome=Outcome.DONE, answer="x" * 500))
    owed = next(iter(state.deliveries))
    while True:
        blob = f"{name} {state.seq}".encode()
        event = DeliveryRequeued(at=at("06:00:02"), delivery_id=owed, by="y" * 500)
        state = await store.journal.append(state, event, blobs=[blob])
        sys.stdout.write(f"{state.run_id} {state.seq} {blob.decode()}\n")
        sys.stdout.flush()


async def main(path: str) -> None:
    """Append to eight runs at once."""
    store = open_store(path, create=True)
    await asyncio.gather(*(press(store, f"job{index}") for index in range(8)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
