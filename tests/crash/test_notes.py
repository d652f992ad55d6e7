"""`kill -9` around the writing of a note: it is written once or not at all, and what is said of it is true."""

from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.core.message import ResultStatus
from kova_auto.core.run import RunState
from tests.crash.test_kill import Place, _lives
from tests.crash.zygote import Zygote

SCRIPT = """
[[turns]]
[[turns.calls]]
tool = "memory_write"
args = { scope = "workspace", content = "first" }
[[turns.calls]]
tool = "memory_write"
args = { scope = "global", content = "second" }

[[turns]]
[[turns.calls]]
tool = "memory_write"
args = { scope = "workspace", content = "third" }

[[turns]]
text = "Done."
"""
AROUND = ("memory_write", "write_planned", "call_started", "call_finished")


class Notes(Place):
    """Hold a job that keeps notes."""

    def prepare(self) -> None:
        super().prepare()
        (self.base / "jobs" / "six.script.toml").write_text(SCRIPT)

    def text(self) -> str:
        places = (self.base / "work", self.base / "home")
        paths = (place / ".kova" / "memory" / "MEMORY.md" for place in places)
        return "".join(path.read_text() for path in paths if path.exists())


def check(place: Notes, state: RunState) -> None:
    assert state.finished
    assert state.finished.outcome == "done"
    results = [known.result for known in state.calls.values()]
    for said, result in zip(("first", "second", "third"), results, strict=True):
        assert result
        assert place.text().count(said) == (result.status is ResultStatus.OK), (said, result)


async def test_notes_that_nobody_kills_are_written_once(zygote: Zygote, tmp_path: Path) -> None:
    place = Notes(tmp_path / "calm")
    state = await _lives(zygote, place, [])
    check(place, state)
    assert [place.text().count(said) for said in ("first", "second", "third")] == [1, 1, 1]


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
async def test_a_note_is_written_once_or_not_at_all(zygote: Zygote, tmp_path: Path, every: int) -> None:
    calm = Notes(tmp_path / "calm")
    await _lives(zygote, calm, [])
    points = [line.split(" ", 1) for line in calm.points()]
    kills = [int(number) for number, name in points if any(word in name for word in AROUND)]
    assert len(kills) > 12
    for kill_at in kills[::every]:
        place = Notes(tmp_path / f"point-{kill_at}")
        check(place, await _lives(zygote, place, [kill_at]))
