"""Let people answer from where they were told: links are made here, and what is sent back by them is taken in."""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from kova_auto.app.control import Said
from kova_auto.app.local import LocalControl
from kova_auto.app.vault import Vault
from kova_auto.core.answering.asked import Filled, Shown, shown
from kova_auto.core.answering.buttons import REPLY_HOST, Press
from kova_auto.core.answering.link import (
    KEY_BYTES,
    AnswerKey,
    Claim,
    Unusable,
    claim_of,
    digest_of,
    read_token,
    token_of,
)
from kova_auto.core.answering.port import Closed
from kova_auto.core.approval.levels import Decision
from kova_auto.core.delivery.document import spell_instant
from kova_auto.core.delivery.notice import ApprovalNotice, Notice
from kova_auto.core.delivery.report import request_of
from kova_auto.core.delivery.target import FormatName
from kova_auto.core.errors import ConfigError, IllegalEventError, UnknownRunError
from kova_auto.core.ids import CallId
from kova_auto.core.net.address import EgressRefusedError
from kova_auto.core.net.http import Exchange, HttpRequest
from kova_auto.core.net.url import Egress, parse_url
from kova_auto.core.ports import Clock, Journal
from kova_auto.core.run import CallState, RunState
from kova_auto.delivery.parcel import Linked, unlinked
from kova_auto.settings.chat import SlackTable
from kova_auto.settings.model import Settings

LOG = logging.getLogger(__name__)
KEY_FILE: Final = "answer.key"
PATH: Final = "/answer/"
REPLY_S: Final = 5.0

_GONE: Final = Closed(404, "No such question", "This link is not whole, or was not made here.")
_OVER: Final = Closed(410, "Too late", "The time to answer by this link is over.")
_CHANGED: Final = Closed(409, "No longer this question", "What was asked has changed since: nothing was done.")


def answer_key(data_dir: Path) -> AnswerKey:
    """Return the key that signs links, made where it is not there; who removes the file ends all links.

    Raises:
        ConfigError: It cannot be read or made, or somebody has damaged it.
    """
    path = data_dir / KEY_FILE
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError):
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "w") as file:
                file.write(base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode() + "\n")
        raw = base64.b64decode(path.read_text().strip(), validate=True)
    except (OSError, binascii.Error, ValueError) as exc:
        message = f"the key that signs links cannot be had: {exc}"
        raise ConfigError(message, path=str(path), hint="remove the file, and a new one is made") from exc
    if len(raw) != KEY_BYTES:
        message = f"wanted a key of {KEY_BYTES} bytes, found {len(raw)}"
        raise ConfigError(message, path=str(path), hint="remove the file, and a new one is made")
    return AnswerKey(raw)


@dataclass(frozen=True, slots=True)
class Links:
    """Put into a request for an answer how to give it.

    Attributes:
        buttons: Presses of Slack's buttons are taken.
    """

    key: AnswerKey
    settings: Settings

    def into(self, notice: Notice, state: object, endpoint: str) -> Notice:
        """Return a notice, with its link where it is a request that waits, and its buttons' token where they work."""
        if not isinstance(notice, ApprovalNotice) or notice.settled or not isinstance(state, RunState):
            return notice
        call = state.call(CallId(notice.call_id))
        if call.approval is None:
            return notice
        token = token_of(self.key, claim_of(state.run_id, call, call.approval, endpoint))
        ingress, table = self.settings.ingress, self.settings.endpoints.get(endpoint)
        has_buttons = ingress.slack is not None and table is not None and table.format is FormatName.SLACK
        links = {"answer_url": ingress.url_of(PATH + token), "answer_token": token if has_buttons else ""}
        return notice.model_copy(update=links)


def linked_by(settings: Settings) -> Linked:
    """Return what puts links into requests; nothing does where nothing listens for their answers.

    Raises:
        ConfigError: The key that signs them cannot be had.
    """
    return Links(answer_key(settings.data_dir), settings).into if settings.ingress.listen else unlinked


