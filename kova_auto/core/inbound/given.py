"""Say what of a request a run is given: the declared fields, each checked, and nothing else of the body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from kova_auto.core.delivery.text import clean, cut
from kova_auto.core.inbound.pointer import parse_pointer, text_at, value_at
from kova_auto.core.inbound.request import Told
from kova_auto.core.inputs import is_free, misfit
from kova_auto.core.job import Input, WebhookTable

_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Meaning:
    """Hold what a request means for a job.

    Attributes:
        inputs: Values that the body has for them; an input that it leaves to its default is not among them.
        ignored: Why it starts nothing; empty where it does.
    """

    event: str
    actor: str
    inputs: Mapping[str, str]
    ignored: str = ""


def meaning(table: WebhookTable, inputs: Mapping[str, Input], told: Told, payload: JsonValue) -> Meaning:
    """Return what a request means for a job that declares these inputs."""
    events = (_named(payload, table.event),) if table.event else (told.event, told.whole)
    actor = _named(payload, table.actor) if table.actor else told.actor
    event = next((one for one in reversed(events) if one), "")
    values, why = _inputs(table.map, inputs, payload)
    if table.actors and actor not in table.actors:
        why = f"actor {_shown(actor)} is not in schedule.webhook.actors"
    if table.events and not set(table.events).intersection(filter(None, events)):
        why = f"event {_shown(event)} is not in schedule.webhook.events"
    return Meaning(_line(event), _line(actor), {} if why else values, why)


def _inputs(pointers: Mapping[str, str], inputs: Mapping[str, Input], payload: JsonValue) -> tuple[dict[str, str], str]:
    """Return the values, and what is wrong with the first that does not fit."""
    values: dict[str, str] = {}
    for name, pointer in pointers.items():
        declared, found = inputs[name], value_at(payload, parse_pointer(pointer))
        if found is None:
            if declared.default is None:
                return {}, f"inputs.{name}: nothing is at {pointer}, and it has no default"
            continue
        if isinstance(found, dict | list):
            kind = "an object" if isinstance(found, dict) else "a list"
            return {}, f"inputs.{name}: wanted a text or a number at {pointer}, found {kind}"
        value = _spelled(found)
        if is_free(declared):
            value = cut(value, declared.max_length)
        if wrong := misfit(declared, value):
            return {}, f"inputs.{name}: {wrong}"
        values[name] = value
    return values, ""


def _spelled(value: str | float | bool) -> str:  # noqa: FBT001 - a JSON value
    if isinstance(value, bool):
        return "true" if value else "false"
    return clean(value) if isinstance(value, str) else str(value)


def _named(payload: JsonValue, pointer: str) -> str:
    return text_at(payload, *parse_pointer(pointer))


def _line(text: str) -> str:
    return cut(" ".join(clean(text).split()), _SHOWN)


def _shown(text: str) -> str:
    return repr(_line(text)) if text else "(not said)"
