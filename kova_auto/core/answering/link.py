"""Sign what a link may answer, and read it again: one call as it was asked about, until one instant.

Nothing about a link is stored. It is used up when somebody has answered, by whatever way; when the call is no longer
the one that was shown; and when its time is over.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from kova_auto.core.consent import ApprovalRequested
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.run import CallState

KEY_BYTES: Final = 32
LONGEST_LIFE: Final = timedelta(days=30)
"""How long a link is good for where the question itself has no end."""

_TOKEN: Final = re.compile(r"([A-Za-z0-9_-]{8,1500})\.([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """Hold the key that signs links; it is never shown."""

    raw: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Claim:
    """Say what a link may answer.

    Attributes:
        digest: Of the call as a person is shown it: tool, arguments, what it would write over.
        endpoint: Which was sent the link; whoever answers by it is known by that name.
        expires_at: Whole seconds, UTC; it is good before that.
    """

    run_id: RunId
    call_id: CallId
    digest: str
    endpoint: str
    expires_at: datetime


class Unusable(StrEnum):
    """Say why a link answers nothing."""

    BROKEN = "this link is not whole, or was not made here"
    OVER = "the time to answer by this link is over"


def claim_of(run_id: RunId, call: CallState, asked: ApprovalRequested, endpoint: str) -> Claim:
    """Return what a link about a call that waits for a person may answer; the same on every attempt to send it."""
    last = asked.at + LONGEST_LIFE
    ends = min(asked.expires_at or last, last)
    return Claim(run_id, call.call.id, digest_of(call), endpoint, ends.astimezone(UTC).replace(microsecond=0))


def digest_of(call: CallState) -> str:
    """Return what changes when the call changes, or what it would write over."""
    targets = [target.model_dump(mode="json") for target in call.approval.targets] if call.approval else []
    shown = [call.asked_seq, call.call.tool, call.call.args, targets]
    text = json.dumps(shown, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def token_of(key: AnswerKey, claim: Claim) -> str:
    """Return the text of a link: the same claim always gives the same."""
    seconds = int(claim.expires_at.timestamp())
    said = json.dumps([claim.run_id, claim.call_id, claim.digest, claim.endpoint, seconds], separators=(",", ":"))
    body = _spell(said.encode())
    return f"{body}.{_spell(_signature(key, body))}"


def read_token(key: AnswerKey, token: str, now: datetime) -> Claim | Unusable:
    """Return what a link may answer, or why it answers nothing; whatever the text is, nothing is raised."""
    found = _TOKEN.fullmatch(token)
    if found is None:
        return Unusable.BROKEN
    body, given = found.groups()
    if not hmac.compare_digest(_spell(_signature(key, body)), given):
        return Unusable.BROKEN
    claim = _claim(body)
    return Unusable.OVER if now >= claim.expires_at else claim


def _claim(body: str) -> Claim:
    """Return what we have signed ourselves, so that it reads."""
    run_id, call_id, digest, endpoint, seconds = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    return Claim(RunId(run_id), CallId(call_id), digest, endpoint, datetime.fromtimestamp(seconds, UTC))


def _signature(key: AnswerKey, body: str) -> bytes:
    return hmac.new(key.raw, b"kova answer 1." + body.encode(), hashlib.sha256).digest()


def _spell(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")
