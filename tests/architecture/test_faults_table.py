"""Every fault of a receiver names the tests that say what it is taken for, and those tests exist."""

from __future__ import annotations

import tomllib

import pytest

from tests.architecture.sources import ROOT
from tests.architecture.test_corner_cases import found_in
from tests.delivery.test_chaos import CASES

FAULTS = tomllib.loads((ROOT / "tests" / "delivery" / "faults.toml").read_text(encoding="utf-8"))["fault"]
COUNT = 52
BY_CASE = "tests/delivery/test_chaos.py::test_a_fault_is_taken_for_what_it_is"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: str(fault["number"]))
def test_each_test_of_a_fault_exists(fault: dict[str, list[str]]) -> None:
    assert fault["tests"]
    for test in fault["tests"]:
        path, _, name = test.partition("::")
        assert name in found_in(path), test


def test_no_fault_is_left_out_or_named_twice() -> None:
    assert [fault["number"] for fault in FAULTS] == list(range(1, COUNT + 1))


def test_a_fault_that_is_tried_by_its_case_has_one() -> None:
    tried = {int(case.name.split()[0]) for case in CASES}

    assert {fault["number"] for fault in FAULTS if BY_CASE in fault["tests"]} <= tried
