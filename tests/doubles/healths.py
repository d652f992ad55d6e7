"""Keep in memory how endpoints are doing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kova_auto.core.delivery.health import Health, Raising, nothing
from kova_auto.core.ids import EndpointName, RunId


@dataclass
class MemoryHealths:
    """Be `Healths`; `alerts` are those of the journal beside it."""

    alerts: dict[RunId, list[str]] = field(default_factory=dict)
    known: dict[EndpointName, Health] = field(default_factory=dict)

    async def every(self) -> Sequence[Health]:
        return [health for _, health in sorted(self.known.items())]

    async def change(
        self, endpoint: EndpointName, how: Callable[[Health], Health], raising: Raising = nothing
    ) -> tuple[Health, Health]:
        before = self.known.get(endpoint, Health(endpoint=endpoint))
        after = how(before)
        raised = raising(before, after)
        self.known[endpoint] = after
        for alert in raised:
            self.alerts.setdefault(alert.alert_id, [alert.model_dump_json()])
        return before, after
