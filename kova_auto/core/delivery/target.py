"""Say where a message goes: an endpoint with its secrets resolved, as the sender needs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from kova_auto.core.delivery.signature import SigningSecret
from kova_auto.core.net.address import Network
from kova_auto.core.net.url import Egress

OptionValue = str | Mapping[str, str]


class FormatName(StrEnum):
    """Name what an endpoint understands; each is one file in `formats`."""

    STANDARD = "standard"
    CLOUDEVENTS = "cloudevents"
    GITHUB = "github"
    GITLAB = "gitlab"
    SLACK = "slack"
    DISCORD = "discord"
    MATTERMOST = "mattermost"
    TEAMS = "teams"
    GOOGLE_CHAT = "google-chat"
    TELEGRAM = "telegram"
    FEISHU = "feishu"
    DINGTALK = "dingtalk"
    WECOM = "wecom"
    NTFY = "ntfy"
    BARK = "bark"
    PAGERDUTY = "pagerduty"
    HEALTHCHECKS = "healthchecks"
    EMAIL = "email"
    APPRISE = "apprise"


@dataclass(frozen=True)
class Target:
    """Hold one endpoint; URL, token and secrets are never shown.

    Attributes:
        secrets: Each signs, the newest first; `standard` wants at least one.
        allow_http: Plain http may be used.
        allow_cidrs: Networks that are not public and may be reached.
        timeout_s: For one whole attempt.
        token: Lets us in, where the format has one; empty where there is none.
        options: What `core/delivery/needs.py` says of the format, defaults filled in.
    """

    name: str
    format: FormatName
    url: str = field(repr=False)
    secrets: tuple[SigningSecret, ...] = ()
    allow_http: bool = False
    allow_cidrs: tuple[Network, ...] = ()
    timeout_s: float = 30.0
    token: str = field(default="", repr=False)
    options: Mapping[str, OptionValue] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def egress(self) -> Egress:
        """Return how far a request to it may go."""
        return Egress(allow_http=self.allow_http, allow_cidrs=self.allow_cidrs)
