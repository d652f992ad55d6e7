"""Homes with MCP servers in them, and runs that use these."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from kova_auto.app.driving import drive_one
from kova_auto.app.house import House
from kova_auto.core.run import RunState
from tests.app.houses import Home, id_of
from tests.tools.mcp_scenes import PROGRAM

FULL = 'automation = "full"\n'
DB = '[mcp]\nservers = ["db"]\n'


def runs(way: str = "good", *args: str, **keys: JsonValue) -> dict[str, JsonValue]:
    """Return the configuration of a server that behaves in a way."""
    return {"command": sys.executable, "args": ["-I", PROGRAM, way, *args], "timeout": 60, **keys}


def configure(folder: Path, name: str = ".kova/mcp.json", **servers: JsonValue) -> Path:
    """Write a file that configures servers."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


def a_script(*calls: Mapping[str, JsonValue], end: str = "Done.") -> str:
    """Return a script that calls the tool `mcp`, one call a turn."""
    turns = [f'[[turns]]\n[[turns.calls]]\ntool = "mcp"\nargs = {_toml(call)}\n' for call in calls]
    return "".join((*turns, f'[[turns]]\ntext = "{end}"\n'))


def _toml(value: JsonValue | Mapping[str, JsonValue]) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_toml(one)}" for name, one in value.items()) + " }"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)


def echo(text: str = "hi", server: str = "db") -> dict[str, JsonValue]:
    """Return a call of a tool that says something again."""
    return {"action": "call", "server": server, "tool": "echo", "arguments": {"text": text}}


async def ran(home: Home, house: House, more: str, script: str) -> RunState:
    """Run a job to its end, or until it rests."""
    home.job("look", more, script)
    await house.control.request(home.ask("look"))
    await drive_one(house, id_of("look"), asyncio.Event())
    return await house.store.journal.load(id_of("look"))


def texts(state: RunState) -> list[str]:
    """Return what the model was told of each call."""
    return [call.result.text if call.result else "" for call in state.calls.values()]


def rules(state: RunState) -> list[str]:
    """Return the rule that decided each call."""
    return [call.verdict.rule if call.verdict else "" for call in state.calls.values()]
