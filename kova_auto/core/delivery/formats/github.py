"""Tell GitHub: start a workflow, or set the status of a commit; and judge what it answers.

Gitea and Forgejo take the status of a commit in the same words, at their own address.

Source: GitHub REST API 2022-11-28, "Create a repository dispatch event", "Create a workflow dispatch event", "Create a
commit status", "Rate limits for the REST API".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Final
from urllib.parse import quote

from kova_auto.core.delivery.data import FULL, THIN, Data, fitted
from kova_auto.core.delivery.document import describe
from kova_auto.core.delivery.format import Form, Format, Rendered, Sealed, Wish, encode, posted
from kova_auto.core.delivery.formats.answer import fields_of, text_of, unfit_answer
from kova_auto.core.delivery.formats.sealing import below, token_of
from kova_auto.core.delivery.formats.standard import spell_time
from kova_auto.core.delivery.formats.trigger import (
    bounded,
    declined,
    given_input,
    is_reference,
    is_test,
    values_of,
)
from kova_auto.core.delivery.limits import LIMITS, Unit
from kova_auto.core.delivery.notice import (
    ApprovalNotice,
    EndpointNotice,
    Notice,
    RunReport,
    ScheduleNotice,
)
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult
from kova_auto.core.delivery.target import OptionValue, Target
from kova_auto.core.job import Outcome
from kova_auto.core.net.http import HttpResponse

API_VERSION: Final = "2022-11-28"
_LIMITS: Final = LIMITS["github"]
_SHA: Final = re.compile(r"[0-9a-fA-F]{40}(?:[0-9a-fA-F]{24})?")
_WAIT_S: Final = 60.0  # What GitHub asks for where it names no time.


class Send(StrEnum):
    """Name what is asked of GitHub."""

    REPOSITORY = "repository-dispatch"
    WORKFLOW = "workflow-dispatch"
    STATUS = "commit-status"


def render(notice: Notice, wish: Wish) -> Rendered:
    """Return the request of the kind that the endpoint's `send` names."""
    repository = "/repos/" + quote(wish.text("repository"))
    match Send(wish.text("send")):
        case Send.REPOSITORY:
            return Rendered(_repository_dispatch(notice, wish), path=f"{repository}/dispatches")
        case Send.WORKFLOW:
            workflow = quote(wish.text("workflow"), safe="")
            path = f"{repository}/actions/workflows/{workflow}/dispatches"
            return Rendered(encode({"ref": wish.text("ref"), "inputs": {**_inputs(notice, wish)}}), path=path)
        case Send.STATUS:
            return Rendered(_commit_status(notice, wish), path=f"{repository}/statuses/{_sha(notice, wish)}")


def _repository_dispatch(notice: Notice, wish: Wish) -> bytes:
    """Return an event; what a model wrote is there only where that was asked for, and under `untrusted` alone."""
    head: Data = {"delivery_id": wish.delivery_id, "type": notice.type, "timestamp": spell_time(notice.at)}
    about = notice.model_dump(mode="json", include={"job", "run_id", "outcome"})
    own: Data = {**head, **about}

    def wrap(key: str, data: Data) -> Data:
        return {"event_type": wish.text("event_type"), "client_payload": {**own, key: data}}

    most = _LIMITS["client_payload"].most
    if wish.text("detail") == FULL and wish.form is Form.RICH:
        return fitted(notice, lambda data: wrap("untrusted", data), most, FULL)
    return fitted(notice, lambda data: wrap("data", data), most, THIN)


def _inputs(notice: Notice, wish: Wish) -> Mapping[str, str]:
    """Return the inputs of a workflow; what is not ours is cut to what the others leave."""
    table = wish.table("inputs")
    values, size = values_of(table, notice, wish), Unit.CHARACTERS.size
    long = [name for name, text in table.items() if is_reference(text)]
    left = _LIMITS["inputs total"].most - sum(size(name) + size(value) for name, value in values.items())
    if left >= 0 or not long:
        return values
    fixed = sum(size(name) + (0 if name in long else size(value)) for name, value in values.items())
    share = max(0, _LIMITS["inputs total"].most - fixed) // len(long)
    return {name: bounded(value, share, size) if name in long else value for name, value in values.items()}


def _commit_status(notice: Notice, wish: Wish) -> bytes:
    context = wish.text("context") or f"kova-auto/{getattr(notice, 'job', '')}"
    mark = " (test)" if is_test(notice) else ""  # So that no test turns a status that a merge waits for.
    size, most = Unit.CHARACTERS.size, _LIMITS["context"].most
    status: Data = {"state": _state(notice), "context": bounded(context, most - size(mark), size) + mark}
    return encode({**status, "description": bounded(_description(notice), _LIMITS["description"].most, size)})


def _state(notice: Notice) -> str:
    match notice:
        case RunReport():
            return _STATES[notice.outcome]
        case ApprovalNotice():
            return "error" if notice.unreached else "pending"
        case ScheduleNotice():
            return "failure" if notice.what == "late" else "success"
        case EndpointNotice():
            return "success" if notice.what == "recovered" else "failure"
        case _:
            return "success"


_STATES: Final = {
    Outcome.DONE: "success",
    Outcome.NOTHING_TO_REPORT: "success",
    Outcome.NEEDS_INPUT: "failure",
    Outcome.BLOCKED: "failure",
    Outcome.FAILED: "failure",
    Outcome.CONTRACT_FAILED: "failure",
    Outcome.TIMED_OUT: "error",
    Outcome.BUDGET_EXCEEDED: "error",
    Outcome.CANCELLED: "error",
    Outcome.INTERRUPTED: "error",
}


