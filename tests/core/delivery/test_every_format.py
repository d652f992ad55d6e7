"""What holds for every format, whatever a run has said: limits, mentions, code, characters, the way to the whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from kova_auto.core.delivery.document import describe
from kova_auto.core.delivery.format import Form, Rendered, Sealed, Wish
from kova_auto.core.delivery.limits import LIMITS, Limit, Unit
from kova_auto.core.delivery.needs import NEEDS, options_of
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.payload import FORMATS
from kova_auto.core.delivery.signature import SigningSecret
from kova_auto.core.delivery.target import FormatName, OptionValue, Target
from tests.core.delivery.corpus import AT, LONGEST, MANY, corpus
from tests.core.delivery.kind import Kind, Measured, kind_of

ID = "msg_abcdefghijklmnopqrstuvwxyz"
CANARY = "canary0123456789canary0123456789"
JOINERS = frozenset("\u200d\ufe0f\ufe0e\u0301\u0302")


@dataclass(frozen=True)
class Sent:
    """Hold one message of one format.

    Attributes:
        rendered: As it is stored until it is sent.
        sealed: As it goes to a target whose address, token and secret are canaries.
    """

    case: str
    notice: Notice
    wish: Wish
    rendered: Rendered
    sealed: Sealed
    payload: Any


def target_of(name: FormatName, wish: Wish) -> Target:
    address = NEEDS[name].url or f"{kind_of(name).address}{CANARY}"
    return Target("team", name, address, (SigningSecret(CANARY.encode()),), token=CANARY, options=wish.options)


@cache
def sent(name: FormatName, step: int) -> tuple[Sent, ...]:
    """Return the messages of every `step`-th notice."""
    return tuple(_sent(name, step))


def _sent(name: FormatName, step: int) -> Iterator[Sent]:
    format_, kind = FORMATS[name], kind_of(name)
    for number, (case, notice) in enumerate(corpus()[::step]):
        for form, options in _ways(kind, number):
            wish = Wish(ID, form, options_of(NEEDS[name], options))
            if format_.declines(notice, wish):
                continue
            rendered = format_.render(notice, wish)
            sealed = format_.seal(target_of(name, wish), rendered, ID, AT)
            yield Sent(f"{case}-{form}", notice, wish, rendered, sealed, kind.read(sealed))


def _ways(kind: Kind, number: int) -> Iterator[tuple[Form, Mapping[str, OptionValue]]]:
    """Yield the rich form of every notice, and now and then the plain one and each of the other options."""
    yield Form.RICH, kind.options[0]
    ways = [*product(Form, kind.options)][1:]
    if number % 3 == 0:
        yield ways[number // 3 % len(ways)]


FEW, ALL = 13, 1
"""Which of the notices are tried: every thirteenth at each change, every one in the slow tests."""


def _param(name: FormatName, step: int) -> ParameterSet:
    group = pytest.mark.xdist_group(f"format {name}")
    marks = (group,) if step == FEW else (group, pytest.mark.slow)
    return pytest.param(name, step, marks=marks, id=name if step == FEW else f"{name}-all")


every_format = pytest.mark.parametrize(
    ("name", "step"), [_param(name, step) for name in FORMATS for step in (FEW, ALL)]
)


def test_there_are_as_many_notices_as_we_say_and_some_are_huge() -> None:
    assert len(corpus()) == MANY
    assert sum(len(getattr(notice, "answer", "")) >= LONGEST - 10 for _, notice in corpus()) >= 10


@pytest.mark.parametrize("name", FORMATS)
def test_every_limit_has_its_measure(name: FormatName) -> None:
    assert set(kind_of(name).measures) == set(LIMITS[name]) - {"body"}


@every_format
def test_every_message_is_inside_every_limit(name: FormatName, step: int) -> None:
    for one in sent(name, step):
        for key, limit in LIMITS[name].items():
            taken = _taken(_measured(kind_of(name), key, one), limit)
            assert (one.case, key, taken) <= (one.case, key, limit.most)


def _measured(kind: Kind, key: str, one: Sent) -> Measured:
    return len(one.sealed.body) if key == "body" else kind.measures[key](one.payload)


def _taken(measured: Measured, limit: Limit) -> int:
    if isinstance(measured, int):
        return measured
    assert limit.unit is not Unit.ITEMS, "a number of items is a number"
    return max(map(limit.unit.size, measured), default=0)


@every_format
def test_no_message_calls_anybody(name: FormatName, step: int) -> None:
    kind = kind_of(name)
    if kind.live is not None:
        live = re.compile(kind.live, re.IGNORECASE)
        spoken = kind.spoken or kind.texts
        hits = ((one.case, live.search(text)) for one in sent(name, step) for text in spoken(one.payload))
        assert [(case, hit.string[hit.start() - 20 : hit.end() + 20]) for case, hit in hits if hit] == []


@every_format
def test_no_block_of_code_is_left_open(name: FormatName, step: int) -> None:
    kind = kind_of(name)
    if kind.fenced:
        texts = ((one.case, text) for one in sent(name, step) for text in kind.texts(one.payload))
        assert [case for case, text in texts if _fences(text) % 2] == []


def _fences(text: str) -> int:
    return sum(line.lstrip("> \u2003").startswith("```") for line in text.split("\n"))


@every_format
def test_no_character_is_split_and_none_acts_on_a_screen(name: FormatName, step: int) -> None:
    kind = kind_of(name)
    for one in sent(name, step):
        for text in kind.texts(one.payload):
            acting = re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text)
            assert (one.case, acting) == (one.case, None)
            assert not text.endswith("\u200d"), one.case
            assert text[:1] not in JOINERS, one.case


@every_format
def test_the_same_notice_gives_the_same_bytes(name: FormatName, step: int) -> None:
    for one in sent(name, step)[::20]:
        assert FORMATS[name].render(one.notice, one.wish) == one.rendered


@every_format
def test_the_way_to_the_whole_is_always_there(name: FormatName, step: int) -> None:
    kind = kind_of(name)
    if kind.shows_command:
        for one in sent(name, step):
            text = kind.bare("\n".join(kind.texts(one.payload)))
            commands = map(kind.bare, describe(one.notice).commands[:1])
            assert [(one.case, command) for command in commands if command not in text] == []


@every_format
def test_what_is_kept_until_it_is_sent_holds_no_secret_of_its_endpoint(name: FormatName, step: int) -> None:
    for one in sent(name, step):
        assert CANARY.encode() not in one.rendered.body, one.case
        assert CANARY not in str(one.rendered.headers), one.case
        assert CANARY not in repr(one.sealed), one.case
