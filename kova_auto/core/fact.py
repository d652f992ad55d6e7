"""What every fact of a run has: when it was written, and in which version of its kind."""

from __future__ import annotations

from pydantic import AwareDatetime, ConfigDict

from kova_auto.core.value import Value


class Fact(Value):
    """Hold when a fact was written (aware UTC) and in which version of its kind."""

    model_config = ConfigDict(defer_build=True)

    v: int = 1
    at: AwareDatetime
