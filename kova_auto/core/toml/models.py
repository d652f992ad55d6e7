"""Walk a model as its file is written: which keys a table may have, and where else a key belongs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from kova_auto.core.toml.places import Key


def names_in(model: type[BaseModel], table: Key) -> list[str]:
    """Return the keys that a table may have; empty where any name will do, or the table is unknown."""
    found = _model_at(model, table)
    return list(_fields(found)) if found else []


def belongs_in(model: type[BaseModel], key: Key, data: Mapping[str, object]) -> str:
    """Return a hint that names the tables which know a misplaced key; empty where there are none, or too many.

    A key of the file's top that was written below a `[table]` is the commonest mistake in TOML.
    """
    name = str(key[-1])
    if len(key) > 1 and name in _fields(model) and name not in data:
        return f"{name} belongs above the first [table]"
    owners = [
        f"[{table}]"
        for table, field in _fields(model).items()
        if (inner := _model_in(field.annotation)) and not _is_map(field.annotation) and name in _fields(inner)
    ]
    return f"it belongs in {' or '.join(owners)}" if len(owners) in {1, 2} and f"[{key[0]}]" not in owners else ""


def _model_at(model: type[BaseModel], table: Key) -> type[BaseModel] | None:
    found: type[BaseModel] | None = model
    names = iter(part for part in table if isinstance(part, str))
    for name in names:
        field = _fields(found).get(name) if found else None
        if field is None:
            return None
        if _is_map(field.annotation):
            next(names, None)  # a name that the file's author chose
        found = _model_in(field.annotation)
    return found


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _model_in(annotation: object) -> type[BaseModel] | None:
    return next((part for part in _parts(annotation) if isinstance(part, type) and issubclass(part, BaseModel)), None)


def _is_map(annotation: object) -> bool:
    return any(get_origin(part) is dict for part in _parts(annotation))


def _parts(annotation: object) -> Iterator[object]:
    yield annotation
    for part in get_args(annotation):
        yield from _parts(part)
