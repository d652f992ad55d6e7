"""Read a script: the turns that are played where no model is called.

Only its structure is looked at here, and no template: this is cheap enough for every check of a job file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath
from typing import Annotated

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
    model_validator,
)

from kova_auto.core.errors import ConfigError
from kova_auto.core.scripted import SCRIPTED
from kova_auto.core.stop_reason import StopReason
from kova_auto.core.toml.complaints import complaints
from kova_auto.core.toml.document import Document, parse_document, together
from kova_auto.core.toml.places import lines_of, spell
from kova_auto.core.value import Value


def _result_name(value: str) -> str:
    if value and not (value.isascii() and value.isidentifier()):
        msg = f"wanted letters, digits and _, as templates write results.NAME; found {value!r}"
        raise ValueError(msg)
    return value


ResultName = Annotated[str, AfterValidator(_result_name)]


class ScriptCall(Value):
    """Hold one tool call of a turn. Every string in `args`, `when`, `each` and `unparsed` is a template.

    Attributes:
        id: Name under which later templates find its result; `TOOL_1`, `TOOL_2` where the script gives none.
        when: Made only if this is true.
        each: Made once for each item of this list; templates then know `item` and `index` (from 1).
        unparsed: Arguments that are no JSON object, as a model may write them; in place of `args`.
    """

    id: ResultName = ""
    tool: Annotated[str, StringConstraints(min_length=1)]
    args: dict[str, JsonValue] = Field(default_factory=dict)
    when: bool | str = True
    each: str | list[JsonValue] | None = None
    unparsed: str | None = None

    @model_validator(mode="after")
    def _args_or_unparsed(self) -> ScriptCall:
        if self.unparsed is not None and self.args:
            msg = "wanted args or unparsed, found both"
            raise ValueError(msg)
        return self


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


class ScriptTurn(Value):
    """Hold one reply.

    Attributes:
        expect: Texts that must stand in what the model was told last: the prompt, then the newest results.
        text: What the reply says; a template.
        stop: Why it ends; by default `tool_calls` if it calls any, else `end`.
    """

    expect: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    text: str = ""
    calls: tuple[ScriptCall, ...] = ()
    stop: StopReason | None = None

    @model_validator(mode="after")
    def _says_something(self) -> ScriptTurn:
        if not self.model_fields_set & {"text", "calls"}:
            msg = 'wanted text or calls, found neither; an empty reply is text = ""'
            raise ValueError(msg)
        return self


def _at_least_one(turns: tuple[ScriptTurn, ...]) -> tuple[ScriptTurn, ...]:
    if not turns:
        msg = "wanted at least one turn, found none"
        raise ValueError(msg)
    return turns


class ScriptPart(Value):
    """Hold the turns that are played for a subagent.

    Attributes:
        agent: Name of the subagent.
        expect: Texts that must stand in its task; the first part that fits is played.
    """

    agent: Annotated[str, StringConstraints(min_length=1)]
    expect: Annotated[tuple[str, ...], BeforeValidator(_listed)] = ()
    turns: Annotated[tuple[ScriptTurn, ...], AfterValidator(_at_least_one)]


class _File(Value):
    description: str = ""
    subagents: tuple[ScriptPart, ...] = ()
    turns: Annotated[tuple[ScriptTurn, ...], AfterValidator(_at_least_one)]


class Script(Value):
    """Hold a script whose structure is sound.

    Attributes:
        path: Where it was read, for messages.
        lines: 1-based line of each key, as `turns[0].text`.
        subagents: What is played for subagents, in the order in which it is looked at.
        place: Key of these turns in the file.
    """

    path: str
    description: str = ""
    turns: tuple[ScriptTurn, ...]
    lines: dict[str, int] = Field(default_factory=dict)
    subagents: tuple[ScriptPart, ...] = ()
    place: str = "turns"

    def part(self, agent: str, task: str) -> Script:
        """Return what is played for a subagent.

        Raises:
            ConfigError: There is nothing for it.
        """
        for number, part in enumerate(self.subagents):
            if part.agent.lower() == agent.lower() and all(text in task for text in part.expect):
                place = f"subagents[{number}].turns"
                return self.model_copy(update={"turns": part.turns, "subagents": (), "place": place})
        message = f"the script has no turns for the subagent {agent} with this task"
        raise ConfigError(message, path=self.path, key="subagents")

    @property
    def model(self) -> str:
        """Return what stands for the model's name: `scripted/` and the file's stem."""
        return scripted_name(self.path)

    def line_of(self, turn: int, key: str = "") -> int | None:
        """Return the line of a turn (from 0), or of a key in it, as near as it is known."""
        place = f"{self.place}[{turn}]"
        return self.lines.get(f"{place}.{key}", self.lines.get(place))


def scripted_name(path: str) -> str:
    """Return the name under which a script plays the model; `a.script.toml` is called `a`."""
    return f"{SCRIPTED}/{PurePath(path).name.removesuffix('.toml').removesuffix('.script') or 'script'}"


def parse_script(text: str, path: str) -> Script:
    """Return the script that a file's text holds.

    Raises:
        ConfigError: It is no TOML, or holds something else than turns; names every problem, with line and key.
    """
    document = parse_document(text, path, ConfigError)
    try:
        file = _File.model_validate(document.data)
    except ValidationError as exc:
        raise together(list(complaints(exc, _File, document.data, document.error).values())) from exc
    lines = {spell(key): line for key, line in lines_of(text).items()}
    parts = tuple(
        part.model_copy(update={"turns": _named(part.turns, document, ("subagents", number, "turns"))})
        for number, part in enumerate(file.subagents)
    )
    turns = _named(file.turns, document, ("turns",))
    return Script(path=path, description=file.description, turns=turns, lines=lines, subagents=parts)


Place = tuple[str | int, ...]


def _named(turns: Sequence[ScriptTurn], document: Document[ConfigError], place: Place) -> tuple[ScriptTurn, ...]:
    """Give a name to each call that has none, and refuse a name that is given twice."""
    given = _given(turns, document, place)
    counts: Counter[str] = Counter()

    def named(call: ScriptCall) -> ScriptCall:
        if call.id:
            return call
        stem = re.sub(r"\W", "_", call.tool, flags=re.ASCII)
        counts[stem] += 1
        while f"{stem}_{counts[stem]}" in given:
            counts[stem] += 1
        return call.model_copy(update={"id": f"{stem}_{counts[stem]}"})

    return tuple(turn.model_copy(update={"calls": tuple(map(named, turn.calls))}) for turn in turns)


def _given(turns: Sequence[ScriptTurn], document: Document[ConfigError], place: Place) -> set[str]:
    found: set[str] = set()
    for number, turn in enumerate(turns):
        for index, call in enumerate(turn.calls):
            if call.id and call.id in found:
                message = f"two calls are called {call.id!r}: later templates could not tell their results apart"
                raise document.error((*place, number, "calls", index, "id"), message)
            found.add(call.id)
    return found
