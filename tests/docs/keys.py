"""List every key that a model declares, with its default as TOML spells it, and what its value may be."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from kova_auto.core.duration import render_duration
from kova_auto.core.secret import SecretRef

_ELSEWHERE = frozenset({"endpoints.NAME.options"})
"""Stands for keys that are described where each format is."""
REQUIRED = "required"
NONE = "none"


@dataclass(frozen=True)
class Key:
    """Hold one key.

    Attributes:
        default: `REQUIRED`, `NONE`, or the value as JSON has it.
        choices: The words that it may be, if it is one of several.
        bounds: The numbers and durations that bound it, as text.
    """

    name: str
    default: object
    choices: frozenset[str]
    bounds: frozenset[str]


def keys_of(model: type[BaseModel], prefix: str = "") -> Iterator[Key]:
    """Yield the keys of a model and of the tables in it; a table of named ones has `NAME` for the name."""
    defaults = model.model_construct().model_dump(mode="json", by_alias=True, warnings=False)
    for field_name, field in model.model_fields.items():
        name = f"{prefix}{field.alias or field_name}"
        if name in _ELSEWHERE:
            continue
        named = _named(field)
        tables = _tables(field.annotation if named is None else named)
        if named is not None:
            name = f"{name}.NAME"
        if tables:
            yield from keys_of(tables[0], f"{name}.")
        else:
            default = REQUIRED if field.is_required() else defaults.get(field.alias or field_name)
            yield Key(name, NONE if default is None else default, _choices(field.annotation), _bounds(field))


def _named(field: FieldInfo) -> object | None:
    """Return what the named tables of a field hold, None for every other field."""
    arguments: tuple[object, ...] = typing.get_args(field.annotation)
    return arguments[1] if typing.get_origin(field.annotation) is dict else None


def _tables(annotation: object) -> list[type[BaseModel]]:
    """Return the one table that an annotation means, alone or as a list; texts beside it make it a value."""
    parts = [part for part in _parts(annotation) if part is not type(None)]
    models = [part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)]
    return models if len(models) == len(parts) and set(models) != {SecretRef} else []


def _parts(annotation: object) -> list[object]:
    origin = typing.get_origin(annotation)
    if origin in {types.UnionType, typing.Union}:
        return [part for one in typing.get_args(annotation) for part in _parts(one)]
    if origin is tuple:
        return _parts(typing.get_args(annotation)[0])
    return [annotation]


def _choices(annotation: object) -> frozenset[str]:
    found: set[str] = set()
    for part in _parts(annotation):
        if typing.get_origin(part) is typing.Literal:
            found |= {str(one) for one in typing.get_args(part)}
        elif isinstance(part, type) and issubclass(part, StrEnum):
            found |= {one.value for one in part}
        elif part is bool:
            found |= {"true", "false"}
    return frozenset(found)


def _bounds(field: FieldInfo) -> frozenset[str]:
    found = [getattr(one, name, None) for one in field.metadata for name in _SIDES.get(type(one), ())]
    return frozenset(_spelled(one) for one in found if one is not None)


_SIDES: dict[type, tuple[str, ...]] = {Ge: ("ge",), Gt: ("gt",), Le: ("le",), Lt: ("lt",)}


def _spelled(bound: object) -> str:
    if isinstance(bound, timedelta):
        return render_duration(bound) if bound else "0"
    return str(bound)
