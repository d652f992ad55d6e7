"""Which tools a query finds, and what of a server's list is taken over."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from kova_auto.core.mcp.listing import MAX_DESCRIPTION, listed
from kova_auto.core.mcp.search import search
from tests.core.mcp.shelves import tool

ISSUES = tool("list_issues", "Show what is open", "github", "code hosting")
MERGE = tool("merge", "Merge a pull request of a repository", "github", "code hosting")
ROWS = tool("rows", "List the rows of a table", "db", "issues of customers")
ALL = (ROWS, MERGE, ISSUES)


def names(query: str, limit: int = 12) -> list[str]:
    return [one.tool.name for one in search(query, ALL, limit).found]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("issues", ["list_issues", "rows"]),
        ("LIST", ["list_issues", "rows"]),
        ("pull request", ["merge"]),
        ("github merge", ["merge", "list_issues"]),
        ("hosting", ["merge", "list_issues"]),
        ("nothing of the kind", ["rows", "merge"]),
        ("zzz", []),
        ("", ["rows", "merge", "list_issues"]),
        ("*", ["rows", "merge", "list_issues"]),
    ],
)
def test_a_name_counts_more_than_a_server_and_that_more_than_a_description(query: str, found: list[str]) -> None:
    assert names(query) == found


def test_a_query_says_how_many_there_are_besides() -> None:
    assert (names("", 2), search("", ALL, 2).total) == (["rows", "merge"], 3)
    assert len(search("", [tool(f"t{n}") for n in range(100)], 1000).found) == 40


def one(name: JsonValue = "get", **more: JsonValue) -> JsonValue:
    return {"name": name, "inputSchema": {"type": "object"}, **more}


def test_a_tool_is_taken_over() -> None:
    schema: JsonValue = {"type": "object", "properties": {"a": {"type": "string"}}}
    hints: JsonValue = {"readOnlyHint": True, "title": "Get it"}
    (found,) = listed([one(description=" Get. ", inputSchema=schema, outputSchema=schema, annotations=hints)], 64).tools
    assert (found.title, found.description, found.read_only, found.flaw) == ("Get it", "Get.", True, "")
    assert json.loads(found.schema_text) == json.loads(found.output_text) == schema


@pytest.mark.parametrize("name", ["", "a\nb", "a b", "ä", "\x1b[2J", None, 7, "x" * 129])
def test_a_tool_that_cannot_be_named_is_left_out(name: JsonValue) -> None:
    found = listed([one(name), one("fine")], 64)
    assert [tool.name for tool in found.tools] == ["fine"]
    assert "1 of its tools cannot be used" in found.remarks[0]
    assert found.remarks[0].isprintable()


def test_a_name_that_stands_twice_counts_once() -> None:
    found = listed([one(description="First"), one(description="Second")], 64)
    assert [tool.description for tool in found.tools] == ["First"]
    assert found.remarks == ("it names get more than once: the first counts",)


def test_so_many_tools_count() -> None:
    found = listed([one(f"t{n}") for n in range(100)], 64)
    assert len(found.tools) == 64
    assert found.remarks == ("it has 36 tools more than the 64 that count",)


def test_a_hint_that_is_no_truth_is_none() -> None:
    assert not listed([one(annotations={"readOnlyHint": "yes"})], 64).tools[0].read_only


@pytest.mark.parametrize(
    ("schema", "flaw"),
    [
        ("text", "its schema is no object"),
        ([1], "its schema is no object"),
        ({"x": "y" * 40_000}, "and is not shown"),
    ],
)
def test_a_schema_that_cannot_be_shown_says_so(schema: JsonValue, flaw: str) -> None:
    (found,) = listed([one(inputSchema=schema)], 64).tools
    assert found.schema_text == ""
    assert flaw in found.flaw


def test_a_schema_that_is_nested_without_end_says_so() -> None:
    deep: JsonValue = {}
    for _ in range(20_000):
        deep = {"items": deep}
    assert "nested too deep" in listed([one(inputSchema=deep)], 64).tools[0].flaw


def test_a_long_description_is_cut_and_hidden_characters_are_taken_out() -> None:
    (found,) = listed([one(description="a\u200b\u202eb\x1b[31m" + "x" * 9_000)], 64).tools
    assert found.description.startswith("ab [31mxxx")
    assert len(found.description) == MAX_DESCRIPTION
    assert "its description has" in found.flaw


@pytest.mark.parametrize("found", [[], [None], ["x"], [{}], [[]]])
def test_what_is_no_tool_is_none(found: list[JsonValue]) -> None:
    assert listed(found, 64).tools == ()
