"""Say what an endpoint of each format must, may and must not be given: address, secret, token, and keys of its own.

Plain data, read by the settings and by the page about endpoints, and quick to import: a command that only reads the
settings loads no renderer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
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
        most: At most this many names.
        where: Another option and what that must be for this one to count: elsewhere it is neither wanted nor taken.
    """

    meaning: str
    pattern: str = r"[^\r\n]{1,200}"
    required: bool = False
    default: str | None = None
    named: bool = False
    most: int = 100
    where: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Needs:
    """Hold what one format needs.

    Attributes:
        url: Where it is sent when the endpoint names no address; empty where it has to.
        secret: What signs.
        signs: What a secret looks like: `whsec` as Standard Webhooks has it, or any text.
        token: What lets us in, in a header, the address or the body; never shown.
        receipts: Its receiver says what came of a message. Where it does not, our HTTP and its guard have no part in
            it, and the address holds a password.
    """

    url: str = ""
    secret: Want = Want.NONE
    signs: str = "text"
    token: Want = Want.NONE
    receipts: bool = True
    options: Mapping[str, Option] = field(default_factory=lambda: MappingProxyType({}))


_FULL: Final = Option("full, or thin: ids, states and times, and no text of a model", "full|thin", default="full")
_THIN: Final = Option("thin, or full: with what the model wrote, marked as untrusted", "full|thin", default="thin")
_ON: Final = Option(
    "on what it starts something: outcome, approval, alert, or some of them with commas between",
    r"(?:outcome|approval|alert)(?:\s*,\s*(?:outcome|approval|alert))*",
    default="outcome",
)
_REF: Final = r"(?![-/.])[^\s~^:?*\[\\\x00-\x1f\x7f]{1,255}"
_FACT: Final = (
    "delivery_id|type|timestamp|run_id|job|outcome|execution|scripted|model|mode|level|nominal_at|started_at|finished_at|"
    "duration_s|attempts|iterations|tool_calls|tokens_in|tokens_out|cost_usd|partial|denied_count|changes_count"
)
_VALUE: Final = (
    rf"run:(?:{_FACT})|input:[A-Za-z_][A-Za-z0-9_.-]{{0,99}}|untrusted:(?:answer|reason)"
    r"|(?!(?:run|input|untrusted):)[^\r\n\x00]{0,1000}"
)
_VALUES: Final = "a text, or run:outcome and the like, input:NAME of the run, untrusted:answer or untrusted:reason"


def _sent_as(kind: str) -> tuple[str, str]:
    return ("send", kind)


_GITHUB: Final[Mapping[str, Option]] = {
    "repository": Option(
        "OWNER/NAME", r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}/(?!\.{1,2}$)[A-Za-z0-9_.-]{1,100}", required=True
    ),
    "send": Option(
        "repository-dispatch, workflow-dispatch or commit-status",
        "repository-dispatch|workflow-dispatch|commit-status",
        default="repository-dispatch",
    ),
    "on": _ON,
    "event_type": Option(
        "the event's name, of at most 100 letters, digits, ., _ and -", r"[A-Za-z0-9._-]{1,100}", default="kova-run",
        where=_sent_as("repository-dispatch"),
    ),
    "detail": replace(_THIN, where=_sent_as("repository-dispatch")),
    "workflow": Option(
        "the workflow's file or number, as release.yml", r"[A-Za-z0-9_.-]{1,200}\.ya?ml|[0-9]{1,20}", required=True,
        where=_sent_as("workflow-dispatch"),
    ),
    "ref": Option("the branch or tag it runs on", _REF, required=True, where=_sent_as("workflow-dispatch")),
    "inputs": Option(_VALUES, _VALUE, named=True, most=25, where=_sent_as("workflow-dispatch")),
    "sha": Option(
        "a commit's whole SHA, or input:NAME of the run",
        r"[0-9a-fA-F]{40}(?:[0-9a-fA-F]{24})?|input:[A-Za-z_][A-Za-z0-9_.-]{0,99}", required=True,
        where=_sent_as("commit-status"),
    ),
    "context": Option(
        "the status's name, of at most 200 characters", r"[^\r\n]{1,200}", where=_sent_as("commit-status")
    ),
}  # fmt: skip
_GITLAB: Final[Mapping[str, Option]] = {
    "project": Option("the project's number or path", r"[0-9]{1,20}|[A-Za-z0-9_][A-Za-z0-9_./-]{0,254}", required=True),
    "ref": Option("the branch or tag it runs on", _REF, required=True),
    "variables": Option(_VALUES, _VALUE, named=True, most=50),
    "detail": _THIN,
    "on": _ON,
}

