"""Keep in memory how endpoints are doing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kova_auto.core.delivery.health import Health
from kova_auto.core.ids import EndpointName


@dataclass
class MemoryHealths:
    """Be `Healths`."""

    known: dict[EndpointName, Health] = field(default_factory=dict)

    async def every(self) -> Sequence[Health]:
        return [health for _, health in sorted(self.known.items())]

    async def change(self, endpoint: EndpointName, how: Callable[[Health], Health]) -> tuple[Health, Health]:
        before = self.known.get(endpoint, Health(endpoint=endpoint))
        self.known[endpoint] = how(before)
        return before, self.known[endpoint]
