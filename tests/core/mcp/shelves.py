"""Builders of what files configure."""

from __future__ import annotations

import json

from pydantic import JsonValue

from kova_auto.core.mcp.document import parse_servers
from kova_auto.core.mcp.listing import ToolInfo
from kova_auto.core.mcp.roster import Shelf
from kova_auto.core.mcp.search import Offered
from kova_auto.core.mcp.server import Layer, Server

PATH = "/home/me/.kova/mcp.json"


def shelf(layer: Layer = Layer.USER, plugin: str = "", **servers: JsonValue) -> Shelf:
    return parse_servers(json.dumps({"mcpServers": servers}), PATH, layer, plugin)


def server(layer: Layer = Layer.USER, **keys: JsonValue) -> Server:
    found = shelf(layer, db={"command": "run", **keys})
    assert found.broken == (), found.broken[0].problem.sentence
    return found.servers[0]


def complaint(layer: Layer = Layer.USER, **keys: JsonValue) -> str:
    found = shelf(layer, db={**keys})
    assert found.servers == ()
    return found.broken[0].problem.sentence


def tool(name: str, description: str = "", server: str = "db", purpose: str = "") -> Offered:
    return Offered(server, ToolInfo(name=name, description=description), purpose)
