"""Whatever a file or a server says is read without an exception, and within its bounds."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.mcp.content import answered
from kova_auto.core.mcp.document import parse_servers
from kova_auto.core.mcp.listing import MAX_DESCRIPTION, listed
from kova_auto.core.mcp.names import full_name, parsed
from kova_auto.core.mcp.server import Layer

KEYS = ("command", "args", "env", "url", "type", "headers", "timeout", "approveTools", "disabled", "cwd", "x")
PARTS = ("type", "text", "data", "mimeType", "resource", "uri", "blob", "name")
TOOLS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
KINDS = st.sampled_from(["text", "image", "audio", "resource", "resource_link", "stdio", "http", "sse", "object"])
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | KINDS
)
ANY = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)


def objects(names: tuple[str, ...]) -> st.SearchStrategy[dict[str, object]]:
    return st.dictionaries(st.sampled_from(names), ANY, max_size=6)


@settings(max_examples=40)
@given(st.dictionaries(st.text(max_size=12), objects(KEYS) | ANY, max_size=4), st.sampled_from(Layer))
def test_any_file_is_read(servers: dict[str, object], layer: Layer) -> None:
    found = parse_servers(json.dumps({"mcpServers": servers}), "/f.json", layer, "kit")
    assert len(found.servers) + len(found.broken) == len(servers)
    for server in found.servers:
        assert parsed(full_name(server.address, "get")) == (server.address, "get")
        assert server.command or server.url
    for broken in found.broken:
        assert broken.problem.sentence.startswith("/f.json: mcpServers.")


@settings(max_examples=40)
@given(st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    parse_servers(text, "/f.json", Layer.WORKSPACE)


@settings(max_examples=40)
@given(st.lists(objects(TOOLS) | ANY, max_size=6))
def test_any_list_of_tools_is_read(found: list[object]) -> None:
    listing = listed(found, 3)  # type: ignore[arg-type]  # JSON
    assert len(listing.tools) <= 3
    assert all(len(tool.description) <= MAX_DESCRIPTION for tool in listing.tools)
    assert all(remark.isprintable() for remark in listing.remarks)


@settings(max_examples=40)
@given(st.lists(objects(PARTS) | ANY, max_size=6), ANY, ANY, st.integers(0, 200))
def test_any_answer_is_read_within_its_bound(
    content: list[object], structured: object, error: object, limit: int
) -> None:
    found = answered({"content": content, "structuredContent": structured, "isError": error}, limit)  # type: ignore[dict-item]  # JSON
    assert len(found.text.encode()) <= limit + 100
    assert found.failed is (error is True)