@dataclass(slots=True)
class AnswerDesk:
    """Be the `Inbox` of a service."""

    key: AnswerKey
    journal: Journal
    control: LocalControl
    clock: Clock
    vault: Vault
    exchange: Exchange
    slack: SlackTable | None = None
    _replies: set[asyncio.Task[None]] = field(default_factory=set)

    async def look(self, token: str) -> Shown | Closed:
        """Return what the link's page says."""
        found = await self._found(token)
        if isinstance(found, Closed):
            return found
        claim, state, call = found
        notice = ApprovalNotice.model_validate_json(self.vault.redact(request_of(state, call).model_dump_json()))
        return shown(notice, call.call.args, spell_instant(claim.expires_at))

    async def answer(self, token: str, said: Filled) -> Closed:
        """Take an answer by a link."""
        found = await self._found(token)
        if isinstance(found, Closed):
            return found
        claim, _, call = found
        return await self._decide(claim, call.call.id, said, f"link sent to {claim.endpoint}")

    async def press(self, press: Press) -> Closed:
        """Take an answer by a button."""
        found = await self._found(press.token)
        if isinstance(found, Closed):
            return found
        claim, _, call = found
        by = f"Slack user {press.user} of {press.team}, through {claim.endpoint}"
        return await self._decide(claim, call.call.id, Filled(press.decision), by)

    async def _found(self, token: str) -> tuple[Claim, RunState, CallState] | Closed:
        """Return the call that a link is about, where it still waits as it was shown."""
        claim = read_token(self.key, token, self.clock.now())
        if isinstance(claim, Unusable):
            return _OVER if claim is Unusable.OVER else _GONE
        try:
            state = await self.journal.load(claim.run_id)
            call = state.call(claim.call_id)
        except (UnknownRunError, IllegalEventError):
            return _GONE
        if not call.awaits_person:
            return Closed(409, "Answered already", _who(state, call))
        return (claim, state, call) if digest_of(call) == claim.digest else _CHANGED

    async def _decide(self, claim: Claim, call_id: CallId, said: Filled, by: str) -> Closed:
        try:
            row = await self.control.decide(
                claim.run_id, call_id, Said(decision=said.decision, by=by, note=said.note, answers=said.answers)
            )
        except ConfigError as exc:
            return Closed(422, "Not taken", self.vault.redact(str(exc)))
        except IllegalEventError as exc:
            return Closed(409, "Answered already", self.vault.redact(str(exc)))
        LOG.info("run %s, call %s: %s by %s", claim.run_id, call_id, said.decision, by)
        word = "Denied" if said.decision is Decision.DENY else "Answered" if said.answers else "Allowed once"
        return Closed(200, word, f"{word} ({row.job}, run {row.run_id}). The run goes on by itself.")

    def keys(self) -> Sequence[bytes]:
        """Return what presses are signed with."""
        if self.slack is None:
            return ()
        try:
            return (self.vault.value(self.slack.signing_secret).encode(),)
        except ConfigError as exc:
            LOG.warning("presses of buttons cannot be verified: %s", self.vault.redact(str(exc)))
            return ()

    def reply(self, url: str, body: bytes) -> None:
        """Tell the chat, behind whoever pressed: nobody waits for it, and it is tried once."""
        try:
            parsed = parse_url(url, Egress())
        except EgressRefusedError:
            LOG.warning("a press of a button wanted its answer where none is sent")
            return
        if parsed.host != REPLY_HOST or parsed.port != 443:
            LOG.warning("a press of a button wanted its answer at %s: only %s is answered", parsed.host, REPLY_HOST)
            return
        headers = (("Content-Type", "application/json"),)
        request = HttpRequest("POST", parsed, headers, body, deadline_s=REPLY_S)
        task = asyncio.get_running_loop().create_task(self._tell(request))
        self._replies.add(task)
        task.add_done_callback(self._replies.discard)

    async def _tell(self, request: HttpRequest) -> None:
        await self.exchange.exchange(request)


def _who(state: RunState, call: CallState) -> str:
    """Say who was first, in words that give nothing of the run away."""
    if call.decision is None:
        return f"It waits for nobody any more (run {state.run_id})."
    at: datetime = call.decision.at
    return f"{call.decision.by} has answered: {call.decision.decision}, {spell_instant(at)}."
