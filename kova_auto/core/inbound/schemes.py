"""Know how each kind of sender proves itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from kova_auto.core.inbound.body import read_body
from kova_auto.core.inbound.request import Inbound, Problem, Scheme, Told
from kova_auto.core.inbound.sources.github import GITHUB
from kova_auto.core.inbound.sources.gitlab import GITLAB
from kova_auto.core.inbound.sources.slack import SLACK
from kova_auto.core.inbound.sources.standard import STANDARD
from kova_auto.core.inbound.sources.stripe import STRIPE
from kova_auto.core.inbound.sources.token import token_scheme
from kova_auto.core.job import WebhookTable
from kova_auto.core.webhook_source import WebhookSource

_SCHEMES: Final[Mapping[WebhookSource, Scheme]] = {
    WebhookSource.GITHUB: GITHUB,
    WebhookSource.SLACK: SLACK,
    WebhookSource.STANDARD: STANDARD,
    WebhookSource.STRIPE: STRIPE,
    WebhookSource.GITLAB: GITLAB,
    WebhookSource.TOKEN: token_scheme(),
}


def weighed(
    table: WebhookTable, keys: Sequence[bytes], request: Inbound, kind: str, now_s: float
) -> Problem | tuple[JsonValue, Told]:
    """Return why a request is not believed, or what its body holds and what it tells.

    Args:
        table: Of the hook that it was sent to.
        keys: Any of them may have proved it.
        request: As it came: nothing of its body is looked at before it is believed.
        kind: Media type of its body.
        now_s: Seconds since 1970.

    Raises:
        BodyError: It is believed, and its body cannot be read.
    """
    scheme = scheme_of(table)
    if problem := scheme.check(keys, request, now_s):
        return problem
    payload = read_body(request.body, kind, scheme.form)
    return payload, scheme.read(request, payload, now_s)


def scheme_of(table: WebhookTable) -> Scheme:
    """Return what believes the requests of a job's sender."""
    if table.source is WebhookSource.TOKEN and table.header:
        return token_scheme(table.header.lower().encode("ascii"))
    return _SCHEMES[table.source]
