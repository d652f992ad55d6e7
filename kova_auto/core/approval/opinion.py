"""What one rule says of one call, with what it looked at; a verdict is concluded from these and from nothing else."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from kova_auto.core.approval.facts import PathFact
from kova_auto.core.approval.levels import Verdict
from kova_auto.core.approval.rules import Coverage
from kova_auto.core.approval.tables import Box, Cell, Row


class Stage(StrEnum):
    """Name what is asked about a call, in this order."""

    FLOOR = "floor"
    MODE = "mode"
    SKILL = "skill"  # where a loaded skill narrows the tools
    CONFINEMENT = "confinement"  # of commands alone
    LEVEL = "level"
    TAINT = "taint"  # of runs that have read untrusted text


class Opinion(NamedTuple):  # made for every verdict: the cheapest of values
    """Hold what was said at one stage; a stage that has nothing against a call says nothing, save the level.

    Attributes:
        row: Of the level's table.
        cell: What stands there.
        path: What puts the call into this row, or is refused; None where it is the call itself.
        coverage: What the command rules cover, where the cell asks for them.
        box: In which a command would run.
    """

    stage: Stage
    verdict: Verdict
    row: Row | None = None
    cell: Cell | None = None
    path: PathFact | None = None
    coverage: Coverage | None = None
    box: Box | None = None
