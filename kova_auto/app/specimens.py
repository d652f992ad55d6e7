"""Make up arguments for a tool: from the one text that a person typed, or to show what the tool may do where.

What is made up fits the tool's schema as far as that says what fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from kova_auto.core.approval.hosts import named_hosts
from kova_auto.core.approval.policy import Policy
from kova_auto.core.message import ToolSpec
from kova_auto.core.tool_names import MCP

_SHOWN = 3
"""So many rules and hosts of a job are shown, each by an example."""
_PATHS = ("example.txt", "AGENTS.md", ".git/config", "/usr/share/example.txt", "/var/tmp/example.txt")  # noqa: S108
_COMMANDS = ("git status", "rm -rf build", "an-unlisted-program")
_ANY_CALL: Mapping[str, JsonValue] = {"action": "call", "tool": "any"}
_OTHER_HOST = "https://example.org/"

Arguments = dict[str, JsonValue]


def plain_arguments(spec: ToolSpec, text: str) -> Arguments | None:
    """Return arguments of which the one that matters is this text, or None where a tool has no such argument."""
    schema = spec.parameters
    known = _properties(schema)
    free = (name for name in _required(schema) if known[name].get("type") == "string" and "enum" not in known[name])
    main = next(free, None)
    return None if main is None else {**_sampled(schema), main: text}


def specimens(
    spec: ToolSpec, policy: Policy, home: str, agents: Sequence[str] = (), servers: Sequence[str] = ()
) -> Iterator[tuple[str, Arguments]]:
    """Yield arguments for a tool, at least once: for each place, command or host that may be judged apart.

    Each with the text of the one that matters; empty where none does.
    """
    sample, known = _sampled(spec.parameters), _properties(spec.parameters)
    for name, texts in (
        ("command", _commands(policy)),
        ("url", _urls(policy)),
        ("file_path", _paths(policy, home)),
        ("path", _paths(policy, home)),
        ("scope", _choices(known.get("scope", {}))),
        ("agent", iter(agents)),
    ):
        if name in known:
            yield from ((text, {**sample, name: text}) for text in texts)
            return
    yield "", sample
    if spec.name == MCP:
        yield from ((f"{name}: any", {**_ANY_CALL, "server": name}) for name in servers)


def _commands(policy: Policy) -> Iterator[str]:
    rules = [grant.text.rstrip("* ") for grant in policy.grants.commands]
    yield from (*rules[:_SHOWN], *_COMMANDS)


def _urls(policy: Policy) -> Iterator[str]:
    hosts = named_hosts(policy.web)[:_SHOWN]
    yield from (f"https://{host.replace('*', 'www', 1)}/" for host in hosts)
    yield _OTHER_HOST


def _paths(policy: Policy, home: str) -> Iterator[str]:
    yield from (f"{root}/example.txt" for root in (*policy.write_roots, *policy.read_roots))
    yield from (*_PATHS, f"{home}/.ssh/id_ed25519")


def _choices(schema: Mapping[str, JsonValue]) -> Iterator[str]:
    found = schema.get("enum")
    yield from map(str, found if isinstance(found, list) else ())


def _properties(schema: Mapping[str, JsonValue]) -> dict[str, dict[str, JsonValue]]:
    found = schema.get("properties")
    named = found.items() if isinstance(found, dict) else ()
    return {name: value for name, value in named if isinstance(value, dict)}


def _required(schema: Mapping[str, JsonValue]) -> list[str]:
    found, known = schema.get("required"), _properties(schema)
    return [str(name) for name in found if name in known] if isinstance(found, list) else []


def _sampled(schema: Mapping[str, JsonValue]) -> Arguments:
    known = _properties(schema)
    return {name: _sample(known[name]) for name in _required(schema)}


def _sample(schema: Mapping[str, JsonValue]) -> JsonValue:
    if isinstance(choices := schema.get("enum"), list) and choices:
        return choices[0]
    match schema.get("type"):
        case "string":
            return "x" * _least(schema, "minLength", 1)
        case "integer" | "number":
            return _least(schema, "minimum", 1)
        case "boolean":
            return False
        case "array":
            items = schema.get("items")
            return [_sample(items) if isinstance(items, dict) else "x"] * _least(schema, "minItems", 0)
        case "object":
            return _sampled(schema)
        case _:
            return None


def _least(schema: Mapping[str, JsonValue], key: str, otherwise: int) -> int:
    found = schema.get(key)
    return max(int(found), otherwise) if isinstance(found, int | float) else otherwise
