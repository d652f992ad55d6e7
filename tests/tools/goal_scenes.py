"""Builders for tests of the tools of goal mode."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from kova_auto.core.approval.levels import Mode
from kova_auto.core.goal.contract import Author, Contract, Phase, numbered
from kova_auto.core.goal.pursuit import Pursuit
from kova_auto.core.job import CommandCriterion
from kova_auto.core.tool import Scene
from tests.tools.tool_scenes import a_scene


def standing(*criteria: str | CommandCriterion, author: Author = Author.JOB) -> Contract:
    return Contract(phase=Phase.CONFIRMED, criteria=numbered(criteria), author=author)


def with_goal(pursuit: Pursuit, workspace: Path = Path("/w")) -> Scene:
    return replace(a_scene(workspace), mode=Mode.GOAL, goal=pursuit)


def met(number: int, evidence: str = "README.md:3", *, is_met: bool = True) -> dict[str, JsonValue]:
    return {"id": f"c{number}", "met": is_met, "evidence": evidence}
