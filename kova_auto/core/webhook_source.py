"""Name the senders whose requests may start a job."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class WebhookSource(StrEnum):
    """Say how a request is signed, and where it says what happened."""

    GITHUB = "github"
    SLACK = "slack"
    STANDARD = "standard"
    STRIPE = "stripe"
    GITLAB = "gitlab"
    TOKEN = "token"  # noqa: S105 - a kind of sender


UNSIGNED: Final = frozenset({WebhookSource.GITLAB, WebhookSource.TOKEN})
"""They send the secret itself: whoever sees one request can send others."""

SAYS_EVENT: Final = frozenset(WebhookSource) - {WebhookSource.TOKEN}
SAYS_ACTOR: Final = frozenset({WebhookSource.GITHUB, WebhookSource.SLACK, WebhookSource.GITLAB})
