"""Scheduled runs whose tools were allowed to their job's earlier runs, and would not be to them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest
from pydantic import JsonValue

from kova_auto.app.driving import drive_one
from kova_auto.app.house import House
from kova_auto.app.preflight import Preflight
from kova_auto.core.errors import UnknownEventError
from kova_auto.core.event import Event
from kova_auto.core.ids import RunId
from kova_auto.core.job import Outcome
from kova_auto.core.run import RunState, opened
from kova_auto.scheduling.jobfiles import load_job
from tests.app.houses import Home, id_of
from tests.app.mcp_homes import DB, a_script, configure, echo, rules, runs, texts
from tests.doubles.journal import MemoryJournal
from tests.support import at

SEARCH: dict[str, JsonValue] = {"action": "search", "query": "look"}
LOOK: dict[str, JsonValue] = {"action": "call", "server": "db", "tool": "look", "arguments": {"text": "a"}}
WRITES = 'automation = "workspace-write"\nallow_scripted = true\n'
WRITE_SCRIPT = """
[[turns]]
[[turns.calls]]
tool = "write"
args = { file_path = "%s/made.txt", content = "x" }
[[turns]]
text = "Done."
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def allows(home: Home, **lists: list[str]) -> None:
    """Write the user's own permission file."""
    path = home.path / ".kova" / "permissions.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(lists))


async def timed(house: House, home: Home, when: str | datetime, name: str = "look") -> RunState:
    """Run a job for an instant of its schedule."""
    due = at(when) if isinstance(when, str) else when
    request = await house.opening.of_occurrence(load_job(home.jobs / f"{name}.toml"), due)
    await house.store.journal.open(request)
    await drive_one(house, request.run_id, asyncio.Event())
    return await house.store.journal.load(request.run_id)


async def by_hand(house: House, home: Home, name: str = "look") -> RunState:
    await house.control.request(home.ask(name))
    await drive_one(house, id_of(name), asyncio.Event())
    return await house.store.journal.load(id_of(name))


def came(state: RunState) -> tuple[Outcome, int]:
    """Return what came of a run, and how often it asked a model."""
    assert state.finished
    return state.finished.outcome, len(state.replies)


async def test_a_tool_that_is_not_allowed_any_more_blocks_the_run_before_a_model_is_asked(home: Home) -> None:
    configure(home.path, db=runs(approveTools=["echo"]))
    home.job("look", WRITES + DB, a_script(echo()))
    async with home.house() as house:
        first = await timed(house, home, "06:00:00")
        configure(home.path, db=runs())
        second = await timed(house, home, "07:00:00")
        pauses = await house.control.pauses()

    assert rules(first) == ["grant.user:mcp__db__echo"]
    assert came(second) == (Outcome.BLOCKED, 0)
    assert second.finished
    said = second.finished.reason
    assert f"mcp__db__echo, which run {first.run_id} was allowed to use" in said
    assert "(then allow by grant.user:mcp__db__echo, now ask by level.workspace-write.outward)" in said
    assert "You may still" not in said
    assert "nobody is there to give it. The job says what it said then" in said
    assert "kova-auto run look" in said
    assert "kova-auto jobs resume look" in said
    assert [(pause.job, pause.reason) for pause in pauses] == [("look", said)]


async def test_a_server_that_says_no_longer_that_a_tool_only_reads_is_noticed_without_starting_it(home: Home) -> None:
    state = home.path / "state"
    configure(home.path, db=runs("changes_hint", str(state), trustReadOnlyHint=True))
    home.job("look", WRITES + DB, a_script(SEARCH, LOOK, SEARCH))
    async with home.house() as house:
        first = await timed(house, home, "06:00:00")
        second = await timed(house, home, "07:00:00")

    assert came(first) == (Outcome.DONE, 4), texts(first)
    assert came(second) == (Outcome.BLOCKED, 0)
    assert second.finished
    assert "mcp__db__look, which run" in second.finished.reason


async def test_what_is_not_known_of_a_server_blocks_nothing(home: Home) -> None:
    configure(home.path, db=runs(trustReadOnlyHint=True))
    home.job("look", WRITES + DB, a_script(SEARCH, LOOK))
    async with home.house() as house:
        await timed(house, home, "06:00:00")
        configure(home.path, db=runs(trustReadOnlyHint=True, description="Another configuration: nothing kept of it"))
        second = await timed(house, home, "07:00:00")
    assert came(second) == (Outcome.DONE, 3)


