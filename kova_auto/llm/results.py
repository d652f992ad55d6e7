"""What a script's templates may ask about the tool results that really came back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import Final

from pydantic import JsonValue

from kova_auto.core.message import AssistantMessage, Message, Part, ResultStatus, TextPart, ToolMessage, UserMessage
from kova_auto.llm.script import Script

_NUMBERED: Final = re.compile(r" *\d+\t")
_NOTE: Final = re.compile(r"\[.* .*\]")
_SEARCHES: Final = frozenset({"glob", "grep"})  # neither prints a line of its own that looks like a note
_SILENT: Final = ["[no output]"]
_EXIT: Final = re.compile(r"^\[exit code (-?\d+)\]$", re.MULTILINE)


@dataclass(frozen=True)
class Result:
    """Hold one result as the model was told it.

    Attributes:
        args: Arguments that the call was made with.
        status: `ok`, `error`, `denied`, `unknown` or `cancelled`.
    """

    tool: str
    args: Mapping[str, JsonValue]
    status: str
    text: str

    def __str__(self) -> str:
        return self.text

    @cached_property
    def raw_lines(self) -> list[str]:
        """Return the text's lines as they came."""
        return self.text.removesuffix("\n").split("\n") if self.text else []

    @cached_property
    def notes(self) -> list[str]:
        """Return what the tool itself says in brackets, as that there is more, or nothing at all."""
        if not self.ok:
            return []
        if self.tool == "read":
            return [line for line in self.raw_lines if not _NUMBERED.match(line)]
        if self.tool in _SEARCHES:
            return list(takewhile(_NOTE.fullmatch, reversed(self.raw_lines)))[::-1]
        return self.raw_lines if self.raw_lines == _SILENT else []

    @cached_property
    def lines(self) -> list[str]:
        """Return the lines without the tool's notes; of a file that was read only its own, without their numbers."""
        if self.tool != "read" or not self.ok:
            return self.raw_lines[: len(self.raw_lines) - len(self.notes)]
        return [line[match.end() :] for line in self.raw_lines if (match := _NUMBERED.match(line))]

    @property
    def line_count(self) -> int:
        """Return how many lines there are."""
        return len(self.lines)

    @property
    def ok(self) -> bool:
        """Say whether the call did what it should."""
        return self.status == ResultStatus.OK

    @property
    def denied(self) -> bool:
        """Say whether the call was refused."""
        return self.status == ResultStatus.DENIED

    @property
    def error(self) -> str:
        """Return what went wrong; empty where nothing did."""
        return "" if self.ok else self.text

    @property
    def exit_code(self) -> int | None:
        """Return the exit code of a command; None where the text names none, as for other tools."""
        found = _EXIT.findall(self.text)
        return int(found[-1]) if found else 0 if self.tool == "bash" and self.ok else None


@dataclass(frozen=True)
class Results:
    """Find results by the id of their call; a call with `each` has a list of them.

    It has no other public names, so that a result may have any.
    """

    _found: Mapping[str, Result | list[Result]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Result | list[Result]:
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def results_of(script: Script, turn: int, messages: Sequence[Message]) -> Results:
    """Return what the calls of the turns before this one (from 0) gave."""
    found: dict[str, Result | list[Result]] = {
        call.id: [] for played in script.turns[:turn] for call in played.calls if call.each is not None
    }
    for message in messages:
        if isinstance(message, ToolMessage):
            name, _, number = message.call.provider_id.partition(".")
            result = Result(message.call.tool, message.call.args, message.status.value, _text(message.parts))
            several = found.get(name)
            if number and isinstance(several, list):
                several.append(result)
            elif name:
                found[name] = result
    return Results(found)


def prompt_of(messages: Sequence[Message]) -> str:
    """Return what the run was asked to do."""
    return next((_text(message.parts) for message in messages if isinstance(message, UserMessage)), "")


def told_last(messages: Sequence[Message]) -> str:
    """Return what the model was told since its last reply: the prompt, or results."""
    told: list[str] = []
    for message in reversed(messages):
        if isinstance(message, AssistantMessage):
            break
        told.append(_text(message.parts))
    return "\n".join(reversed(told))


def _text(parts: Sequence[Part]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))
