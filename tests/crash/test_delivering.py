"""Five hundred runs are told to receivers that fail at random, by a service that is killed again and again."""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kova_auto.core.delivery.signature import spell_secret
from kova_auto.core.ids import DeliveryId
from kova_auto.core.owed import TOLD_TOGETHER, Cause, DeliveryStatus
from kova_auto.core.view import DeliveryRow
from kova_auto.store.store import open_store
from tests.crash.teller import ENDPOINTS, MANY
from tests.support import ROOT
from tests.support.chaos import Fault, Talk, chaos

RUNS, KILLS, FAILS = 500, 10, 0.3
MOST = 4
"""So often does who drops repeats fail a message at most: six of its ten attempts are left to the kills."""
LIVES_AT_LAST_S = 1200
SETTINGS = """
data_dir = "{base}/data"

[endpoints.ci]
url = "http://127.0.0.1:{port}/ci"
secret = {{ env = "HOOK" }}
allow_http = true
allow_cidrs = ["127.0.0.0/8"]
timeout = "30s"

[endpoints.team]
format = "slack"
url = {{ env = "TEAM" }}
allow_http = true
allow_cidrs = ["127.0.0.0/8"]
timeout = "30s"
"""


class Moody:
    """Take most messages, and fail in one of many ways otherwise; know what was taken."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._failed: Counter[str] = Counter()
        self.taken: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.asked = 0

    async def act(self, talk: Talk) -> None:
        self.asked += 1
        if self._random.random() >= FAILS or self._has_failed_often(talk):
            self._take(talk)
            await talk.say(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
            return
        how = self._random.choice(("500", "throttled", "closes", "breaks off", "takes and breaks off", "half a head"))
        self.failures[how] += 1
        match how:
            case "500":
                await talk.say(b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n")
            case "throttled":
                await talk.say(b"HTTP/1.1 429 Slow\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n")
            case "breaks off":
                await talk.reset()
            case "takes and breaks off":
                self._take(talk)
                await talk.reset()
            case "half a head":
                await talk.say(b"HTTP/1.1 200 OK\r\ncont")
            case _:
                return

    def _has_failed_often(self, talk: Talk) -> bool:
        """Count one failure more, and say whether that were one too many; of a message without an id none is."""
        assert talk.request is not None
        message = talk.request.header("webhook-id")
        self._failed[message] += 1
        return bool(message) and self._failed[message] > MOST

    def _take(self, talk: Talk) -> None:
        assert talk.request is not None
        if re.search(rb"kova\.endpoint\.|Endpoint (ci|team): ", talk.request.body):
            return  # One hears of the other's trouble: that is no result.
        runs = {run.decode() for run in re.findall(rb"nightly@[0-9]+", talk.request.body)}
        assert runs
        self.taken.update(f"{talk.request.path[1:]} {run}" for run in runs)


async def told(base: Path, begun_at: datetime, rng: random.Random, moody: Moody) -> int:
    """Have a service tell everything, killed so often, each time at some request; return how often it was begun."""
    command = [sys.executable, "-m", "tests.crash.teller", str(base), begun_at.isoformat(), str(RUNS)]
    for begun in range(1, KILLS + 2):
        service = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stderr=asyncio.subprocess.DEVNULL)
        if begun > KILLS:
            assert await asyncio.wait_for(service.wait(), LIVES_AT_LAST_S) == 0
            break
        last = moody.asked + rng.randint(5, RUNS // KILLS - 5)
        while moody.asked < last:
            assert service.returncode is None, "it has told everything before it was killed often enough"
            await asyncio.sleep(rng.uniform(0, 0.02))
        service.kill()
        await service.wait()
    return begun


async def rows_of(base: Path) -> list[DeliveryRow]:
    store = open_store(base / "data" / "kova-auto.db", create=False)
    rows = await store.views.deliveries(limit=MANY)
    await store.close()
    return [row for row in rows if row.cause == Cause.OUTCOME]


@pytest.mark.slow
async def test_what_five_hundred_runs_owe_is_told_or_known_not_to_be(tmp_path: Path) -> None:
    moody, rng = Moody(7), random.Random(11)
    begun_at = datetime.now(UTC)  # noqa: TID251  # Processes of their own go by the machine's clock.
    async with chaos() as receiver:
        for path in ("/ci", "/team"):
            receiver.script(Fault(moody.act), path=path)
        (tmp_path / "kova-auto.toml").write_text(SETTINGS.format(base=tmp_path, port=receiver.port))
        environ = {"HOOK": spell_secret(b"h" * 32), "TEAM": receiver.url("/team")}
        (tmp_path / "environ.json").write_text(json.dumps(environ))
        begun = await told(tmp_path, begun_at, rng, moody)

    rows = await rows_of(tmp_path)
    statuses = Counter((str(row.endpoint), str(row.status)) for row in rows)
    print(f"\nbegun {begun} times; {statuses}; failures {moody.failures}")
    assert {(row.run_id, row.endpoint) for row in rows} == {
        (f"nightly@{number}", name) for number in range(RUNS) for name in ENDPOINTS
    }
    assert begun == KILLS + 1
    by_id = {row.delivery_id: row for row in rows}
    for row in rows:
        told_by = by_id[DeliveryId(row.detail.rpartition(" ")[2])] if row.result == TOLD_TOGETHER else row
        taken = moody.taken[f"{row.endpoint} {told_by.run_id}"] > 0
        assert row.status in {DeliveryStatus.DELIVERED, DeliveryStatus.DEAD, DeliveryStatus.UNKNOWN}, row
        assert taken or row.status != DeliveryStatus.DELIVERED, row  # None is said to be there that is not.
        assert not (taken and row.status == DeliveryStatus.DEAD), row  # What may have arrived is in doubt.
    # The receiver drops repeats, so that nothing is left in doubt while there are attempts.
    assert [row for row in rows if row.endpoint == "ci" and row.status != DeliveryStatus.DELIVERED] == []
    assert statuses["team", "unknown"] > 0
