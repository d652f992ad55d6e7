"""Know how each kind of sender proves itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kova_auto.core.inbound.request import Scheme
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


def scheme_of(table: WebhookTable) -> Scheme:
    """Return what believes the requests of a job's sender."""
    if table.source is WebhookSource.TOKEN and table.header:
        return token_scheme(table.header.lower().encode("ascii"))
    return _SCHEMES[table.source]
