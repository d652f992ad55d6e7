"""The facts about a turn as a whole: the mode that it goes on in, and what was checked at its end."""

from __future__ import annotations

from typing import Literal

from kova_auto.core.approval.levels import Mode
from kova_auto.core.fact import Fact
from kova_auto.core.ids import CallId
from kova_auto.core.message import ToolSpec
from kova_auto.core.value import Value


class ModeEntered(Fact):
    """Go on in another mode, with its own tools; everything said before stays, the system prompt too.

    Attributes:
        call_id: Of the call that a person let through.
        tools: What the model is offered from here on.
    """

    kind: Literal["mode_entered"] = "mode_entered"
    mode: Mode
    call_id: CallId
    tools: tuple[ToolSpec, ...]


class CheckResult(Value):
    """Hold what one command of `[output] checks` came to.

    Attributes:
        exit_code: None where it did not end by itself, or could not be run.
        output: Its end, bounded.
    """

    command: str
    exit_code: int | None
    output: str = ""
    took_s: float = 0.0

    @property
    def passed(self) -> bool:
        """Say whether it ended well."""
        return self.exit_code == 0


class ChecksStarted(Fact):
    """Announce that the answer is checked by commands."""

    kind: Literal["checks_started"] = "checks_started"
    iteration: int


class ChecksFinished(Fact):
    """Say what came of the checks of the answer that a run's newest reply ended with."""

    kind: Literal["checks_finished"] = "checks_finished"
    iteration: int
    results: tuple[CheckResult, ...]
