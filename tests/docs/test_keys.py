"""The tables of keys name every key of a job file and of the settings, with its default, and nothing else."""

from __future__ import annotations

import tomllib

import pytest
from pydantic import BaseModel

from kova_auto.core.job import JobFile
from kova_auto.settings.model import SettingsFile
from tests.docs.keys import NONE, REQUIRED, Key, keys_of
from tests.docs.pages import bare, codes, tables

HEAD = ["Key", "Default", "May be", "Means"]
MODELS = [("docs/jobs.md", JobFile), ("docs/settings.md", SettingsFile)]


def rows(page: str) -> dict[str, list[str]]:
    """Return the rows of a page's tables of keys, by key."""
    found = [row for table in tables(page) if table.rows[0] == HEAD for row in table.body]
    named = {bare(row[0]): row for row in found}
    assert len(named) == len(found), "a key stands twice"
    return named


@pytest.mark.parametrize(("page", "model"), MODELS)
def test_every_key_is_in_a_table_and_nothing_else_is(page: str, model: type[BaseModel]) -> None:
    assert sorted(rows(page)) == sorted(key.name for key in keys_of(model))


@pytest.mark.parametrize(("page", "model"), MODELS)
def test_each_key_stands_with_its_default(page: str, model: type[BaseModel]) -> None:
    written = rows(page)
    assert {key.name: _default(written[key.name][1]) for key in keys_of(model)} == {
        key.name: key.default for key in keys_of(model)
    }


def _default(cell: str) -> object:
    return cell if cell in {NONE, REQUIRED} else tomllib.loads(f"value = {bare(cell)}")["value"]


@pytest.mark.parametrize(("page", "model"), MODELS)
def test_each_key_stands_with_its_choices_and_bounds(page: str, model: type[BaseModel]) -> None:
    written = rows(page)
    assert [missing for key in keys_of(model) if (missing := _missing(key, written[key.name]))] == []


def _missing(key: Key, row: list[str]) -> str:
    words, text = set(codes(row[2])), " ".join(row[2:]).replace("`", "").split()
    lacks = sorted(key.choices - words) + sorted(key.bounds - {word.rstrip(",.;") for word in text})
    return f"{key.name}: {', '.join(lacks)}" if lacks else ""
