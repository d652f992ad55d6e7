"""What a job file may say of MCP servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.core.errors import JobFileError
from kova_auto.scheduling.jobfiles import load_job


def load(path: Path, more: str) -> str:
    """Load a job and return what is wrong with it."""
    (path / "a.toml").write_text(f'prompt = "Look."\n{more}\n')
    try:
        load_job(path / "a.toml")
    except JobFileError as exc:
        return str(exc)
    return ""


@pytest.mark.parametrize(
    "more",
    [
        "mcp.servers = []",
        'mcp.servers = ["github", "workspace:db", "kit:lint"]',
        'mcp.servers = ["github"]\npermissions.allow_mcp_tools = ["mcp__github__search", "mcp__github__get_*"]',
        'mcp.servers = ["db"]\npermissions.allow_mcp_tools = ["mcp__workspace:db__query"]',
        'mcp.servers = ["db"]\nlimits.required_tools = ["mcp__db__query", "mcp", "read"]',
    ],
)
def test_servers_and_their_tools_are_named(tmp_path: Path, more: str) -> None:
    assert load(tmp_path, more) == ""


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('mcp.servers = ["a__b"]', "a.toml:2: mcp.servers[0]: wanted a name of letters"),
        ('mcp.servers = ["db", "git hub"]', "mcp.servers[1]: wanted a name of letters"),
        (
            'mcp.servers = ["github"]\npermissions.allow_mcp_tools = ["github/*"]',
            "a.toml:3: permissions.allow_mcp_tools[0]: wanted the full name of a tool",
        ),
        (
            'mcp.servers = ["github"]\npermissions.allow_mcp_tools = ["mcp__githup__*"]',
            "is a tool of githup, which mcp.servers does not name (did you mean github?)",
        ),
        (
            'mcp.servers = ["github"]\nlimits.required_tools = ["mcp__githup__get"]',
            "a.toml:3: limits.required_tools[0]: is a tool of githup, which mcp.servers does not name (did you mean",
        ),
        ('limits.required_tools = ["mcp__github__*"]', "limits.required_tools[0]: wanted the whole name of one tool"),
        ('permissions.allow_mcp_tools = ["mcp__github__*"]', 'mcp.servers does not name ([mcp] servers = ["github"]'),
    ],
)
def test_a_name_that_can_never_count_is_an_error_at_its_line(tmp_path: Path, more: str, said: str) -> None:
    assert said in load(tmp_path, more)
