"""`kill -9` while several calls are executed at the same time: each is settled by itself."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kova_auto.core.event import CallFinished, CallStarted, Event, RunAcquired
from kova_auto.core.ids import CallId
from kova_auto.core.message import ResultStatus
from tests.crash.test_kill import Place, _lives
from tests.crash.zygote import Zygote

SCRIPT = """
[[turns]]
text = "First I look."
[[turns.calls]]
tool = "read"
args = { file_path = "a.txt" }
[[turns.calls]]
tool = "read"
args = { file_path = "a.png" }
[[turns.calls]]
tool = "glob"
args = { pattern = "*" }
[[turns.calls]]
tool = "read"
args = { file_path = "b.png" }
[[turns.calls]]
tool = "grep"
args = { pattern = "one" }
[[turns.calls]]
tool = "write"
args = { file_path = "new.txt", content = "written once\\n" }
[[turns.calls]]
tool = "read"
args = { file_path = "a.txt", offset = 2 }
[[turns.calls]]
tool = "glob"
args = { pattern = "n*" }

[[turns]]
text = "Done."
"""
LOOKS = tuple(CallId(f"1.{index}") for index in range(1, 6))
AROUND = ("effect", "call_adjudicated", "call_started", "call_finished")
BEHIND = (CallId("1.7"), CallId("1.8"))


class Looks(Place):
    """Hold a job that looks at much at the same time; what it finds in a picture is on record at once."""

    def prepare(self) -> None:
        super().prepare()
        (self.base / "jobs" / "six.script.toml").write_text(SCRIPT)
        for name in ("a", "b"):
            (self.base / "work" / f"{name}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + name.encode())


def check(place: Looks) -> None:
    """Hold that each call has one result, and that none was executed again whose result was on record."""
    events = place.events()
    finished = Counter(event.call_id for event in events if isinstance(event, CallFinished))
    assert finished == Counter({CallId(f"1.{index}"): 1 for index in range(1, 9)})
    seen = place.witnessed()
    again = Counter(event.call_id for event in events if isinstance(event, CallStarted))
    for key in (*LOOKS, *BEHIND):
        tool = place.state().call(key).call.tool
        assert 1 <= seen[f"{key} {tool}"] <= 2
        if key in before_death(events):
            assert (seen[f"{key} {tool}"], again[key]) == (1, 1)
    assert seen["1.6 write"] <= 1
    statuses = {key: known.result.status for key, known in place.state().calls.items() if known.result}
    assert {status for key, status in statuses.items() if key != "1.6"} == {ResultStatus.OK}


def before_death(events: list[Event]) -> set[CallId]:
    """Return the calls whose result was on record when a worker died; all of them where none did."""
    taken = [place for place, event in enumerate(events) if isinstance(event, RunAcquired)]
    until = taken[-1] if len(taken) > 1 else len(events)
    return {event.call_id for event in events[:until] if isinstance(event, CallFinished)}


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
async def test_calls_that_were_under_way_are_settled_one_by_one(zygote: Zygote, tmp_path: Path, every: int) -> None:
    calm = Looks(tmp_path / "calm")
    await _lives(zygote, calm, [])
    check(calm)
    assert calm.witnessed() == Counter(f"{key} {known.call.tool}" for key, known in calm.state().calls.items())
    points = [line.split(" ", 1) for line in calm.points()]
    kills = [int(number) for number, name in points if any(word in name for word in AROUND)]
    assert len(kills) > 20
    for kill_at in kills[::every]:
        place = Looks(tmp_path / f"point-{kill_at}")
        state = await _lives(zygote, place, [kill_at])
        assert (state.finished and state.finished.outcome) == "done"
        check(place)


MANY = 11


class ManyLooks(Place):
    """Hold a job that looks at more than is looked at at the same time."""

    def prepare(self) -> None:
        super().prepare()
        calls = [f'{{ tool = "read", args = {{ file_path = "{number}.txt" }} }},' for number in range(MANY)]
        script = "\n".join(["[[turns]]", "calls = [", *calls, "]", "[[turns]]", 'text = "Done."'])
        (self.base / "jobs" / "six.script.toml").write_text(script)
        for number in range(MANY):
            (self.base / "work" / f"{number}.txt").write_text("one\n")


@pytest.mark.slow
async def test_of_many_calls_none_is_executed_again_whose_result_was_on_record(zygote: Zygote, tmp_path: Path) -> None:
    calm = ManyLooks(tmp_path / "calm")
    await _lives(zygote, calm, [])
    points = [line.split(" ", 1) for line in calm.points()]
    for kill_at in [int(number) for number, name in points if any(word in name for word in AROUND)][::3]:
        place = ManyLooks(tmp_path / f"point-{kill_at}")
        state = await _lives(zygote, place, [kill_at])
        assert (state.finished and state.finished.outcome) == "done"
        events, seen = place.events(), place.witnessed()
        finished = Counter(event.call_id for event in events if isinstance(event, CallFinished))
        assert finished == Counter({CallId(f"1.{index}"): 1 for index in range(1, MANY + 1)})
        assert all(1 <= seen[f"{key} read"] <= 2 for key in finished)
        assert all(seen[f"{key} read"] == 1 for key in before_death(events))
        assert {known.result.status for known in state.calls.values() if known.result} == {ResultStatus.OK}
