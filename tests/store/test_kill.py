"""What a writer promised is there after `kill -9`, and nothing is half there."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kova_auto.core.ids import RunId, blob_hash
from kova_auto.store.store import open_store
from tests.support import ROOT


def promises_before_the_kill(place: Path, lines: int) -> list[str]:
    """Load a journal in a process of its own, kill that after some promises, and return all that it made."""
    command = [sys.executable, "-m", "tests.store.loader", str(place)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as loader:
        assert loader.stdout is not None
        made = [loader.stdout.readline() for _ in range(lines)]
        loader.kill()
        rest, _ = loader.communicate()
    assert loader.returncode == -signal.SIGKILL
    return [*made, *(line for line in rest.splitlines(keepends=True) if line.endswith("\n"))]


@pytest.mark.parametrize("lines", [1, 100, 700])
async def test_a_killed_writer_loses_nothing_it_promised(tmp_path: Path, lines: int) -> None:
    place = tmp_path / "journal.db"
    promises = [line.rstrip("\n").split(" ", 2) for line in promises_before_the_kill(place, lines)]

    store = open_store(place, create=False)
    sound = await store.database.read(lambda c: c.exec_driver_sql("PRAGMA integrity_check").scalar_one())
    kept = {run_id: await store.journal.events(RunId(run_id)) for run_id in {promise[0] for promise in promises}}

    assert sound == "ok"
    for run_id, seq, blob in promises:
        assert len(kept[run_id]) >= int(seq)
        assert await store.journal.blob(blob_hash(blob.encode())) == blob.encode()
    assert {run_id: [seq for seq, _ in facts] for run_id, facts in kept.items()} == {
        run_id: list(range(1, len(facts) + 1)) for run_id, facts in kept.items()
    }
    assert await store.compare_views() == []
    await store.close()
