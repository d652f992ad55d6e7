"""See what schedules rest, and what was seen of them, without asking a service or opening the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kova_auto.core.ids import JobName
from kova_auto.core.pausing import Pause
from kova_auto.settings.model import Settings

if TYPE_CHECKING:
    from kova_auto.core.ledger import ScheduleVersion


def pauses_at_a_glance(settings: Settings) -> dict[JobName, Pause] | None:
    """Return the jobs whose schedules rest; None where only a question to the service, or to its database, tells.

    Raises:
        JournalError: The journal cannot be read.
    """
    if settings.database != "sqlite":
        return None
    from kova_auto.store.glance import pauses_in

    return pauses_in(settings.database_file)


def schedules_at_a_glance(settings: Settings) -> dict[JobName, ScheduleVersion] | None:
    """Return the schedule that each job had last; None where only a question to the service, or its database, tells.

    Raises:
        JournalError: The journal cannot be read.
    """
    if settings.database != "sqlite":
        return None
    from kova_auto.store.glance import schedules_in

    return schedules_in(settings.database_file)