NEEDS: Final[Mapping[FormatName, Needs]] = {
    FormatName.STANDARD: Needs(secret=Want.REQUIRED, signs="whsec", options={"detail": _FULL}),
    FormatName.CLOUDEVENTS: Needs(
        secret=Want.OPTIONAL,
        signs="whsec",
        token=Want.OPTIONAL,
        options={
            "detail": _FULL,
            "source": Option("a URI that names this installation", r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]{1,200}"),
        },
    ),
    FormatName.GITHUB: Needs("https://api.github.com", token=Want.REQUIRED, options=_GITHUB),
    FormatName.GITLAB: Needs("https://gitlab.com", token=Want.REQUIRED, options=_GITLAB),
    FormatName.SLACK: Needs(),
    FormatName.DISCORD: Needs(
        options={"thread_id": Option("the number of a thread to post in", r"[0-9]{1,20}")},
    ),
    FormatName.MATTERMOST: Needs(
        options={"channel": Option("a channel other than the webhook's own, or @ and a name", r"[@#]?[\w.-]{1,64}")},
    ),
    FormatName.TEAMS: Needs(),
    FormatName.GOOGLE_CHAT: Needs(
        options={"thread": Option("what shares a thread: none, job or run", "none|job|run", default="none")},
    ),
    FormatName.TELEGRAM: Needs(
        url="https://api.telegram.org",
        token=Want.REQUIRED,
        options={
            "chat_id": Option(
                "the chat: its number, or @ and the name of a public one",
                r"-?[0-9]{1,20}|@[A-Za-z0-9_]{4,32}",
                required=True,
            ),
            "topic_id": Option("the number of a topic of the chat", r"[0-9]{1,18}"),
        },
    ),
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
    FormatName.EMAIL: Needs(receipts=False),
    FormatName.APPRISE: Needs(receipts=False),
}
"""One line for each format; those of `core/delivery/payload.py` and these are the same, which a test sees to."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")


Problem = tuple[tuple[str, ...], str, str]
"""Place below the endpoint's table, what is wrong, what to do."""


def problems_of(needs: Needs, given: Mapping[str, object], common: Collection[str] = ()) -> Iterator[Problem]:
    """Yield what is wrong with the options of an endpoint; `common` are the keys that every endpoint has."""
    counts = {key: option for key, option in needs.options.items() if _counts(option, needs, given)}
    for key, value in given.items():
        if option := counts.get(key):
            yield from _option_problems(key, option, value)
        elif (idle := needs.options.get(key)) and idle.where:
            yield (key,), f'it means nothing here: it is for {idle.where[0]} = "{idle.where[1]}"', "leave it out"
        else:
            known = sorted({*counts, *common})
            near = get_close_matches(key, known, n=1)
            yield (key,), "unknown key", f"did you mean {near[0]}?" if near else f"known here: {', '.join(known)}"
    for key, option in counts.items():
        if option.required and key not in given:
            yield (key,), "wanted this key, found none", option.meaning


def _counts(option: Option, needs: Needs, given: Mapping[str, object]) -> bool:
    """Say whether an option has a meaning beside the others that are given."""
    if option.where is None:
        return True
    other, wanted = option.where
    return given.get(other, needs.options[other].default) == wanted


def _option_problems(key: str, option: Option, value: object) -> Iterator[Problem]:
    if option.named != isinstance(value, Mapping):
        yield (key,), f"wanted {'a table of names' if option.named else 'one text'}", option.meaning
    elif isinstance(value, Mapping):
        if len(value) > option.most:
            yield (key,), f"wanted at most {option.most} names, found {len(value)}", ""
        for name, text in value.items():
            if not _NAME.fullmatch(str(name)):
                yield (key, str(name)), "wanted a name of letters, digits, _, . and -", option.meaning
            elif not _fits(option, text):
                yield (key, str(name)), f"wanted {option.meaning}", ""
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
