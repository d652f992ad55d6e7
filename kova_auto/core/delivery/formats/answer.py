"""Read what a receiver answers where its status says little: a body of JSON with a code of the receiver's own."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult
from kova_auto.core.net.http import BodyEnd, HttpResponse


def fields_of(reply: HttpResponse) -> Mapping[str, JsonValue]:
    """Return the object that a body holds; empty where it holds anything else."""
    try:
        fields = json.loads(reply.body)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def code_of(fields: Mapping[str, JsonValue], *keys: str) -> int | None:
    """Return the first of some fields that is a whole number."""
    return next((code for key in keys if isinstance(code := fields.get(key), int) and not isinstance(code, bool)), None)


def text_of(fields: Mapping[str, JsonValue], key: str) -> str:
    """Return a field that is a text; empty where it is none."""
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def seconds_of(fields: Mapping[str, JsonValue], key: str) -> float | None:
    """Return a field that is a time to wait; None where it is none that anybody could wait."""
    value = fields.get(key)
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
        return float(value)
    return None


def is_good(reply: HttpResponse) -> bool:
    """Say whether the status alone promises that all is well."""
    return 200 <= reply.status < 300


@dataclass(frozen=True, slots=True)
class Meaning:
    """Say what one code means.

    Attributes:
        words: For a person; what is behind it, and what to do.
        permanent: As in `AttemptResult`.
        wait_s: How long nothing is taken after it.
    """

    outcome: AttemptOutcome
    words: str
    permanent: bool = False
    wait_s: float | None = None


@dataclass(frozen=True, slots=True)
class Codes:
    """Judge by a code in the body, of which nought alone is good: HTTP says 200 to what is thrown away, too.

    Attributes:
        who: Name of the receiver.
        keys: The code is in the first of these that is there.
        meanings: Of codes that are known. Any other means that it did not like this message.
    """

    who: str
    keys: tuple[str, ...]
    meanings: Mapping[int, Meaning]

    def judge(self, reply: HttpResponse) -> AttemptResult | None:
        """Return what an answer means, or None where the status says it."""
        code = code_of(fields_of(reply), *self.keys)
        if code is not None and (meaning := self.meanings.get(code)):
            return self._known(code, meaning)
        if not is_good(reply):
            return None
        if code is None:
            return unfit_answer(reply, self.who)
        if code:
            return AttemptResult(AttemptOutcome.BAD_PAYLOAD, f"{self.who} answered with code {code}")
        return AttemptResult(AttemptOutcome.DELIVERED, f"{self.who} took it: code 0")

    def _known(self, code: int, meaning: Meaning) -> AttemptResult:
        return AttemptResult(
            meaning.outcome,
            f"{self.who} answered with code {code}: {meaning.words}",
            permanent=meaning.permanent,
            retry_after_s=meaning.wait_s,
        )


def said_ok(reply: HttpResponse, who: str) -> AttemptResult:
    """Return what a good status means where the body has to be `ok`, or say so in JSON; nothing else is a promise.

    Empty, or `{"ok": true}`: hooks of Slack that start a workflow. `{"success": true}`: servers that imitate Slack.
    """
    fields, said = fields_of(reply), reply.body.strip(b" \t\r\n")
    if reply.ending is BodyEnd.BROKEN:
        detail = f"{who} answered {reply.status}, and the connection ended before it said ok"
        return AttemptResult(AttemptOutcome.AMBIGUOUS, detail)
    if said in {b"ok", b""} or fields.get("ok") is True or fields.get("success") is True:
        return AttemptResult(AttemptOutcome.DELIVERED, f"{who} answered {reply.status}: ok")
    if fields.get("ok") is False or fields.get("success") is False:
        detail = f"{who} answered {reply.status}, and that it did not take the message"
        return AttemptResult(AttemptOutcome.BAD_ENDPOINT, detail)
    if said[:15].lower().startswith((b"<!doctype html", b"<html")):
        detail = f"a web page answered: the URL is not that of a {who} webhook"
        return AttemptResult(AttemptOutcome.BAD_ENDPOINT, detail)
    # Sending again could double a message that arrived.
    return AttemptResult(AttemptOutcome.AMBIGUOUS, "the receiver answered 200, but not ok", permanent=True)


def unfit_answer(reply: HttpResponse, who: str) -> AttemptResult:
    """Return what a good status means with a body that is not the receiver's: somebody else has answered."""
    if reply.ending is BodyEnd.BROKEN:
        cut_off = f"the connection to {who} ended before it said whether it took the message"
        return AttemptResult(AttemptOutcome.AMBIGUOUS, cut_off)
    found = "nothing" if not reply.body.strip() else "something else"
    if reply.body.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
        found = "a web page"
    detail = f"wanted what {who} answers, found {found}: is the URL right?"
    return AttemptResult(AttemptOutcome.BAD_ENDPOINT, detail)
