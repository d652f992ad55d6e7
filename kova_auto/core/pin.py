"""The model that a run is held to, with what was known of it when the run was opened."""

from __future__ import annotations

from pydantic import Field

from kova_auto.core.price import Price
from kova_auto.core.value import Value


class Capability(Value):
    """Hold what a model can take and give, in tokens; None where nobody knows.

    Attributes:
        window: Request and reply together.
        max_output: The reply alone.
        trims: It leaves out by itself what its window has no room for.
    """

    window: int | None = Field(default=None, gt=0)
    max_output: int | None = Field(default=None, gt=0)
    trims: bool = False


class ModelPin(Value):
    """Hold one model of a run's chain.

    Attributes:
        name: `provider/model`.
        price: None where it is not known: then no ceiling in money can hold it.
        quality: A word on what to expect, as `demo`; empty where there is nothing to say.
    """

    name: str
    capability: Capability = Capability()
    price: Price | None = None
    quality: str = ""

    @property
    def label(self) -> str:
        """Return its name as people are shown it, with the word on what to expect."""
        return f"{self.name} ({self.quality})" if self.quality else self.name
