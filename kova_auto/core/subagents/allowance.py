"""Work out what a definition lets its subagent use: from lists of tools, from maps of them, and from MCP servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from kova_auto.core.subagents.definition import GRANTABLE
from kova_auto.core.subagents.grants import MCP, Grants, granted, in_order, names_in, refused
from kova_auto.core.subagents.keys import PLAN, logic, shown

MOST_NAMES: Final = 200
"""So many names of tools are looked at; a list that has more is an error."""

_CHANGING: Final = ("write", "edit", "bash")
_EDITS: Final = ("edit", "write")
"""What OpenCode's permission `edit` is about."""


@dataclass
class Allowance:
    """Hold what was worked out; each error and remark with the canonical key that it is about.

    Attributes:
        tools: By our names, in the order of `GRANTABLE`.
        servers: MCP servers, by name.
        errors: What may not be passed over: the subagent would have more than its author meant.
    """

    tools: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    errors: list[tuple[str, str]] = field(default_factory=list)
    remarks: list[tuple[str, str]] = field(default_factory=list)

    def narrow(self, key: str, away: Grants) -> None:
        """Take tools and servers away."""
        self.tools = tuple(tool for tool in self.tools if tool not in away.tools)
        self.servers = tuple(server for server in self.servers if server not in away.servers)
        self.remarks += ((key, remark) for remark in away.unknown)


def allowance(said: Mapping[str, object], *, needs_tools: bool) -> Allowance:
    """Return what a definition allows.

    Args:
        said: Its values by canonical key.
        needs_tools: Without a list of tools it is wrong; otherwise it has all that can be granted.
    """
    found = Allowance()
    key = "tools" if "tools" in said else "allowedtools"
    if key in said:
        if "allowedtools" in said:
            is_alone = key == "allowedtools"
            found.remarks.append(("allowedtools", "is read as tools" if is_alone else "means nothing beside tools"))
        _grant(found, key, said[key])
    elif needs_tools:
        found.errors.append(("tools", f"wanted the tools that it may use, found none; there are {_known()}"))
    else:
        found.tools = GRANTABLE
    _add_servers(found, said)
    _take_away(found, said)
    return found


def _grant(found: Allowance, key: str, value: object) -> None:
    if isinstance(value, Mapping):
        _switch(found, key, value)
        return
    names = _names(value)
    if names is None:
        found.errors.append((key, f"{_no_names(value)}; [] grants none, and there are {_known()}"))
        return
    said = granted(names)
    found.tools, found.servers = said.tools, said.servers
    found.remarks += ((key, remark) for remark in (*said.remarks, *said.unknown))
    if names and not (said.tools or said.servers):
        found.errors.append((key, f"grants nothing: {(*said.remarks, *said.unknown)[0]}; there are {_known()}"))


def _switch(found: Allowance, key: str, switches: Mapping[str, object]) -> None:
    """Obey a map of tools, as OpenCode has it: whatever it does not turn off is on."""
    switches = {name: logic(on) for name, on in switches.items()}
    if not all(isinstance(on, bool) for on in switches.values()):
        found.errors.append((key, "wanted true or false for each tool, found something else"))
        return
    found.tools = () if switches.get("*") is False else GRANTABLE
    on = granted(name for name, is_on in switches.items() if is_on and name != "*")
    found.tools, found.servers = in_order((*found.tools, *on.tools)), on.servers
    found.remarks += ((key, remark) for remark in (*on.remarks, *on.unknown))
    found.narrow(key, refused(name for name, is_on in switches.items() if not is_on and name != "*"))


