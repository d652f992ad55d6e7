"""Every complaint about runs, their state and memory names the tests that hold it, and those tests exist."""

from __future__ import annotations

import tomllib
from collections import Counter

import pytest

from tests.architecture.sources import ROOT
from tests.architecture.test_corner_cases import found_in, named

CASES = tomllib.loads((ROOT / "tests" / "app" / "state_cases.toml").read_text(encoding="utf-8"))["complaint"]
NUMBERS = (84, 86, 87, 88, 89, 91, 92, 93, 94, 96, 97, 98, 99, 101, 102, 103, 104)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_each_test_of_a_complaint_exists(case: dict[str, list[str]]) -> None:
    missing = [test for test in case["tests"] if test.partition("::")[2] not in found_in(test.partition("::")[0])]
    assert missing == []
    assert [test for test, times in Counter(case["tests"]).items() if times > 1] == []


def test_no_complaint_is_left_out() -> None:
    assert [case["id"] for case in CASES] == [f"T{number}" for number in NUMBERS]
    assert [case["id"] for case in CASES if not case["tests"]] == []
