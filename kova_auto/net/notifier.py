"""Carry notes with Apprise: mail, and the long tail of services. Best effort, and nobody confirms anything.

Apprise opens its own connections, so what it reaches is outside our guard: its URLs come from the operator alone. It
works in a thread, which nothing can end; one that takes longer than it may is left to itself, and the note may arrive
all the same. The package is an extra, and takes half a second to import.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Final

from kova_auto.core.delivery.document import Status
from kova_auto.core.delivery.notifier import Note
from kova_auto.core.delivery.outcome import EXCERPT_BYTES, AttemptOutcome, AttemptResult
from kova_auto.core.delivery.text import one_line
from kova_auto.core.errors import ConfigError
from kova_auto.threads import Threads

if TYPE_CHECKING:
    from apprise import AppriseResult, NotifyBase, NotifyLogEntry

EXTRA: Final = "pip install 'kova-auto[apprise]'"
_AT_ONCE: Final = 4
_THREADS: Final = Threads(_AT_ONCE, "apprise")
os.register_at_fork(after_in_child=_THREADS.forget)
_KINDS: Final = {Status.GOOD: "success", Status.BAD: "failure", Status.ATTENTION: "warning", Status.NEUTRAL: "info"}
_KEPT: Final = frozenset({"WARNING", "ERROR", "CRITICAL"})
# As smtplib spells a refusal: (550, b'no such user')
_MAIL_REPLY: Final = re.compile(r"\((?P<code>[245]\d\d), b?['\"]")


def has_apprise() -> bool:
    """Say whether the extra is installed."""
    return find_spec("apprise") is not None


@dataclass(frozen=True, slots=True)
class AppriseNotifier:
    """Carry notes, a few at once.

    Attributes:
        installed: Says whether the extra is there.
        threads: On which it works.
    """

    installed: Callable[[], bool] = has_apprise
    threads: Threads = _THREADS

    async def notify(self, url: str, note: Note, *, deadline_s: float) -> AttemptResult:
        """Return what Apprise says came of one attempt; `core/delivery/notifier.py` says more."""
        if not self.installed():
            msg = "mail and the format apprise need a package that is not installed"
            raise ConfigError(msg, hint=EXTRA)
        errand = _Errand(url, note, deadline_s)
        try:
            async with asyncio.timeout(deadline_s):
                return await self.threads.run(errand)
        except TimeoutError:
            return errand.given_up()


@dataclass(slots=True)
class _Errand:
    """Hold one note on its way, which is not sent any more once it was given up."""

    url: str = field(repr=False)
    note: Note
    deadline_s: float
    _lock: Lock = field(default_factory=Lock)
    _begun: bool = False
    _over: bool = False

    def __call__(self) -> AttemptResult:
        """Send it, on a thread of its own."""
        with self._lock:
            if self._over:
                return self._unsent()
            self._begun = True
        return _send(self.url, self.note, self.deadline_s)

    def given_up(self) -> AttemptResult:
        """Return what is known once nobody waits any more."""
        with self._lock:
            self._over = True
        if not self._begun:
            return self._unsent()
        late = f"Apprise had not ended after {self.deadline_s:g} s; the receiver may have it"
        return AttemptResult(AttemptOutcome.AMBIGUOUS, late)

    def _unsent(self) -> AttemptResult:
        return AttemptResult(AttemptOutcome.NOT_SENT, f"Apprise was busy with others for {self.deadline_s:g} s")


def _send(url: str, note: Note, deadline_s: float) -> AttemptResult:
    from apprise import Apprise, NotifyFormat, NotifyType

    is_mail, kind = url.lower().startswith("mailto"), NotifyFormat.HTML if note.is_html else NotifyFormat.TEXT
    level = logging.DEBUG if is_mail else logging.WARNING
    _hush(level)
    service = _service(url)
    if is_mail:  # It would make HTML of text.
        service.notify_format = kind
    carrier = Apprise(asset=service.asset)
    carrier.add(service)
    result = carrier.notify(
        body=note.text,
        title=note.title,
        notify_type=NotifyType(_KINDS[note.status]),
        body_format=kind,
        interpret_escapes=False,
        timeout=deadline_s,
        log_level=level,
    )
    return _judged(result)


def _hush(level: int) -> None:
    """Have what is logged below us go into the result, of which we take what we know, and nowhere else.

    There are addresses in it. Only of mail more than warnings is wanted: there alone is what a server answered.
    """
    logger = logging.getLogger("apprise")
    logger.propagate = False
    logger.setLevel(level)
    logging.getLogger("urllib3").setLevel(logging.WARNING)


def _service(url: str) -> NotifyBase:
    """Return what stands behind a URL, made so that it keeps nothing on disk and goes nowhere else.

    Raises:
        ConfigError: Nothing does.
    """
    from apprise import Apprise, AppriseAsset, PersistentStoreMode

    asset = AppriseAsset(plugin_paths=[], storage_mode=PersistentStoreMode.MEMORY)
    asset.http_redirects = asset.pgp_autogen = asset.pem_autogen = False
    asset.app_id = asset.app_desc = "Kova Auto"
    service = Apprise.instantiate(url, asset=asset)
    if service is None:
        msg = "Apprise does not know a service of this kind, or something is missing in its URL"
        raise ConfigError(msg, hint="apprise --dry-run --body=test URL says more")
    return service


def _judged(result: AppriseResult) -> AttemptResult:
    from apprise import AppriseResultStatus

    said = " ".join(entry.message for entry in result.logs() if _may_be_kept(entry))
    excerpt = one_line(said, EXCERPT_BYTES)
    match result.status:
        case AppriseResultStatus.SUCCESS:
            return AttemptResult(AttemptOutcome.DELIVERED, "Apprise says that it was sent", excerpt=excerpt)
        case AppriseResultStatus.PARTIAL:
            some = "Apprise says that some of its receivers took it, and some did not"
            return AttemptResult(AttemptOutcome.AMBIGUOUS, some, permanent=True, excerpt=excerpt)
        case AppriseResultStatus.TIMEOUT:
            late = "Apprise ran out of time; the receiver may have it"
            return AttemptResult(AttemptOutcome.AMBIGUOUS, late, excerpt=excerpt)
        case _:
            outcome, why = _mail_answer(said)
            return AttemptResult(outcome, f"Apprise says that it was not sent{why}", excerpt=excerpt)


def _may_be_kept(entry: NotifyLogEntry) -> bool:
    """Say whether a line may be kept: in those for debugging are addresses, but what a mail server answers is there."""
    return entry.level in _KEPT or entry.message.startswith("Socket Exception")


def _mail_answer(said: str) -> tuple[AttemptOutcome, str]:
    """Return what a mail server's refusal means; 4xx may pass, 552 and 554 are about the message, 5xx stays."""
    if not (found := _MAIL_REPLY.search(said)):
        return AttemptOutcome.SERVER_ERROR, ""
    code = found["code"]
    outcome = AttemptOutcome.SERVER_ERROR
    if code.startswith("5"):
        outcome = AttemptOutcome.BAD_PAYLOAD if code in {"552", "554"} else AttemptOutcome.BAD_ENDPOINT
    return outcome, f": the mail server answered {code}"
