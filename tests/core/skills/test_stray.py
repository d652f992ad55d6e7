"""A folder among skills that has no `SKILL.md`: what somebody meant as a skill is named, everything else is let be."""

from __future__ import annotations

import pytest

from kova_auto.core.skills.stray import Stray, at_most, strays
from tests.core.skills.skills import a_file


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["notes.md", "run.py"], "wanted a SKILL.md in it, found notes.md; rename it, if it is that"),
        (["Skill.MD"], "wanted a SKILL.md in it, found Skill.MD; rename it, if it is that"),
        (["SKILL.md"], "its SKILL.md is a link that leads nowhere"),
        (["assets", "inner"], "it holds skills, as inner; move them up to .kova/skills"),
    ],
)
def test_what_was_meant_as_a_skill_is_named(names: list[str], why: str) -> None:
    found = strays(".kova/skills", "kit", names, lambda name: name == "inner")

    assert found == Stray(f".kova/skills/kit is no skill: {why}")


@pytest.mark.parametrize("names", [[], ["run.py", "assets"], [".git"]])
def test_a_folder_that_nobody_meant_as_a_skill_is_let_be(names: list[str]) -> None:
    assert strays(".kova/skills", "shared", names, lambda name: name == ".git") is None


def test_strays_take_no_skills_place() -> None:
    files = [a_file(f"skill-{number}") for number in range(65)]
    stray = Stray("x is no skill")

    assert list(at_most(".kova/skills", iter([stray, *files]))) == [
        stray,
        *files[:64],
        ".kova/skills has more than 64 skills; 1 are not read",
    ]
