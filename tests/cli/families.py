"""A job whose runs dispatch two subagents, and whoever sees such a run through."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import StringIO
from zoneinfo import ZoneInfo

from kova_auto.app.connect import Connection
from kova_auto.app.house import House
from kova_auto.app.remote import RemoteControl
from kova_auto.app.serving import serve
from kova_auto.app.socket import listening, socket_path
from kova_auto.cli.account import Account
from kova_auto.cli.attending import Attendant, Lines
from kova_auto.cli.ending import see_through
from kova_auto.cli.presses import Presses
from kova_auto.cli.screen import Screen
from kova_auto.cli.through import Through
from kova_auto.clock import SystemClock
from kova_auto.core.ids import RunId
from tests.app.houses import Home, id_of
from tests.cli.paper import Paper

FAMILY = id_of("fan")
MAY = 'automation = "workspace-write"\n[agents]\nallow = ["explorer", "fixer"]\n[permissions]\nsandbox = "off"\n'
SUSPENDS = f'{MAY}[approval]\nwhen_needed = "suspend"\n'
DISPATCHES = """
[[turns]]
text = "I send two."
[[turns.calls]]
tool = "Task"
args = { agent = "explorer", task = "Read NOTES.md.", description = "reading" }
[[turns.calls]]
tool = "Task"
args = { agent = "fixer", task = "Run it.", description = "running" }
[[turns]]
text = "Now I wait."
[[turns.calls]]
tool = "TaskWait"
[[turns]]
text = "All in: {{ results.TaskWait_1 }}"

[[subagents]]
agent = "explorer"
[[subagents.turns]]
text = ""
[[subagents.turns.calls]]
tool = "read"
args = { file_path = "NOTES.md" }
[[subagents.turns]]
text = "It says {{ results.read_1.lines[0] }}."

[[subagents]]
agent = "fixer"
[[subagents.turns]]
text = ""
[[subagents.turns.calls]]
tool = "bash"
args = { command = "COMMAND" }
[[subagents.turns]]
text = "It ran: {{ results.bash_1.status }}."
"""
"""Of which COMMAND is to be replaced: at this level a person is asked about it, where it is none that only reads."""


def family(home: Home, command: str = "touch made", more: str = SUSPENDS) -> None:
    """Write the job, and what it works on."""
    home.job("fan", more, DISPATCHES.replace("COMMAND", command))
    (home.workspace / "NOTES.md").write_text("nothing new\n")


@dataclass
class Watcher:
    """See a run through, as a command does.

    Attributes:
        lines: What the person at the terminal types; None where nobody attends.
    """

    connection: Connection
    run_id: RunId
    lines: Lines | None = None
    notes: Paper = field(default_factory=Paper)
    results: StringIO = field(default_factory=StringIO)

    def __post_init__(self) -> None:
        account = Account(Screen(self.results, self.notes, {}), as_json=False)
        self.through = Through(self.connection, self.run_id, account, Presses(), SystemClock())

    async def sees(self) -> int:
        """Return the exit code."""
        attendant = Attendant(self.lines, ZoneInfo("UTC")) if self.lines else None
        async with asyncio.timeout(60):
            return await see_through(self.through, attendant)

    @property
    def said(self) -> list[str]:
        """Return the lines that were shown."""
        return self.notes.getvalue().splitlines()


@asynccontextmanager
async def connection_to(home: Home, *, is_remote: bool) -> AsyncIterator[tuple[Connection, House]]:
    """Give a connection: to a live service, or to a house of this process's own."""
    async with home.house() as house:
        if not is_remote:
            yield Connection(house.control, house), house
            return
        stop, path = asyncio.Event(), socket_path(house.settings.data_dir)
        serving = asyncio.create_task(serve(house, stop))
        async with listening(house.control, path):
            remote = await RemoteControl.connect(path)
            try:
                yield Connection(remote, None), house
            finally:
                await remote.close()
                stop.set()
                await serving
