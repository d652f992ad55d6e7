"""One TOML text with its place: what it says, and errors that name file, line and key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from kova_auto.core.errors import ConfigError
from kova_auto.core.toml.places import Key, lines_of, spell

E = TypeVar("E", bound=ConfigError)

_PLACE = re.compile(r" \((?:at line (\d+), column \d+|at end of document)\)$")


@dataclass(frozen=True)
class Document(Generic[E]):
    """Hold a text that was read, and raise the errors of its kind.

    Attributes:
        path: The file, as it is shown.
        data: What `tomllib` made of the text.
        kind: The class of its errors.
    """

    path: str
    text: str
    data: Mapping[str, object]
    kind: type[E]

    @cached_property
    def _lines(self) -> dict[Key, int]:
        return lines_of(self.text)

    def line_of(self, key: Key) -> int | None:
        """Return the line of a key, or of the nearest table around it that has one."""
        while key and key not in self._lines:
            key = key[:-1]
        return self._lines.get(key)

    def error(self, key: Key, message: str, hint: str = "") -> E:
        """Return an error at a key; the empty key means the whole file."""
        return self.kind(message, path=self.path, line=self.line_of(key), key=spell(key), hint=hint)


def parse_document(text: str, path: str, kind: type[E]) -> Document[E]:
    """Read a TOML text.

    Raises:
        ConfigError: Of the given kind, with the line, where the text is no TOML.
    """
    try:
        return Document(path, text, tomllib.loads(text), kind)
    except tomllib.TOMLDecodeError as exc:
        message = str(exc)
        place = _PLACE.search(message)
        line = int(place[1]) if place and place[1] else text.rstrip("\n").count("\n") + 1
        sentence = _PLACE.sub("", message)
        msg = f"wanted TOML: {sentence[:1].lower()}{sentence[1:]}"
        raise kind(msg, path=path, line=line) from exc
    except RecursionError as exc:
        msg = "wanted TOML: it is nested too deep"
        raise kind(msg, path=path) from exc
    except ValueError as exc:
        msg = "wanted TOML: it holds a number that is too long"
        raise kind(msg, path=path) from exc


def together(problems: list[E]) -> E:
    """Return one error for several problems of a file, in the order of their lines."""
    first, *others = sorted(problems, key=lambda problem: problem.line or 0)
    return type(first)(first.message, path=first.path, line=first.line, key=first.key, hint=first.hint, others=others)
