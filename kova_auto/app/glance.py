"""See which jobs' schedules rest without asking a service or opening the journal, where that can be had."""

from __future__ import annotations

from kova_auto.core.ids import JobName
from kova_auto.core.pausing import Pause
from kova_auto.settings.model import Settings


def pauses_at_a_glance(settings: Settings) -> dict[JobName, Pause] | None:
    """Return the jobs whose schedules rest; None where only a question to the service, or to its database, tells.

    Raises:
        JournalError: The journal cannot be read.
    """
    if settings.database != "sqlite":
        return None
    from kova_auto.store.glance import pauses_in

    return pauses_in(settings.database_file)
