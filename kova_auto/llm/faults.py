"""Decide what a provider's refusal means: ask again later, never again, or with less text.

The status and the codes decide; wording only where providers agree on no code.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from kova_auto.core.errors import ContextOverflowError, ModelError, ModelRefusedError, ModelUnavailableError
from kova_auto.core.provider import Provider
from kova_auto.llm.redaction import shown

_OVERFLOW_CODES: Final = frozenset(
    {
        "context_length_exceeded",
        "context_window_exceeded",
        "model_context_window_exceeded",
        "context_exceeded",
        "exceed_context_size_error",
        "request_too_large",
    }
)
_OVERFLOW: Final = re.compile(
    r"""
    prompt\ (is\ |was\ |tokens\ )?too\ (long|large) | prompt\ exceeds
    | input\ is\ too\ long | too\ (long|large)\ for\ (the\ |this\ |requested\ )?model
    | (maximum|max)\ (context|prompt)\ length | context\ length\ is\ only | context\ (the\ )?overflow
    | (exceed|larger\ than|greater\ than|longer\ than)\w*\ .{0,60}context[\ _]?(window|length|size|limit)
    | context[\ _]?(window|length|size|limit)[\ _].{0,40}exceed
    | (input|prompt)\ (length|token\ count|tokens?)\ .{0,40}exceed | range\ of\ input\ length
    | exceed\w*\ .{0,20}(model|max)\w*[\ _]token\ limit | `?inputs`?\ tokens\ \+
    | reduce\ the\ length\ of\ the\ (messages|input|prompt) | too\ many\ (input\ |prompt\ )?tokens:
    """,
    re.IGNORECASE | re.VERBOSE,
)
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
_TRANSIENT: Final = re.compile(
    r"rate_?limit|overload|server_?error|internal|timeout|timed_out|unavailable|api_error|capacity|too_many_requests",
    re.IGNORECASE,
)
_FINAL: Final = re.compile(
    r"invalid|authentic|permission|forbidden|not_?found|unsupported|policy|content_?filter|moderation|bad_?request",
    re.IGNORECASE,
)
_RETRIED: Final = frozenset({408, 409, 421, 425, 429, 498, 499})


@dataclass(frozen=True, slots=True)
class Problem:
    """Hold what a provider said was wrong, whatever shape it said it in.

    Attributes:
        codes: Its `code` and `type`, in lower case, those that it gave.
        param: Part of the request that it complains about; empty where it names none.
        status: HTTP status, of the answer or named inside it; None where there is none.
    """

    message: str
    codes: frozenset[str] = frozenset()
    status: int | None = None
    param: str = ""


def problem_in(body: JsonValue) -> Problem | None:
    """Return the error that a JSON body holds, or None where it holds none."""
    if isinstance(body, list):
        return problem_in(body[0]) if body else None
    if not isinstance(body, dict):
        return None
    if error := body.get("error"):
        return _problem({**body, **error}) if isinstance(error, dict) else _problem({**body, "message": error})
    if body.get("object") == "error" or body.get("type") == "error" or ("detail" in body and "choices" not in body):
        return _problem(body)
    return None


def _problem(error: dict[str, JsonValue]) -> Problem:
    message = _text(error.get("message") or error.get("detail"))
    if isinstance(metadata := error.get("metadata"), dict) and metadata.get("raw"):
        message = f"{message}: {_text(metadata['raw'])}"
    named = [error.get(key) for key in ("code", "type", "status")]
    codes = frozenset(item.lower() for item in named if isinstance(item, str) and item)
    numbers = [int(item) for item in map(str, named) if item.isascii() and item.isdigit() and len(item) == 3]
    param = error.get("param")
    return Problem(message, codes, numbers[0] if numbers else None, param if isinstance(param, str) else "")


def _text(said: JsonValue) -> str:
    if said is None:
        return ""
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)


def failure_of(
    provider: Provider, problem: Problem, status: int | None = None, retry_after_s: float | None = None
) -> ModelError:
    """Return the error that a provider's refusal amounts to.

    Args:
        provider: Who was asked; its secrets are taken out of what it said.
        problem: What it said.
        status: Of an HTTP answer that is no success; None for an error inside a stream.
        retry_after_s: What it said about when to ask again.
    """
    codes = ", ".join(sorted(problem.codes))
    how = f"answered {status}" if status else "ended its answer with an error"
    said = shown(provider, problem.message) or "without a word"
    text = f"{provider.name} {how}: {said}" + (f" ({shown(provider, codes)})" if codes else "")
    code = status or problem.status
    if problem.codes & _SPENT or code == 402:
        return ModelRefusedError(text)
    if _is_overflow(problem, code, opaque=status is not None and not problem.message and not problem.codes):
        return ContextOverflowError(text)
    if _may_pass(problem, code):
        return ModelUnavailableError(text, retry_after_s=retry_after_s)
    return ModelRefusedError(text)


def _is_overflow(problem: Problem, code: int | None, *, opaque: bool) -> bool:
    if code in (401, 403, 404, 429):
        return False
    if problem.codes & _OVERFLOW_CODES or code == 413:
        return True
    if opaque:
        return code == 400  # Some gateways cut the text off: a request too large is what they mean by it.
    return bool(_OVERFLOW.search(problem.message))


def _may_pass(problem: Problem, code: int | None) -> bool:
    if code is not None and code >= 300:
        return code >= 500 or code in _RETRIED
    codes = " ".join(problem.codes)
    return bool(_TRANSIENT.search(codes)) or not _FINAL.search(codes)