async def test_a_run_by_hand_accepts_the_change_and_lets_the_schedule_go_on(home: Home) -> None:
    configure(home.path, db=runs(approveTools=["echo"]))
    home.job("look", WRITES + DB, a_script(echo()))
    async with home.house() as house:
        await timed(house, home, "05:00:00")
        configure(home.path, db=runs())
        blocked = await timed(house, home, "05:30:00")
        mine = await by_hand(house, home)
        pauses = await house.control.pauses()
        after = await timed(house, home, "07:00:00")

    assert came(blocked) == (Outcome.BLOCKED, 0)
    assert came(mine) == (Outcome.DONE, 2)
    assert pauses == ()
    assert came(after) == (Outcome.DONE, 2)
    assert rules(after) == ["level.workspace-write.outward"]


async def test_what_is_allowed_again_goes_on(home: Home) -> None:
    allows(home, allowMcpTools=["mcp__db__echo"])
    configure(home.path, db=runs())
    home.job("look", WRITES + DB, a_script(echo()))
    async with home.house() as house:
        await timed(house, home, "05:00:00")
        allows(home)
        blocked = await timed(house, home, "06:00:00")
        allows(home, allowMcpTools=["mcp__db__e*", "mcp__db__echo"])
        after = await timed(house, home, "07:00:00")
    assert [came(state) for state in (blocked, after)] == [(Outcome.BLOCKED, 0), (Outcome.DONE, 2)]


async def test_a_job_that_never_used_the_tool_is_not_blocked(home: Home) -> None:
    configure(home.path, db=runs(approveTools=["echo"]))
    home.job("look", WRITES + DB, a_script(SEARCH))
    async with home.house() as house:
        await timed(house, home, "06:00:00")
        configure(home.path, db=runs())
        after = await timed(house, home, "07:00:00")
    assert came(after) == (Outcome.DONE, 2)


async def test_what_the_jobs_author_takes_back_blocks_nothing(home: Home) -> None:
    configure(home.path, db=runs())
    home.job("look", WRITES + 'permissions.allow_mcp_tools = ["mcp__db__echo"]\n' + DB, a_script(echo()))
    async with home.house() as house:
        first = await timed(house, home, "06:00:00")
        home.job("look", WRITES + DB, a_script(echo()))
        after = await timed(house, home, "07:00:00")
    assert rules(first) == ["grant.job:mcp__db__echo"]
    assert came(after) == (Outcome.DONE, 2)


async def test_a_job_that_waits_for_a_person_goes_on_to_ask_one(home: Home) -> None:
    configure(home.path, db=runs(approveTools=["echo"]))
    home.job("look", WRITES + 'approval.when_needed = "suspend"\n' + DB, a_script(echo()))
    async with home.house() as house:
        await timed(house, home, "06:00:00")
        configure(home.path, db=runs())
        after = await timed(house, home, "07:00:00")
    assert after.finished is None
    assert rules(after) == ["level.workspace-write.outward"]


async def test_a_run_by_hand_is_not_held_up(home: Home) -> None:
    configure(home.path, db=runs(approveTools=["echo"]))
    home.job("look", WRITES + DB, a_script(echo()))
    async with home.house() as house:
        await timed(house, home, "05:00:00")
        configure(home.path, db=runs())
        assert came(await by_hand(house, home)) == (Outcome.DONE, 2)


async def test_tools_of_our_own_are_looked_at_too(home: Home) -> None:
    shared = home.path / "shared"
    shared.mkdir()
    allows(home, writeRoots=[str(shared)])
    home.job("look", WRITES, WRITE_SCRIPT % shared)
    async with home.house() as house:
        first = await timed(house, home, "06:00:00")
        same = await timed(house, home, "07:00:00")
        allows(home)
        after = await timed(house, home, "08:00:00")
    assert [came(state) for state in (first, same, after)] == [
        (Outcome.DONE, 2),
        (Outcome.DONE, 2),
        (Outcome.BLOCKED, 0),
    ]
    assert after.finished
    assert "write, which run" in after.finished.reason


