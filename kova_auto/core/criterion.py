"""Hold by what a goal is judged, and what came of it."""

from __future__ import annotations

from kova_auto.core.value import Value


class Criterion(Value):
    """Hold one criterion under the id that it has in its run.

    Attributes:
        id: From `c1`.
        text: What must be so; empty for a command.
        command: What must end with exit code 0; None where the model says whether the criterion is met.
    """

    id: str
    text: str = ""
    command: str | None = None

    @property
    def said(self) -> str:
        """Return it as one line that begins with its id."""
        what = self.text if self.command is None else f"the command `{self.command}` ends with exit code 0"
        return f"{self.id}: {what}"


class CriterionResult(Value):
    """Say of one criterion whether it is met, and by what that can be seen.

    Attributes:
        by_command: A command said so, and not the model.
    """

    id: str
    met: bool
    evidence: str = ""
    by_command: bool = False
