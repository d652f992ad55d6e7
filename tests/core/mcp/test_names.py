"""Full names of tools: one for each, and what a pattern covers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.mcp.names import check_pattern, covers, full_name, is_server_name, is_tool_name, parsed


@pytest.mark.parametrize("name", ["github", "a", "my-db", "my_db", "v1.2", "A" * 64])
def test_a_server_is_named_plainly(name: str) -> None:
    assert is_server_name(name)


@pytest.mark.parametrize("name", ["", "_a", "a_", "a__b", "a b", "a:b", "ä", "a/b", "A" * 65, "a\n", "-a"])
def test_a_name_that_would_blur_where_its_tools_begin_is_none(name: str) -> None:
    assert not is_server_name(name)


@given(
    st.from_regex(r"[A-Za-z0-9._-]{1,12}", fullmatch=True), st.from_regex(r"[A-Za-z0-9_.:/@-]{1,12}", fullmatch=True)
)
def test_a_full_name_says_which_server_and_which_tool(server: str, tool: str) -> None:
    if is_server_name(server):
        assert is_tool_name(tool)
        assert parsed(full_name(server, tool)) == (server, tool)
        assert parsed(full_name(f"workspace:{server}", tool)) == (f"workspace:{server}", tool)


@pytest.mark.parametrize("text", ["mcp__github__search", "mcp__github__*", "mcp__workspace:db__get_?"])
def test_a_job_allows_tools_by_full_name_or_pattern(text: str) -> None:
    assert check_pattern(text) == ""


@pytest.mark.parametrize(
    "text", ["", "*", "github/*", "mcp__*", "mcp__*__x", "mcp__git*__x", "mcp__a__", "mcp__a__[x]"]
)
def test_a_pattern_names_its_server_whole(text: str) -> None:
    assert "mcp__SERVER__TOOL" in check_pattern(text)


@pytest.mark.parametrize(
    ("pattern", "name", "does"),
    [
        ("mcp__a__b", "mcp__a__b", True),
        ("mcp__a__b", "mcp__a__B", False),
        ("mcp__a__*", "mcp__a__b__c", True),
        ("mcp__a__Get*", "mcp__a__get_all", True),
        ("mcp__a__get_?", "mcp__a__get_1", True),
        ("mcp__a__get_?", "mcp__a__get_10", False),
        ("mcp__a__*", "mcp__workspace:a__b", False),
        ("mcp__a__*.b", "mcp__a__xxb", False),
    ],
)
def test_a_pattern_covers_what_it_says(pattern: str, name: str, does: object) -> None:
    assert covers(pattern, name) is does