async def test_one_call_that_still_passes_keeps_its_tool(home: Home) -> None:
    shared = home.path / "shared"
    shared.mkdir()
    allows(home, writeRoots=[str(shared)])
    inside = '[[turns]]\n[[turns.calls]]\ntool = "write"\nargs = { file_path = "in.txt", content = "x" }\n'
    home.job("look", WRITES, inside + WRITE_SCRIPT % shared)
    async with home.house() as house:
        await timed(house, home, "06:00:00")
        allows(home)
        after = await timed(house, home, "07:00:00")
    assert came(after) == (Outcome.DONE, 3)


class Newer(MemoryJournal):
    """Hold runs that a newer version has written."""

    async def events(self, run_id: RunId, after: int = 0) -> Sequence[tuple[int, Event]]:
        message = f"{run_id} holds an event of a kind that is not known here, after {after}"
        raise UnknownEventError(message)


async def test_a_record_that_cannot_be_read_blocks_nothing(home: Home) -> None:
    allows(home, allowMcpTools=["mcp__db__echo"])
    configure(home.path, db=runs())
    path = home.job("look", WRITES + DB, a_script(echo()))
    async with home.house() as house:
        await timed(house, home, "06:00:00")
        allows(home)
        request = await house.opening.of_occurrence(load_job(path), at("07:00:00"))
        tooling = house.tooling
        known, newer = (
            Preflight(journal, house.store.views, tooling.toolbox, tooling.servers, house.clock)
            for journal in (house.store.journal, Newer())
        )
        assert "mcp__db__echo, which run" in await known.refused(opened(request))
        assert await newer.refused(opened(request)) == ""


ECHO_NEEDED = 'limits.required_tools = ["mcp__db__echo"]\n'


async def test_a_tool_that_a_job_cannot_do_without_is_judged_before_a_model_is_asked(home: Home) -> None:
    configure(home.path, db=runs("dies"))
    home.job("look", "allow_scripted = true\n" + ECHO_NEEDED + DB, a_script(echo()))
    async with home.house() as house:
        mine = await by_hand(house, home)
        timely = await timed(house, home, "07:00:00")

    assert came(mine) == came(timely) == (Outcome.BLOCKED, 0)
    assert mine.finished
    assert timely.finished
    assert mine.finished.reason.startswith(
        "limits.required_tools: mcp__db__echo would be refused (level.read-only.outward)"
    )
    assert (mine.finished.pauses, timely.finished.pauses) == ("", timely.finished.reason)


async def test_a_tool_that_is_needed_and_allowed_is_used(home: Home) -> None:
    configure(home.path, db=runs())
    home.job("look", ECHO_NEEDED + 'permissions.allow_mcp_tools = ["mcp__db__echo"]\n' + DB, a_script(echo()))
    async with home.house() as house:
        assert came(await by_hand(house, home)) == (Outcome.DONE, 2)


async def test_another_tool_of_its_server_may_be_refused(home: Home) -> None:
    configure(home.path, db=runs())
    allowed = 'permissions.allow_mcp_tools = ["mcp__db__look"]\n'
    home.job("look", 'limits.required_tools = ["mcp__db__look"]\n' + allowed + DB, a_script(echo()))
    async with home.house() as house:
        assert came(await by_hand(house, home)) == (Outcome.DONE, 2)


async def test_one_refused_call_of_a_needed_tool_ends_the_run(home: Home) -> None:
    configure(home.path, db=runs())
    allowed = 'automation = "full"\n'
    home.job("look", allowed + ECHO_NEEDED + DB, a_script(echo("one"), echo("two"), echo("three")))
    async with home.house() as house:
        state = await by_hand(house, home)
    assert state.finished
    assert came(state) == (Outcome.BLOCKED, 2)
    assert state.finished.reason == "a call of mcp__db__echo was refused (limits.required_tools)"


@pytest.mark.parametrize(
    ("needed", "more", "outcome"),
    [
        ("write", "", Outcome.BLOCKED),
        ("write", 'automation = "workspace-write"\n', Outcome.DONE),
        ("write", 'approval.when_needed = "suspend"\n', Outcome.DONE),
        ("read", "", Outcome.DONE),
        ("write", 'automation = "full"\nmode = "ask"\n', Outcome.BLOCKED),
        ("question", "", Outcome.DONE),
    ],
)
async def test_a_tool_of_our_own_that_no_call_may_use_blocks_too(
    home: Home, needed: str, more: str, outcome: Outcome
) -> None:
    home.job("look", f'{more}limits.required_tools = ["{needed}"]\n')
    async with home.house() as house:
        assert came(await by_hand(house, home))[0] is outcome
