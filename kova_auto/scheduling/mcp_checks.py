"""Check what a job file says of MCP servers: whether a name can be one, and whether a grant can ever count."""

from __future__ import annotations

from kova_auto.core.mcp.names import PREFIX, SERVER_FORM, check_pattern, is_address, parsed
from kova_auto.core.toml.complaints import did_you_mean
from kova_auto.core.toml.places import Key
from kova_auto.scheduling.draft import Draft


def check_mcp(draft: Draft) -> None:
    """Check that each server can be named so, and that each tool that is allowed or needed is of one of them.

    Whether somebody configures such a server is looked up when a run begins: that may change without the job's file.
    """
    servers = draft.file.mcp.servers
    for index, name in enumerate(servers):
        if not is_address(name):
            hint = "an address as workspace:NAME names one that comes with the workspace"
            draft.problems.add(("mcp", "servers", index), f"wanted {SERVER_FORM}, found {name!r}", hint)
    for index, pattern in enumerate(draft.file.permissions.allow_mcp_tools):
        _check_tool(draft, ("permissions", "allow_mcp_tools", index), pattern)
    for index, name in enumerate(draft.file.limits.required_tools):
        key: Key = ("limits", "required_tools", index)
        if name.startswith(PREFIX) and ("*" in name or "?" in name):
            draft.problems.add(key, f"wanted the whole name of one tool, found {name!r}")
        elif name.startswith(PREFIX):
            _check_tool(draft, key, name)


def _check_tool(draft: Draft, key: Key, pattern: str) -> None:
    plain = [name.rpartition(":")[2] for name in draft.file.mcp.servers]
    if complaint := check_pattern(pattern):
        draft.problems.add(key, complaint)
    elif (found := parsed(pattern)) and (wanted := found[0].rpartition(":")[2]) not in plain:
        hint = did_you_mean(wanted, plain) or f'[mcp] servers = ["{found[0]}"] names it'
        draft.problems.add(key, f"is a tool of {found[0]}, which mcp.servers does not name", hint)
