"""Every corner case of the schedule names the tests that hold it to that, and those tests exist."""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from functools import cache
from itertools import chain

import pytest

from tests.architecture.sources import ROOT

TABLE = tomllib.loads((ROOT / "tests" / "scheduling" / "corner_cases.toml").read_text(encoding="utf-8"))
CASES = [*TABLE["invariant"], *TABLE["rule"], *TABLE["complaint"]]
LATER = {"T24", "T38", "T39"}
"""What is about health pages, pings and stalls; it comes with the service."""
COMPLAINTS = (
    *(1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14, 16, 17, 18, 19, 21, 22, 23, 24, 26, 27, 28, 29, 31, 32, 33, 34, 36, 37),
    *(38, 39, 41, 141, 142, 143, 144, 146, 147, 156, 157, 158),
)
RULES = 30


def named(case: dict[str, object]) -> str:
    return str(case.get("id") or case["case"])


@cache
def found_in(path: str) -> frozenset[str]:
    """Return the tests of a file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    found = (node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(name for name in found if name.startswith("test_"))


@pytest.mark.parametrize("case", CASES, ids=named)
def test_each_test_of_a_case_exists(case: dict[str, list[str]]) -> None:
    missing = [
        test
        for test in case["tests"]
        if not (ROOT / test.partition("::")[0]).is_file()
        or test.partition("::")[2] not in found_in(test.partition("::")[0])
    ]
    assert missing == []


def test_no_case_is_left_out_or_named_twice() -> None:
    complaints = [case["id"] for case in TABLE["complaint"]]

    assert complaints == [f"T{number}" for number in COMPLAINTS]
    assert [case["id"] for case in TABLE["invariant"]] == ["I1", "I2", "I3", "I4"]
    assert len({case["case"] for case in TABLE["rule"]}) == len(TABLE["rule"]) == RULES
    assert [case for case, times in Counter(map(named, CASES)).items() if times > 1] == []


def test_only_what_comes_with_the_service_has_no_test() -> None:
    assert {named(case) for case in CASES if not case["tests"]} == LATER


def test_no_test_is_named_twice_for_one_case() -> None:
    twice = chain.from_iterable(Counter(case["tests"]).items() for case in CASES)
    assert [test for test, times in twice if times > 1] == []
