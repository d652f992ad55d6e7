"""Files and functions stay short, and no file is called after nothing."""

from __future__ import annotations

import ast
from statistics import median

from tests.architecture.sources import modules, place

LONGEST_FILE, MEDIAN_FILE, LONGEST_FUNCTION = 400, 160, 50
NO_CONCEPT = {"util", "utils", "helper", "helpers", "common", "manager", "managers", "base", "misc"}


def test_no_file_is_long() -> None:
    lengths = {place(path): len(path.read_text().splitlines()) for path in modules("kova_auto", "tests")}

    assert {path: length for path, length in lengths.items() if length > LONGEST_FILE} == {}


def test_most_files_are_short() -> None:
    lengths = [len(path.read_text().splitlines()) for path in modules("kova_auto")]

    assert len(lengths) > 100
    assert median(lengths) <= MEDIAN_FILE


def test_no_function_is_long() -> None:
    functions = (
        (f"{place(path)}:{node.lineno} {node.name}", (node.end_lineno or node.lineno) - node.lineno + 1)
        for path in modules("kova_auto")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )

    assert {name: length for name, length in functions if length > LONGEST_FUNCTION} == {}


def test_every_file_is_called_after_a_concept() -> None:
    assert [place(path) for path in modules("kova_auto", "tests") if path.stem in NO_CONCEPT] == []
