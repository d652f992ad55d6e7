"""What `kova-auto explain --json` writes has the names that the page on JSON gives it."""

from __future__ import annotations

import json
from pathlib import Path

from kova_auto.app.explaining import Rejudged
from kova_auto.core.approval.explanation import RuleTried, SegmentSaid, StageSaid, TouchedPath
from kova_auto.core.approval.levels import Verdict
from tests.cli.command import Home
from tests.docs.pages import bare, codes, paragraph, table

PAGE = "docs/json.md"
HEADING = "`kova-auto explain`"


def test_an_explanation_has_the_names_of_its_table(home: Path) -> None:
    (home / "look.toml").write_text('prompt = "Look."\n')
    one, many, since = (
        json.loads(Home(home).run("explain", f"{home / 'look.toml'}", *more, "--json").stdout)
        for more in (("read", "a"), ("--all",), ("--since", "1d"))
    )
    names = table(PAGE, HEADING).names
    assert list(one) == names
    assert list(many) == [*names[:4], "calls", "asking", "asking_when_tainted"]
    assert list(many["calls"][0]) == names[4:]
    assert list(since) == ["job", "since", "runs", "calls", "changed"]


def test_what_lies_within_has_the_names_that_are_said() -> None:
    said = {bare(row[0]): codes(row[1]) for row in table(PAGE, HEADING).body}
    assert said["verdict"] == list(Verdict.model_fields)
    assert said["paths"] == list(TouchedPath.model_fields)
    assert said["segments"] == list(SegmentSaid.model_fields)
    assert [name for name in said["stages"] if name != "null"] == list(StageSaid.model_fields)
    rule = [
        name for name in codes(paragraph(PAGE, "Each of the `rules` of a segment")) if name in RuleTried.model_fields
    ]
    assert rule == list(RuleTried.model_fields)


def test_a_call_that_would_be_ruled_otherwise_has_the_names_of_its_table() -> None:
    assert table(PAGE, "A call that would be ruled otherwise").names == list(Rejudged.model_fields)
