"""The tables of keys name every key of a job file and of the settings, with its default, and nothing else."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest
from pydantic import BaseModel

from kova_auto.core.errors import JobFileError
from kova_auto.core.job import JobFile
from kova_auto.core.unsupported import unsupported
from kova_auto.scheduling.jobfiles import load_job
from kova_auto.settings.model import SettingsFile
from tests.docs.keys import NONE, REQUIRED, Key, keys_of
from tests.docs.pages import bare, codes, tables

HEAD = ["Key", "Default", "May be", "Means"]
MODELS = [("docs/jobs.md", JobFile), ("docs/settings.md", SettingsFile)]
# One job that asks for everything that this version refuses.
EVERYTHING = """
prompt = "Look around."
isolation = "worktree"
approval = { on_unreachable = "keep", questions = "suspend" }
agents = { allow = ["x"] }
context = { memory = ["job"], skills = ["x"], attachments = ["x"] }
"""


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


def refused(tmp_path: Path, text: str) -> set[str]:
    """Return the keys of a job that this version cannot obey."""
    path = tmp_path / "example.toml"
    (tmp_path / "schema.json").write_text("{}")
    path.write_text(text)
    with pytest.raises(JobFileError) as caught:
        load_job(path)
    return {problem.key for problem in caught.value.problems if "cannot do that yet" in problem.message}


def test_what_is_refused_today_is_marked_and_nothing_else_is(tmp_path: Path) -> None:
    found = refused(tmp_path, EVERYTHING)
    marked = {key for key, row in rows("docs/jobs.md").items() if "refused today" in row[3].lower()}
    assert marked == found == named_in_the_code()


def named_in_the_code() -> set[str]:
    """Return the keys that `unsupported` knows."""
    tree = ast.parse(Path(unsupported.__code__.co_filename).read_text())
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return texts & {key.name for key in keys_of(JobFile)}
