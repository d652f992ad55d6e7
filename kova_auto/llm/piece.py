"""Read one piece of a provider's stream as the JSON object that it should be."""

from __future__ import annotations

import json
from typing import Final

from pydantic import JsonValue
from pydantic_core import from_json

from kova_auto.core.errors import ModelUnavailableError
from kova_auto.core.fault import Fault
from kova_auto.core.provider import Provider
from kova_auto.llm.faults import failure_of, problem_in
from kova_auto.llm.redaction import shown

_QUOTED: Final = 200
HTML: Final = "answered with a page of HTML: check its base_url"


def _no_number(text: str) -> float:
    msg = f"{text} is no JSON"
    raise ValueError(msg)


_JSON: Final = json.JSONDecoder(parse_constant=_no_number)


def object_in(provider: Provider, data: str) -> dict[str, JsonValue]:
    """Return what a piece says.

    Raises:
        ModelError: It is no JSON object; or it is a list, as some send their errors in.
    """
    try:
        value: JsonValue = from_json(data, allow_inf_nan=False)
    except ValueError:
        value = _read_slowly(provider, data)
    if isinstance(value, dict):
        return value
    if problem := problem_in(value):
        raise failure_of(provider, problem)
    raise _malformed(provider, "object", data)


def _read_slowly(provider: Provider, data: str) -> JsonValue:
    try:  # Half a character, and what is nested deeply, only the slower reader reads.
        value: JsonValue = _JSON.decode(data)
    except (ValueError, RecursionError):
        raise _malformed(provider, "JSON", data) from None
    return value


def _malformed(provider: Provider, wanted: str, data: str) -> ModelUnavailableError:
    if data.lstrip().startswith("<"):
        return ModelUnavailableError(f"{provider.name} {HTML}", fault=Fault.MALFORMED)
    said = shown(provider, data[:2_000])[:_QUOTED]  # Cut last: half a key would not be known for one.
    return ModelUnavailableError(f"{provider.name} sent a piece that is no {wanted}: {said}", fault=Fault.MALFORMED)
