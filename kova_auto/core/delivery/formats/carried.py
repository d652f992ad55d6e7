"""Make notes for Apprise, which carries what our own HTTP does not: mail, and the long tail of services."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from kova_auto.core.delivery.document import Document
from kova_auto.core.delivery.format import Rendered, Seal, Sealed
from kova_auto.core.delivery.formats.page import SIGNS
from kova_auto.core.delivery.limits import Unit
from kova_auto.core.delivery.notifier import Note
from kova_auto.core.delivery.outcome import AttemptResult
from kova_auto.core.delivery.target import Target
from kova_auto.core.delivery.text import one_line
from kova_auto.core.errors import ConfigError
from kova_auto.core.net.http import HttpResponse


def rendered(note: Note) -> Rendered:
    """Return a note as it is kept until it is sent."""
    return Rendered(note.model_dump_json().encode())


def title_of(document: Document, limit: int) -> str:
    """Return the title with a sign of what it means, in at most `limit` characters."""
    characters, heading = limit, f"{SIGNS[document.status]} {document.title}"
    while Unit.CHARACTERS.size(text := one_line(heading, characters)) > limit:
        characters = characters * 3 // 4
    return text


def sealed_where(is_ours: Callable[[str], str]) -> Seal:
    """Return a seal that lets through addresses of some schemes.

    Args:
        is_ours: Takes a scheme in lower case, and returns why it is not taken; empty where it is.
    """

    def seal(target: Target, message: Rendered, _delivery_id: str, _now: datetime) -> Sealed:
        scheme, mark, _ = target.url.partition("://")
        refusal = is_ours(scheme.lower()) if mark else "wanted a URL such as mailtos://user:password@example.org"
        if refusal:
            raise ConfigError(refusal, key=f"endpoints.{target.name}.url")
        return Sealed(target.url, message.body)

    return seal


def judge(_reply: HttpResponse) -> AttemptResult | None:
    """Leave it to the carrier: there is no answer that we could read."""
    return None
