"""What it costs to write a message: run with `pytest -n0 -s -m bench tests/benchmarks/test_rendering.py`.

Processor time counts, and the best of some rounds. The worst texts are those at which the parser of Markdown is slow.
"""

from __future__ import annotations

from statistics import median
from time import process_time

import pytest

from kova_auto.core.delivery.format import Wish
from kova_auto.core.delivery.formats.markdown import parse
from kova_auto.core.delivery.needs import NEEDS, options_of
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.payload import FORMATS
from kova_auto.core.delivery.target import FormatName
from tests.core.delivery.corpus import LONGEST, PROSE, corpus
from tests.core.delivery.kind import kind_of
from tests.core.delivery.notices import a_report

pytestmark = pytest.mark.bench

MOST_S = 5.0
EVERYDAY = a_report(answer="\n\n".join([f"# Part\n\n{PROSE * 3}\n\n- one\n- two\n\n```\ncode\n```"] * 3))


def _taken_s(name: FormatName, notice: Notice, rounds: int = 1) -> float:
    wish = Wish("msg_abcdefghijklmnop", options=options_of(NEEDS[name], kind_of(name).options[0]))
    taken = []
    for _ in range(rounds):
        began = process_time()
        FORMATS[name].render(notice, wish)
        taken.append(process_time() - began)
    return min(taken)


def test_an_everyday_report_takes_milliseconds() -> None:
    for name in FORMATS:
        taken_s = _taken_s(name, EVERYDAY, rounds=5)
        print(f"\n{name}: {taken_s * 1e3:.1f} ms for an answer of {len(EVERYDAY.answer)} characters", end="")
        assert taken_s < 0.1


def test_no_notice_holds_up_its_courier_for_long() -> None:
    for name in FORMATS:
        taken = sorted((_taken_s(name, notice), case) for case, notice in corpus())
        middle = median(taken_s for taken_s, _ in taken)
        print(f"\n{name}: median {middle * 1e3:.1f} ms, longest {taken[-1][0] * 1e3:.0f} ms ({taken[-1][1]})", end="")
        assert taken[-1][0] < MOST_S


@pytest.mark.parametrize(
    "unit", ["word ", "**x** ", "[", "[a](", "- a\n", "> ", "*a_b", "`", "|a|b|\n|-|-|\n", "&amp;"]
)
@pytest.mark.parametrize("length", [10_000, LONGEST])
def test_the_longest_text_that_is_read_takes_seconds_at_most(unit: str, length: int) -> None:
    began = process_time()
    parse((unit * length)[:length])
    taken_s = process_time() - began
    print(f"\n{length} characters of {unit!r}: {taken_s:.2f} s", end="")
    assert taken_s < 2 * MOST_S
