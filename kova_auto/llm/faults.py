"""Decide what a provider's refusal means: its class, and with it whether to ask again later, never, or with less text.

The status and the codes decide; wording only for an overflow, on whose code providers do not agree.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from kova_auto.core.errors import ContextOverflowError, ModelError, ModelRefusedError, ModelUnavailableError
from kova_auto.core.fault import TRANSIENT, Fault
from kova_auto.core.provider import Provider
from kova_auto.llm.overflow import OVERFLOW_CODES, reads_as_overflow
from kova_auto.llm.redaction import shown

REFUSES_A_PART: Final = frozenset({400, 422})
"""Statuses with which a provider may mean one part of a request that it can be asked without."""

_SPENT: Final = frozenset(
    {
        "insufficient_quota",
        "insufficient_balance",
        "insufficient_credits",
        "billing_error",
        "billing_not_active",
        "billing_hard_limit_reached",
        "enforced_spend_limit_reached",
        "contract_spend_limit_reached",
        "exceeded_current_quota_error",
    }
)
_BY_STATUS: Final = {
    401: Fault.AUTH,
    402: Fault.SPENT,
    403: Fault.AUTH,
    404: Fault.NOT_FOUND,
    405: Fault.NOT_FOUND,
    408: Fault.TIMEOUT,
    409: Fault.SERVER,
    410: Fault.NOT_FOUND,
    413: Fault.OVERFLOW,
    421: Fault.SERVER,
    425: Fault.SERVER,
    429: Fault.RATE_LIMITED,
    498: Fault.OVERLOADED,
    499: Fault.TIMEOUT,
    503: Fault.OVERLOADED,
    504: Fault.TIMEOUT,
    522: Fault.TIMEOUT,
    524: Fault.TIMEOUT,
    529: Fault.OVERLOADED,
}
# Of several that fit, the first one says it best.
_BY_CODE: Final = tuple(
    (re.compile(pattern), fault)
    for pattern, fault in (
        (r"overload|capacity|unavailable", Fault.OVERLOADED),
        (r"rate_?limit|too_many_requests|resource_exhausted|throttl", Fault.RATE_LIMITED),
        (r"time_?d?_?out|deadline_exceeded", Fault.TIMEOUT),
        (r"authentic|api_?key|permission|forbidden|unauthori", Fault.AUTH),
        (r"server_?error|internal|api_error", Fault.SERVER),
        (r"not_?found", Fault.NOT_FOUND),
        (r"invalid|unsupported|policy|content_?filter|moderation|bad_?request", Fault.INVALID),
    )
)
_NO_OVERFLOW: Final = frozenset({401, 403, 404, 429})
_SECONDS: Final = re.compile(r"(\d{1,9}(?:\.\d+)?)s")


@dataclass(frozen=True, slots=True)
class Problem:
    """Hold what a provider said was wrong, whatever shape it said it in.

    Attributes:
        codes: Its `code` and `type`, in lower case, those that it gave.
        status: HTTP status, of the answer or named inside it; None where there is none.
        param: Part of the request that it complains about; empty where it names none.
        retry_after_s: When it wants to be asked again, where it says so here and not in a header.
    """

    message: str
    codes: frozenset[str] = frozenset()
    status: int | None = None
    param: str = ""
    retry_after_s: float | None = None

    @property
    def is_opaque(self) -> bool:
        """Say whether nothing at all was said."""
        return not (self.message or self.codes or self.param)


def problem_in(body: JsonValue) -> Problem | None:
    """Return the error that a JSON body holds, or None where it holds none."""
    if not isinstance(body, dict):
        return problem_in(body[0]) if isinstance(body, list) and body else None
    if error := body.get("error"):
        return _problem({**body, **error}) if isinstance(error, dict) else _problem({**body, "message": error})
    if "error" in (body.get("object"), body.get("type")) or ("detail" in body and "choices" not in body):
        return _problem(body)
    return None


def _problem(error: dict[str, JsonValue]) -> Problem:
    metadata, details = _object(error.get("metadata")), error.get("details")
    message = _text(error.get("message") or error.get("detail"))
    if raw := metadata.get("raw"):  # What another provider, behind this one, has said.
        message = f"{message}: {_text(raw)}"
    behind = _behind(raw)
    named = [*(error.get(key) for key in ("code", "type", "status")), _object(details).get("error_code")]
    codes = frozenset(item.lower() for item in named if isinstance(item, str) and item)
    numbers = [int(item) for item in map(str, named) if item.isascii() and item.isdigit() and len(item) == 3]
    return Problem(
        message,
        codes | behind.codes,
        numbers[0] if numbers else None,
        _param(error) or behind.param,
        _delay(details),
    )


def _behind(raw: JsonValue) -> Problem:
    if isinstance(raw, str) and raw.lstrip().startswith("{"):
        try:
            raw = json.loads(raw)
        except (ValueError, RecursionError):
            return Problem("")
    return (problem_in(raw) if isinstance(raw, dict) else None) or Problem("")


def _param(error: dict[str, JsonValue]) -> str:
    """Return which part of the request is meant, its path joined by dots."""
    if isinstance(param := error.get("param"), str):
        return param
    detail = error.get("detail") or _object(error.get("message")).get("detail")
    first = _object(detail[0]) if isinstance(detail, list) and detail else {}
    place = first.get("loc")
    return ".".join(map(str, place[1:])) if isinstance(place, list) else ""


def _delay(details: JsonValue) -> float | None:
    for entry in details if isinstance(details, list) else ():
        if found := _SECONDS.fullmatch(_text(_object(entry).get("retryDelay"))):
            return float(found[1])
    return None


def _object(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _text(said: JsonValue) -> str:
    if said is None:
        return ""
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)


def failure_of(
    provider: Provider,
    problem: Problem,
    status: int | None = None,
    retry_after_s: float | None = None,
    *,
    request_id: str = "",
    too_large: bool = False,
) -> ModelError:
    """Return the error that a provider's refusal amounts to.

    Args:
        provider: Who was asked; its secrets are taken out of what it said.
        problem: What it said.
        status: Of an HTTP answer that is no success; None for an error inside a stream.
        retry_after_s: What its headers said about when to ask again.
        request_id: What it calls the request.
        too_large: The request is larger than the model's window, as far as we can tell.
    """
    codes = ", ".join(sorted(problem.codes))
    how = f"answered {status}" if status else "ended its answer with an error"
    said = shown(provider, problem.message) or "without a word"
    text = f"{provider.name} {how}: {said}" + (f" ({shown(provider, codes)})" if codes else "")
    fault = fault_of(problem, status, too_large=too_large)
    if fault is Fault.AUTH:
        text += f"; look at api_key in [providers.{provider.name}]"
    after = problem.retry_after_s if retry_after_s is None else retry_after_s
    return _KINDS[fault](text, fault=fault, retry_after_s=after, status=status, request_id=request_id)


_KINDS: Final[dict[Fault, type[ModelError]]] = {
    **dict.fromkeys(Fault, ModelRefusedError),
    **dict.fromkeys(TRANSIENT, ModelUnavailableError),
    Fault.OVERFLOW: ContextOverflowError,
}


def fault_of(problem: Problem, status: int | None = None, *, too_large: bool = False) -> Fault:
    """Return the class of a refusal; arguments as of `failure_of`."""
    code = status or problem.status
    if problem.codes & _SPENT:
        return Fault.SPENT
    by_code = _by_code(problem.codes)
    if _is_overflow(problem, code, by_code, is_answer=status is not None):
        return Fault.OVERFLOW
    if code is None or code < 300:
        return by_code or Fault.SERVER  # Nobody knows what it was: it may pass.
    by_status = _by_status(code)
    if by_status is Fault.INVALID and too_large and code in REFUSES_A_PART and not problem.param:
        return Fault.OVERFLOW
    is_finer = by_status in TRANSIENT and by_code in TRANSIENT and by_code is not Fault.SERVER
    return by_code if by_code and is_finer else by_status


def _is_overflow(problem: Problem, code: int | None, by_code: Fault | None, *, is_answer: bool) -> bool:
    if code in _NO_OVERFLOW:
        return False
    if problem.codes & OVERFLOW_CODES or code == 413:
        return True
    if by_code is Fault.RATE_LIMITED:
        return False
    if problem.is_opaque:
        # Some gateways cut the text off: a request too large is what they mean by it.
        return is_answer and code in REFUSES_A_PART
    return reads_as_overflow(problem.message)


def _by_status(code: int) -> Fault:
    if code < 400:
        return Fault.NOT_FOUND  # It has moved, and we follow nobody.
    return _BY_STATUS.get(code) or (Fault.SERVER if code >= 500 else Fault.INVALID)


def _by_code(codes: frozenset[str]) -> Fault | None:
    every = " ".join(codes)
    return next((fault for pattern, fault in _BY_CODE if pattern.search(every)), None)
