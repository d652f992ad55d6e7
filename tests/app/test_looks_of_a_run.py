"""Real tools that only look, several in one reply: what they bring is what each brings by itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import JsonValue

from kova_auto.app.driving import drive_one
from kova_auto.app.house import House
from kova_auto.core.ids import call_id
from kova_auto.core.message import ResultStatus, ToolResult
from kova_auto.core.run import RunState
from kova_auto.tools.web_fetch import WebFetchTool
from tests.app.houses import Home, id_of
from tests.tools.web_pages import LOOPBACK, a_site, an_exchange, says

Call = tuple[str, dict[str, JsonValue]]
LOOKS: Sequence[Call] = (
    ("read", {"file_path": "a.txt"}),
    ("glob", {"pattern": "**/*.txt"}),
    ("grep", {"pattern": "needle", "path": "deep"}),
    ("read", {"file_path": "missing.txt"}),
    ("grep", {"pattern": "line 7"}),
    ("memory_search", {"query": "autumn"}),
    ("memory_read", {"scope": "workspace"}),
    ("read", {"file_path": "long.txt"}),
)


def script(*turns: Sequence[Call]) -> str:
    """Return a script that makes the calls of each turn in one reply, and then is done."""
    lines: list[str] = []
    for turn in turns:
        lines.append('[[turns]]\ntext = "I look."')
        for tool, args in turn:
            given = ", ".join(f"{name} = {json.dumps(value)}" for name, value in args.items())
            lines.append(f'[[turns.calls]]\ntool = "{tool}"\nargs = {{ {given} }}')
    return "\n".join([*lines, '[[turns]]\ntext = "Done."'])


def a_home(path: Path) -> Home:
    home = Home(path.resolve())
    (home.workspace / "deep").mkdir(parents=True)
    (home.workspace / "a.txt").write_text("one\ntwo\n")
    (home.workspace / "long.txt").write_text("".join(f"line {number}\n" for number in range(20_000)))
    (home.workspace / "deep" / "b.txt").write_text("hay\na needle\n")
    (home.workspace / ".kova" / "memory").mkdir(parents=True)
    (home.workspace / ".kova" / "memory" / "MEMORY.md").write_text("Leaves fall in autumn.\n")
    return home


async def driven(house: House, home: Home, name: str) -> RunState:
    await house.control.request(home.ask(name))
    await drive_one(house, id_of(name), asyncio.Event())
    return await house.store.journal.load(id_of(name))


def results(state: RunState) -> list[ToolResult | None]:
    return [known.result for known in state.calls.values()]


async def test_looks_of_one_reply_bring_what_they_bring_one_by_one(tmp_path: Path) -> None:
    home = a_home(tmp_path)
    home.job("together", '[context]\nmemory = ["workspace"]\n', script(LOOKS))
    home.job("singly", '[context]\nmemory = ["workspace"]\n', script(*([look] for look in LOOKS)))
    async with home.house() as house:
        together, singly = [results(await driven(house, home, name)) for name in ("together", "singly")]

    assert together == singly
    statuses = [result.status for result in together if result]
    assert statuses == [ResultStatus.OK] * 3 + [ResultStatus.ERROR] + [ResultStatus.OK] * 4


async def test_pages_of_one_reply_are_asked_for_at_the_same_time(tmp_path: Path) -> None:
    home = a_home(tmp_path)
    pages = {f"/{number}": says(f"page {number}", "Content-Type: text/plain") for number in range(6)}
    async with a_site(pages, crowd=len(pages)) as site, home.house() as house:
        calls: list[Call] = [("web_fetch", {"url": site.url(path)}) for path in pages]
        home.job("pages", '[permissions]\nweb = ["site.example"]\n', script(calls))
        house.tooling.toolbox._tools["web_fetch"] = WebFetchTool(an_exchange(), LOOPBACK)
        state = await driven(house, home, "pages")

    brought = [result.text.partition("\n\n")[2] for result in results(state) if result]
    assert brought == [f"page {number}" for number in range(6)]
    assert state.call(call_id(1, 6)).result is not None
    assert state.tainted_by == "a page of site.example"
