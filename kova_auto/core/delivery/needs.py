"""Say what an endpoint of each format must, may and must not be given: address, secret, token, and keys of its own.

Plain data, read by the settings and by the page about endpoints, and quick to import: a command that only reads the
settings loads no renderer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from kova_auto.core.delivery.target import FormatName, OptionValue


class Want(StrEnum):
    """Say whether a key is to be there."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Option:
    """Describe one key that a format knows beside those of every endpoint.

    Attributes:
        meaning: For a person who writes the settings; also says what the text may be.
        pattern: The whole text fits it; a number may be written as one.
        required: It must be there.
        default: What it is where it is left out; None where that means "not at all".
        named: It is a table of names, each with a text that fits `pattern`.
    """

    meaning: str
    pattern: str = r"[^\r\n]{1,200}"
    required: bool = False
    default: str | None = None
    named: bool = False


@dataclass(frozen=True, slots=True)
class Needs:
    """Hold what one format needs.

    Attributes:
        url: Where it is sent when the endpoint names no address; empty where it has to.
        secret: What signs.
        signs: What a secret looks like: `whsec` as Standard Webhooks has it, or any text.
        token: What lets us in, in a header, the address or the body; never shown.
    """

    url: str = ""
    secret: Want = Want.NONE
    signs: str = "text"
    token: Want = Want.NONE
    options: Mapping[str, Option] = field(default_factory=lambda: MappingProxyType({}))


NEEDS: Final[Mapping[FormatName, Needs]] = {
    FormatName.STANDARD: Needs(secret=Want.REQUIRED, signs="whsec"),
    FormatName.SLACK: Needs(),
    FormatName.FEISHU: Needs(secret=Want.OPTIONAL),
    FormatName.DINGTALK: Needs(secret=Want.OPTIONAL),
    FormatName.WECOM: Needs(),
    FormatName.NTFY: Needs(token=Want.OPTIONAL),
    FormatName.BARK: Needs(
        url="https://api.day.app",
        token=Want.REQUIRED,
        options={
            "group": Option("the heading under which the phone puts the pushes", r"[^\r\n]{1,60}", default="kova-auto"),
            "sound": Option("the name of a sound of the app, such as bell", r"[A-Za-z0-9_-]{1,40}"),
        },
    ),
    FormatName.PAGERDUTY: Needs(
        url="https://events.pagerduty.com/v2/enqueue",
        token=Want.REQUIRED,
        options={
            "source": Option("what the events come from, such as this machine's name", default="kova-auto"),
            "severity": Option(
                "how bad a failure is: critical, error, warning or info", "critical|error|warning|info", default="error"
            ),
        },
    ),
    FormatName.HEALTHCHECKS: Needs(),
}
"""One line for each format; those of `core/delivery/payload.py` and these are the same, which a test sees to."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")


Problem = tuple[tuple[str, ...], str, str]
"""Place below the endpoint's table, what is wrong, what to do."""


def problems_of(needs: Needs, given: Mapping[str, object], common: Collection[str] = ()) -> Iterator[Problem]:
    """Yield what is wrong with the options of an endpoint; `common` are the keys that every endpoint has."""
    for key, value in given.items():
        if option := needs.options.get(key):
            yield from _option_problems(key, option, value)
        else:
            known = sorted({*needs.options, *common})
            near = get_close_matches(key, known, n=1)
            yield (key,), "unknown key", f"did you mean {near[0]}?" if near else f"known here: {', '.join(known)}"
    for key, option in needs.options.items():
        if option.required and key not in given:
            yield (key,), "wanted this key, found none", option.meaning


def _option_problems(key: str, option: Option, value: object) -> Iterator[Problem]:
    if option.named != isinstance(value, Mapping):
        yield (key,), f"wanted {'a table of names' if option.named else 'one text'}", option.meaning
    elif isinstance(value, Mapping):
        for name, text in value.items():
            if not _NAME.fullmatch(str(name)):
                yield (key, str(name)), "wanted a name of letters, digits, _, . and -", option.meaning
            elif not _fits(option, text):
                yield (key, str(name)), "wanted another text", option.meaning
    elif not _fits(option, value):
        yield (key,), f"wanted {option.meaning}", ""


def _fits(option: Option, value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return False
    return re.fullmatch(option.pattern, str(value)) is not None


def options_of(needs: Needs, given: Mapping[str, object]) -> Mapping[str, OptionValue]:
    """Return options that are free of problems as texts, with the defaults of those left out."""
    defaults = {key: option.default for key, option in needs.options.items() if option.default is not None}
    return {**defaults, **{key: _text(value) for key, value in given.items()}}


def _text(value: object) -> OptionValue:
    if isinstance(value, Mapping):
        return {str(name): str(text) for name, text in value.items()}
    return str(value)
