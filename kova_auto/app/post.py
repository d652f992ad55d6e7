"""Answer for deliveries and endpoints: what is on record of them, and what a person may change."""

from __future__ import annotations

from dataclasses import dataclass

from kova_auto.core.delivery.alert import Alerts
from kova_auto.core.delivery.health import Health, Healths, enabled
from kova_auto.core.delivery.story import Story, story
from kova_auto.core.errors import ConfigError
from kova_auto.core.ids import DeliveryId, EndpointName
from kova_auto.core.owed import Cause
from kova_auto.core.ports import Journal, Views
from kova_auto.core.view import DeliveryRow


@dataclass(frozen=True, slots=True)
class Post:
    """Know where it is written."""

    journal: Journal
    views: Views
    alerts: Alerts
    healths: Healths

    async def row(self, delivery_id: DeliveryId) -> DeliveryRow:
        """Return one duty.

        Raises:
            ConfigError: There is none of this id.
        """
        row = await self.views.delivery(delivery_id)
        if row is None:
            message = f"there is no delivery {delivery_id}"
            raise ConfigError(message, hint="kova-auto deliveries list shows them")
        return row

    async def story(self, delivery_id: DeliveryId) -> Story:
        """Return all that is on record of one duty.

        Raises:
            ConfigError: There is none of this id.
        """
        row = await self.row(delivery_id)
        known = {health.endpoint: health for health in await self.healths.every()}
        health = known.get(row.endpoint)
        if row.cause == Cause.ALERT:
            return story(row, await self.alerts.alert(row.run_id), health)
        return story(row, [event for _, event in await self.journal.events(row.run_id)], health)

    async def every(self) -> tuple[Health, ...]:
        """Return what is known of endpoints, by name."""
        return tuple(await self.healths.every())

    async def enable(self, endpoint: EndpointName) -> Health:
        """Let things be sent to an endpoint again, whatever it did; return how it was before."""
        before, _ = await self.healths.change(endpoint, enabled)
        return before
