"""Turn a notice into what is sent to an endpoint. Adding a format is adding its file, its name and its line here."""

from __future__ import annotations

from collections.abc import Mapping

from kova_auto.core.delivery.format import Format, Rendered, Wish
from kova_auto.core.delivery.formats import (
    apprise,
    bark,
    cloudevents,
    dingtalk,
    discord,
    email,
    feishu,
    github,
    gitlab,
    google_chat,
    healthchecks,
    mattermost,
    ntfy,
    pagerduty,
    slack,
    standard,
    teams,
    telegram,
    wecom,
)
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.target import FormatName

FORMATS: Mapping[FormatName, Format] = {
    FormatName.STANDARD: standard.FORMAT,
    FormatName.CLOUDEVENTS: cloudevents.FORMAT,
    FormatName.GITHUB: github.FORMAT,
    FormatName.GITLAB: gitlab.FORMAT,
    FormatName.SLACK: slack.FORMAT,
    FormatName.DISCORD: discord.FORMAT,
    FormatName.MATTERMOST: mattermost.FORMAT,
    FormatName.TEAMS: teams.FORMAT,
    FormatName.GOOGLE_CHAT: google_chat.FORMAT,
    FormatName.TELEGRAM: telegram.FORMAT,
    FormatName.FEISHU: feishu.FORMAT,
    FormatName.DINGTALK: dingtalk.FORMAT,
    FormatName.WECOM: wecom.FORMAT,
    FormatName.NTFY: ntfy.FORMAT,
    FormatName.BARK: bark.FORMAT,
    FormatName.PAGERDUTY: pagerduty.FORMAT,
    FormatName.HEALTHCHECKS: healthchecks.FORMAT,
    FormatName.EMAIL: email.FORMAT,
    FormatName.APPRISE: apprise.FORMAT,
}


def render(name: FormatName, notice: Notice, wish: Wish) -> Rendered:
    """Return the body of a message, within its receiver's limits; the same arguments always give the same bytes."""
    return FORMATS[name].render(notice, wish)
