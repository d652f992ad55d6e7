"""Look at how endpoints are doing, and at what was given up."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

from kova_auto.app.connect import reading
from kova_auto.app.finding import Finding, Mark
from kova_auto.core.delivery.document import spell_instant
from kova_auto.core.delivery.health import Gate, Health, standing
from kova_auto.core.delivery.needs import NEEDS
from kova_auto.core.errors import KovaError
from kova_auto.core.owed import DeliveryStatus
from kova_auto.net.notifier import EXTRA, has_apprise
from kova_auto.settings.model import Settings

LATELY: Final = timedelta(days=30)
_MANY: Final = 10_000


async def of_endpoints(
    settings: Settings, environ: Mapping[str, str], now: datetime, *, carries: Callable[[], bool] = has_apprise
) -> AsyncIterator[Finding]:
    """Yield what is wrong with endpoints, as far as deliveries have shown it or what is installed can.

    Args:
        settings: Have the endpoints.
        environ: Of the process.
        now: UTC.
        carries: Says whether mail and the like can be carried.
    """
    for name in sorted(name for name, table in settings.endpoints.items() if not NEEDS[table.format].receipts):
        if not carries():
            yield Finding("endpoint", name, Mark.FAIL, f"needs a package that is not installed: {EXTRA}")
    if settings.database == "sqlite" and not settings.database_file.exists():
        return
    try:
        async with reading(settings, environ, kind="doctor") as answers:
            known: dict[str, Health] = {health.endpoint: health for health in await answers.healths()}
            dead = await answers.deliveries(DeliveryStatus.DEAD, None, _MANY)
    except KovaError:
        return  # Said of the data already.
    lately = Counter(str(row.endpoint) for row in dead if row.owed_at >= now - LATELY)
    for name in sorted(settings.endpoints):
        if finding := _of_endpoint(name, known.get(name), lately[name], now):
            yield finding


def _of_endpoint(name: str, health: Health | None, dead: int, now: datetime) -> Finding | None:
    mend = f"once it is mended: kova-auto endpoints test {name}"
    retry = f"kova-auto deliveries retry --all-dead --endpoint {name}"
    lost = f"; {dead} of the last 30 days were given up: {retry}" if dead else ""
    if health and health.disabled_at:
        why = f"is disabled since {spell_instant(health.disabled_at)}: {health.disabled_why}"
        return Finding("endpoint", name, Mark.FAIL, f"{why}; {mend}{lost}")
    if health and (closed := standing(health, now)).gate is Gate.PAUSED:
        return Finding("endpoint", name, Mark.WARN, f"{closed.why}{lost}")
    if health and health.failures and health.failing_since:
        since = spell_instant(health.failing_since)
        text = f"has taken nothing since {since}, in {health.failures} attempts: {health.last_failure}"
        return Finding("endpoint", name, Mark.WARN, f"{text}{lost}")
    return Finding("endpoint", name, Mark.WARN, f"takes things{lost}") if dead else None