def _description(notice: Notice) -> str:
    """Return one line; GitHub shows it as text."""
    document = describe(notice)
    if not isinstance(notice, RunReport):
        return document.summary or document.title
    words = notice.outcome.replace("_", " ") + (" (scripted)" if notice.scripted else "")
    return f"{words}: {document.summary}" if document.summary else words


def _sha(notice: Notice, wish: Wish) -> str:
    """Return the commit that is meant; empty where nothing says which."""
    text = wish.text("sha")
    if not text.startswith("input:"):
        return text.lower()
    given = given_input(notice, text) or ""
    return given.strip().lower() if _SHA.fullmatch(given.strip()) else ""


def declines(notice: Notice, wish: Wish) -> AttemptResult | None:
    """Return how a notice is settled that is not sent: not for this endpoint, or about no commit."""
    if (result := declined(notice, wish)) or wish.text("send") != Send.STATUS or _sha(notice, wish):
        return result
    name = wish.text("sha").removeprefix("input:")
    hint = ": a test has no inputs, so write the SHA into the settings to try it" if is_test(notice) else ""
    detail = f"not sent: wanted the SHA of a commit in the run's input {name}, found none{hint}"
    return AttemptResult(AttemptOutcome.POLICY_BLOCK, detail)


def seal(target: Target, message: Rendered, delivery_id: str, now: datetime) -> Sealed:
    """Return the request of one attempt.

    Raises:
        ConfigError: There is no token.
    """
    token = token_of(target, "one that may write what `send` says of the repository")
    request = posted(replace(target, url=below(target.url, message.path)), message, delivery_id, now)
    ours = (
        ("Accept", "application/vnd.github+json"),
        ("X-GitHub-Api-Version", API_VERSION),
        ("Authorization", f"Bearer {token}"),
    )
    return replace(request, headers=(*request.headers, *ours))


def judge(reply: HttpResponse) -> AttemptResult | None:
    """Return what GitHub's answer means: 204 for a dispatch, 201 for a status, and 404 where it hides a refusal."""
    match reply.status:
        case 204:
            return AttemptResult(AttemptOutcome.DELIVERED, "GitHub answered 204: the event is taken")
        case 200 | 201 if fields_of(reply):
            return AttemptResult(AttemptOutcome.DELIVERED, f"GitHub answered {reply.status}: it is made")
        case status if 200 <= status < 300:
            return unfit_answer(reply, "GitHub")
        case 403 | 429 if _is_limit(reply):
            detail = f"GitHub answered {reply.status}: a limit of requests is reached"
            return AttemptResult(AttemptOutcome.THROTTLED, detail, retry_after_s=_wait_s(reply))
        case 401:
            return AttemptResult(AttemptOutcome.BAD_ENDPOINT, "GitHub answered 401: it does not know the token")
        case 403:
            return AttemptResult(AttemptOutcome.BAD_ENDPOINT, "GitHub answered 403: the token may not do this")
        case 404:
            detail = "GitHub answered 404: there is no such repository, workflow or commit, or the token may not see it"
            return AttemptResult(AttemptOutcome.BAD_ENDPOINT, detail)
        case 422:
            detail = f"GitHub answered 422: {_complaint(reply)}"
            return AttemptResult(AttemptOutcome.BAD_PAYLOAD, detail, permanent=True)
        case _:
            return None


def _is_limit(reply: HttpResponse) -> bool:
    if reply.status == 429 or reply.header("retry-after") or reply.header("x-ratelimit-remaining") == "0":
        return True
    return "rate limit" in text_of(fields_of(reply), "message").lower()


def _wait_s(reply: HttpResponse) -> float | None:
    """Return how long GitHub wants us to wait; None where `Retry-After` says it."""
    if reply.header("retry-after"):
        return None
    reset, date = reply.header("x-ratelimit-reset") or "", reply.header("date") or ""
    if reply.header("x-ratelimit-remaining") != "0" or not re.fullmatch(r"[0-9]{1,12}", reset):
        return _WAIT_S
    try:
        # By its own clock, so that ours may be wrong.
        return max(_WAIT_S, int(reset) - parsedate_to_datetime(date).timestamp())
    except (ValueError, OverflowError):
        return _WAIT_S


_COMPLAINTS: Final = (
    ("no ref found", "the repository has no such ref"),
    ("unexpected inputs", "the workflow has no such input"),
    ("required input", "the workflow wants an input that it was not given"),
    ("workflow_dispatch", "the workflow is not to be started by workflow_dispatch"),
    ("no commit found", "the repository has no such commit"),
    ("maximum number of statuses", "the commit has 1000 statuses of this context, and takes no more"),
    ("client_payload", "it does not take this payload"),
    ("event_type", "it does not take this event_type"),
)


def _complaint(reply: HttpResponse) -> str:
    """Return in our words what GitHub did not like, as far as we know its own."""
    said = text_of(fields_of(reply), "message").lower()
    return next((words for known, words in _COMPLAINTS if known in said), "it does not take this, and will not")


def _tries_in_doubt(options: Mapping[str, OptionValue]) -> int | None:
    # A status replaces the one before of its context; a workflow would be started twice.
    return None if options.get("send") == Send.STATUS else 1


FORMAT = Format(render, judge, seal, tries_in_doubt=_tries_in_doubt, declines=declines)
