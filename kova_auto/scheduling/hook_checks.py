"""Check a `[schedule] webhook`: what it names must be there, and must be something that its sender says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kova_auto.core.errors import ConfigError
from kova_auto.core.inbound.pointer import parse_pointer
from kova_auto.core.job import Input, WebhookTable
from kova_auto.core.toml.complaints import REFERENCE_FORMS, did_you_mean, shown
from kova_auto.core.toml.places import Key
from kova_auto.core.webhook_source import SAYS_ACTOR, SAYS_EVENT, WebhookSource
from kova_auto.scheduling.draft import Draft
from kova_auto.scheduling.parts import read_reference

MOST_SECRETS: Final = 5
_HEADER: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
_TAKEN: Final = frozenset(
    {"host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection", "expect"}
)
_PLACE: Key = ("schedule", "webhook")
Complaint = tuple[Key, str, str]


def check_webhook(draft: Draft) -> None:
    """Note everything that is wrong with it."""
    table = draft.file.schedule.webhook if draft.file.schedule else None
    if table is None:
        return
    found = (
        *_of_secrets(table),
        *_of_pointers(table),
        *_of_lists(table),
        *_of_header(table),
        *_of_map(table, draft.file.inputs),
    )
    for key, message, hint in found:
        draft.problems.add((*_PLACE, *key), message, hint)
    if draft.file.schedule and draft.file.schedule.jitter:
        draft.problems.add(
            ("schedule", "jitter"), "a request starts its job at once: nothing puts it off", "leave it out"
        )
    for name, declared in draft.file.inputs.items():
        if declared.default is None and name not in table.map:
            hint = f'map = {{ {name} = "/…" }} fills it from the body, or give it a default'
            draft.problems.add(
                ("inputs", name), "wanted a default or a place in schedule.webhook.map, found none", hint
            )


def settled_webhook(draft: Draft, table: WebhookTable) -> WebhookTable:
    """Return a table whose secrets in files can be found from anywhere."""
    secrets = tuple(read_reference(draft, (*_PLACE, "secret"), reference) for reference in table.secrets)
    return table.model_copy(update={"secret": secrets[0] if len(secrets) == 1 else secrets})


def _of_secrets(table: WebhookTable) -> Iterator[Complaint]:
    if not 1 <= len(table.secrets) <= MOST_SECRETS:
        found = f"wanted 1 to {MOST_SECRETS} secrets, found {len(table.secrets)}"
        yield ("secret",), found, REFERENCE_FORMS


def _of_pointers(table: WebhookTable) -> Iterator[Complaint]:
    said: list[tuple[Key, str]] = [(("map", name), pointer) for name, pointer in table.map.items()]
    said += [
        ((key,), pointer) for key, pointer in (("event", table.event), ("actor", table.actor)) if pointer is not None
    ]
    for key, pointer in said:
        try:
            parse_pointer(pointer)
        except ConfigError as exc:
            yield key, exc.message, exc.hint


def _of_lists(table: WebhookTable) -> Iterator[Complaint]:
    """A list that nothing could ever match would let nothing in, and nobody would know why."""
    for key, names, pointer, sources in (
        ("events", table.events, table.event, SAYS_EVENT),
        ("actors", table.actors, table.actor, SAYS_ACTOR),
    ):
        one = key.removesuffix("s")
        if names and pointer is None and table.source not in sources:
            message = f"{table.source.value} does not say of itself which {one} it is"
            yield (key,), message, f'{one} = "/…" says where the body does'
        for index, name in enumerate(names):
            if not name.strip():
                yield (key, index), "wanted a name, found only blanks", ""


def _of_header(table: WebhookTable) -> Iterator[Complaint]:
    if table.header is None:
        return
    if table.source is not WebhookSource.TOKEN:
        yield (
            ("header",),
            f'only source = "token" has a header of its own, found {shown(table.source.value)}',
            "leave it out",
        )
    elif not _HEADER.fullmatch(table.header) or table.header.lower() in _TAKEN:
        yield ("header",), f"wanted the name of a header that holds the token, found {shown(table.header)}", ""


def _of_map(table: WebhookTable, inputs: dict[str, Input]) -> Iterator[Complaint]:
    for name in table.map:
        if name not in inputs:
            hint = did_you_mean(name, tuple(inputs)) or f"[inputs.{name}] declares one"
            yield ("map", name), f"wanted an input that [inputs] declares, found {shown(name)}", hint