def _add_servers(found: Allowance, said: Mapping[str, object]) -> None:
    """Add the MCP servers that are named; one that is brought along is never started."""
    value, key = said.get("mcpservers"), "mcpservers"
    if value is None and (value := said.get("mcp")) is not None:
        key = "mcp"
        value = value.get("servers") if isinstance(value, Mapping) else value
    if value is None:
        return
    entries = names_in(value) if isinstance(value, str) else value
    if not isinstance(entries, list | tuple | Mapping):
        found.errors.append((key, "wanted names of MCP servers, found something else"))
        return
    names: list[str] = list(found.servers)
    for entry in entries:
        if isinstance(entry, str) and not (isinstance(entries, Mapping) and entries[entry] is not None):
            names.append(entry.strip().removeprefix(MCP))
        else:
            named = (
                entry if isinstance(entry, str) else ", ".join(map(str, entry)) if isinstance(entry, Mapping) else ""
            )
            found.remarks.append((key, _brought(named)))
    found.servers = tuple(name for name in dict.fromkeys(names) if name)


def _brought(named: str) -> str:
    which = f" `{named[:60]}`" if named else ""
    return f"a server{which} that a definition brings along is not started; name one of mcp.json"


def _take_away(found: Allowance, said: Mapping[str, object]) -> None:
    if (value := said.get("disallowedtools")) is not None:
        names = _names(value)
        if names is None:
            found.errors.append(("disallowedtools", _no_names(value)))
        else:
            found.narrow("disallowedtools", refused(names))
    _keep_to_reading(found, "readonly", logic(said.get("readonly", False)))
    _keep_to_reading(found, "permissionmode", said.get("permissionmode") == PLAN)
    permission = said.get("permission")
    if permission is None:
        return
    if isinstance(permission, str):
        permission = {"*": permission}
    if not isinstance(permission, Mapping):
        found.errors.append(("permission", "wanted allow, ask or deny for each tool, found something else"))
        return
    _hold(found, permission)


def _keep_to_reading(found: Allowance, key: str, is_wanted: object) -> None:
    """Obey `readonly`, as Cursor has it, and the permission mode `plan` of Claude Code."""
    if not isinstance(is_wanted, bool | None):
        found.errors.append((key, f"wanted true or false, found {shown(is_wanted)}"))
    elif is_wanted:
        if "bash" in found.tools:
            found.remarks.append((key, "bash is not granted: it cannot be held to reading"))
        found.narrow(key, Grants(_CHANGING))


def _hold(found: Allowance, permission: Mapping[str, object]) -> None:
    """Obey a map of permissions, as OpenCode has it: what is not simply allowed is not granted."""
    if permission.get("*", "allow") != "allow":
        named = [one for name, rule in permission.items() if rule == "allow" for one in _meant(name)]
        found.tools = tuple(tool for tool in found.tools if tool in granted(named).tools)
    for name, rule in permission.items():
        if name == "*" or _is_all(rule, "allow"):
            continue
        away = refused(_meant(name))
        if not _is_all(rule, "deny") and set(away.tools) & set(found.tools):
            what = "ask" if rule == "ask" else "rules for a part of it"
            found.remarks.append(("permission", f"{name}: {what} cannot be kept; it is not granted"))
        found.narrow("permission", Grants(away.tools, away.servers))


def _is_all(rule: object, word: str) -> bool:
    """Say whether a rule, or each part of it, is one word."""
    parts = list(rule.values()) if isinstance(rule, Mapping) else [rule]
    return bool(parts) and all(part == word for part in parts)


def _meant(name: str) -> tuple[str, ...]:
    return _EDITS if name == "edit" else (name,)


def _names(value: object) -> tuple[str, ...] | None:
    """Return the names of a text or a list; None where it is neither."""
    if isinstance(value, str):
        names = names_in(value)
    elif isinstance(value, list) and all(isinstance(one, str) for one in value):
        names = tuple(_each(value))
    else:
        return None
    return names if len(names) <= MOST_NAMES else None


def _no_names(value: object) -> str:
    """Return why something is no names of tools."""
    if not isinstance(value, list):
        return f"wanted names of tools, found {shown(value)}"
    other = next((shown(one) for one in value if not isinstance(one, str)), f"more than {MOST_NAMES}")
    return f"wanted at most {MOST_NAMES} names of tools, found {other}"


def _each(entries: list[str]) -> Iterator[str]:
    for entry in entries:
        yield from names_in(entry)


def _known() -> str:
    return ", ".join(GRANTABLE)
