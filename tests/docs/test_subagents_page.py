"""The page on subagents names the built-in ones, and every tool that a definition can grant."""

from __future__ import annotations

from kova_auto.core.subagents.built_in import BUILT_IN
from kova_auto.core.subagents.definition import GRANTABLE
from tests.docs.pages import ROOT, bare, codes, tables

PAGE = "docs/subagents.md"


def test_the_built_in_ones_stand_with_their_tools_and_replies() -> None:
    (table,) = (table for table in tables(PAGE) if table.heading == "Those that are always there")
    agents = [found.agent for found in BUILT_IN.defined]
    assert sorted((bare(row[0]), codes(row[1]), row[2]) for row in table.body) == [
        (agent.name, list(agent.tools), str(agent.max_turns)) for agent in agents
    ]


def test_every_tool_that_can_be_granted_is_named() -> None:
    text = (ROOT / PAGE).read_text()
    sentence = " ".join(text.split()).partition("It can be granted ")[2].partition(", also by")[0]
    assert [name.strip("`") for name in sentence.replace(" and ", ", ").split(", ")] == list(GRANTABLE)
