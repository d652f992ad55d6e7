"""Say how an endpoint is doing, for a table and for --json."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from kova_auto.cli.job_rows import JsonDict
from kova_auto.core.delivery.health import Gate, Health, standing
from kova_auto.core.ids import EndpointName


def state_of(health: Health | None, now: datetime) -> str:
    """Return how an endpoint is doing, in one word."""
    if health is None:
        return "unused"
    gate = standing(health, now).gate
    if health.disabled_at:
        return "disabled"
    if gate is Gate.PAUSED:
        return "paused"
    return "failing" if health.failures else "ok" if health.last_success_at else "unused"


def say_state(health: Health | None, now: datetime, zone: ZoneInfo) -> str:
    """Return the same for a person: since when, until when, and why."""
    state = state_of(health, now)
    if health is None or state == "unused":
        return state

    def at(instant: datetime | None) -> str:
        return instant.astimezone(zone).isoformat(" ", "minutes") if instant else ""

    match state:
        case "disabled":
            again = f"; tried again {at(health.probe_at)}" if health.probe_at else ""
            return f"disabled since {at(health.disabled_at)}{again}: {health.disabled_why}"
        case "paused":
            return f"paused until {at(health.paused_until)}: {health.paused_why}"
        case "failing":
            return f"failing since {at(health.failing_since)}, {health.failures} times: {health.last_failure}"
        case _:
            return f"ok, last {at(health.last_success_at)}"


def health_json(health: Health | None, now: datetime) -> JsonDict:
    """Return the same with stable names, instants in UTC."""
    known = (health or Health(endpoint=EndpointName(""))).model_dump(mode="json", exclude={"endpoint"})
    told = [name for name in str(known.pop("told", "")).split(",") if name]
    return {"state": state_of(health, now), **known, "told": told}
