"""Say how a test reads what one format sends: one file in `kinds` for each, under the format's name.

A format without its file, and a limit without its measure, fail `test_every_format`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from kova_auto.core.delivery.format import Rendered, Sealed
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.target import FormatName, OptionValue

Payload = Any
Measured = Iterable[str] | int
"""Texts, each of which is within the limit; or how many there are, or how much of the limit is taken in all."""


def from_json(message: Rendered | Sealed) -> Payload:
    """Return the payload of a message in JSON, which nothing but JSON may hold."""
    return json.loads(message.body.decode("utf-8"), parse_constant=_refuse)


def _refuse(name: str) -> None:
    raise AssertionError(name)


def texts_in(value: Payload) -> Iterator[str]:
    """Yield every text of a payload, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)


def under(value: Payload, *keys: str) -> Iterator[Any]:
    """Yield every value of a payload that stands under one of some keys, however deep."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key in keys:
                yield item
            yield from under(item, *keys)
    elif isinstance(value, list):
        for item in value:
            yield from under(item, *keys)


def without_guards(text: str) -> str:
    """Return Markdown without what keeps characters from being markup."""
    return text.replace("\u200b", "").replace("\\", "")


@dataclass(frozen=True)
class Kind:
    """Hold how a test reads the messages of one format.

    Attributes:
        measures: For each limit but `body`: what of the payload is measured against it.
        texts: What a person is shown of a payload, in the markup of the receiver.
        live: What would call somebody, or run something, in those texts; None where texts cannot.
        spoken: Those of the texts in which the receiver looks for names; None where that is all of them.
        fenced: The texts are read as Markdown: a block of code that opens in one ends in it.
        options: Each set of options with which the format is tried; the first is that of the recorded example.
        read: Gives the payload of a message.
        shows_command: The command that shows the whole is in the texts.
        bare: Undoes in a text what the format does to characters that could be markup.
        address: What the address of an endpoint begins with, where its format has none of its own.
        example: Of which notice the recorded example is; None for the report that most have.
    """

    measures: Mapping[str, Callable[[Payload], Measured]] = field(default_factory=dict)
    texts: Callable[[Payload], Iterable[str]] = texts_in
    live: str | None = None
    spoken: Callable[[Payload], Iterable[str]] | None = None
    fenced: bool = False
    options: Sequence[Mapping[str, OptionValue]] = ({},)
    read: Callable[[Rendered | Sealed], Payload] = from_json
    shows_command: bool = True
    bare: Callable[[str], str] = without_guards
    address: str = "https://hooks.example.org/"
    example: Notice | None = None


def kind_of(name: FormatName) -> Kind:
    """Return how the messages of a format are read."""
    kind = import_module(f"tests.core.delivery.kinds.{name.replace('-', '_')}").KIND
    assert isinstance(kind, Kind)
    return kind
