"""Ask a live service which of its jobs' files are broken, and what of them goes on."""

from __future__ import annotations

from collections.abc import Mapping

from kova_auto.app.connect import reading
from kova_auto.app.finding import Finding, Mark
from kova_auto.app.remote import RemoteControl
from kova_auto.core.errors import KovaError
from kova_auto.core.parked import Parked, spell_parked
from kova_auto.settings.model import Settings


async def parked(settings: Settings, environ: Mapping[str, str]) -> tuple[Parked, ...]:
    """Return the jobs whose files are broken, as a live service has read them; none where no service lives.

    Raises:
        KovaError: There is no answer.
    """
    if settings.database == "sqlite" and not settings.database_file.exists():
        return ()
    async with reading(settings, environ, kind="jobs") as answers:
        return (await answers.status()).parked if isinstance(answers, RemoteControl) else ()


async def of_parked(settings: Settings, environ: Mapping[str, str]) -> list[Finding]:
    """Say what of broken jobs goes on in a live service; that it does not answer is said elsewhere."""
    try:
        found = await parked(settings, environ)
    except KovaError:
        return []
    return [Finding("job", one.job, Mark.WARN, f"its file is broken: {spell_parked(one.good_at)}") for one in found]
