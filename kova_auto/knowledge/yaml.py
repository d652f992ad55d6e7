"""Read one YAML mapping that nobody vouches for: bounded, without anchors, aliases, or tags that make objects.

Only `frontmatter.py` imports this, where it needs it: the library takes longer to import than most commands run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

MAX_DEPTH: Final = 8
MAX_NODES: Final = 2_000

_TAG = "tag:yaml.org,2002:"
_KINDS = frozenset({"map", "seq", "str", "null", "bool", "int", "float", "timestamp", "value", "merge"})
_WHOLE = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})")
_LOGIC = {"true": True, "false": False}
"""Other words of logic (`no`, `on`) stay text, as in YAML 1.2: `NO` is a country, and `on` may be a name."""


class YamlProblem(Exception):  # noqa: N818 -- it never leaves this room
    """Say what is wrong, and in which line."""

    def __init__(self, message: str, line: int, *, key: str = "", hint: str = "") -> None:
        """Keep place and sentence apart."""
        super().__init__(message)
        self.message, self.line, self.key, self.hint = message, line, key, hint


def read_mapping(text: str, *, first: int = 1) -> tuple[dict[str, object], dict[str, int]]:
    """Return what each key means, and its line; a key within another as `outer.inner`.

    Args:
        text: The YAML.
        first: Number that its first line has in its file; those of the result and of errors count from it.

    Raises:
        YamlProblem: It is no such mapping.
    """
    try:
        _bound(text, first)
        node = yaml.compose(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as exc:
        raise _problem(exc, first) from exc
    except yaml.reader.ReaderError as exc:
        line = text.count("\n", 0, exc.position) + first
        message = f"wanted text, found the character {exc.character:#06x}"
        raise YamlProblem(message, line) from exc
    lines: dict[str, int] = {}
    if node is None:
        return {}, lines
    if not isinstance(node, MappingNode):
        message = "wanted keys with values, found something else"
        raise YamlProblem(message, node.start_mark.line + first, hint="write each as `name: value`")
    return _Values(first, lines).mapping(node, ()), lines


def _bound(text: str, first: int) -> None:
    """Refuse what refers to something else, and what is too much, before anything is built."""
    depth = nodes = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        line = first + (event.start_mark.line if event.start_mark else 0)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            message = "wanted a value, found an anchor or alias (& or *)"
            raise YamlProblem(message, line, hint="write the value out, or put it in quotes")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        nodes += isinstance(event, yaml.NodeEvent)
        if depth > MAX_DEPTH or nodes > MAX_NODES:
            message = f"wanted at most {MAX_NODES} values, {MAX_DEPTH} deep, found more"
            raise YamlProblem(message, line)


@dataclass(frozen=True, slots=True)
class _Values:
    """Make values of nodes, and write down where each key stands."""

    first: int
    lines: dict[str, int]

    def mapping(self, node: MappingNode, above: tuple[str, ...]) -> dict[str, object]:
        found: dict[str, object] = {}
        for key_node, value in node.value:
            line = self._line(key_node)
            if not isinstance(key_node, ScalarNode):
                message = "wanted a name before the colon, found a list or a mapping"
                raise YamlProblem(message, line)
            here = (*above, str(key_node.value))
            key, place = here[-1], ".".join(here)
            if key in found:
                message = f"stands twice, first in line {self.lines[place]}"
                raise YamlProblem(message, line, key=place, hint="take one of them out")
            self.lines[place] = line
            found[key] = self._value(value, here)
        return found

    def _value(self, node: Node, here: tuple[str, ...]) -> object:
        if node.tag.removeprefix(_TAG) not in _KINDS:
            message = f"wanted a plain value, found one of the kind {node.tag.removeprefix(_TAG)}"
            raise YamlProblem(message, self._line(node), key=".".join(here), hint="leave out the !")
        match node:
            case MappingNode():
                return self.mapping(node, here)
            case SequenceNode():
                return [self._value(each, here) for each in node.value]
            case _:
                return _scalar(node)

    def _line(self, node: Node) -> int:
        return self.first + node.start_mark.line


def _scalar(node: Node) -> object:
    text = str(node.value)
    match node.tag.removeprefix(_TAG):
        case "null":
            return None
        case "bool":
            return _LOGIC.get(text.lower(), text)
        case "int" if _WHOLE.fullmatch(text):
            return int(text)
        case _:
            return text


def _problem(exc: yaml.MarkedYAMLError, first: int) -> YamlProblem:
    mark = exc.problem_mark or exc.context_mark
    line = first + (mark.line if mark else 0)
    problem = exc.problem or "it ends too early"
    if "\\t" in problem:
        return YamlProblem("wanted spaces, found a tab", line, hint="YAML is indented with spaces")
    if "mapping values" in problem:
        return YamlProblem("found a second colon in the line", line, hint="put the value in quotes")
    return YamlProblem(f"is no YAML: {problem}", line)
