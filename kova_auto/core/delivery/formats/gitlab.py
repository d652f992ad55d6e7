"""Start a pipeline of GitLab with what is told as its variables, and judge what it answers.

A pipeline is started once: a repeat would start another, so nothing is sent again after an attempt that may have
arrived.

Source: GitLab, "Pipeline trigger tokens API" and "Trigger pipelines with the API".
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final
from urllib.parse import quote, urlencode

from kova_auto.core.delivery.data import FULL
from kova_auto.core.delivery.format import Form, Format, Rendered, Sealed, Wish, posted
from kova_auto.core.delivery.formats.answer import fields_of, unfit_answer
from kova_auto.core.delivery.formats.sealing import below, token_of
from kova_auto.core.delivery.formats.trigger import bounded, declined, facts_of, untrusted_of, values_of
from kova_auto.core.delivery.limits import LIMITS
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult
from kova_auto.core.delivery.target import Target
from kova_auto.core.net.http import HttpResponse

FORM_TYPE: Final = "application/x-www-form-urlencoded"
PREFIX: Final = "KOVA_"
UNTRUSTED: Final = "KOVA_UNTRUSTED_"
_LIMITS: Final = LIMITS["gitlab"]


def render(notice: Notice, wish: Wish) -> Rendered:
    """Return the form without its token; in its plain form with our own variables alone."""
    variables = {f"{PREFIX}{name.upper()}": value for name, value in facts_of(notice, wish).items()}
    if wish.form is Form.RICH:
        if wish.text("detail") == FULL:
            texts = untrusted_of(notice)
            variables |= {f"{UNTRUSTED}{name.upper()}": value for name, value in texts.items()}
        variables |= values_of(wish.table("variables"), notice, wish)
    size, most = _LIMITS["variable value"].unit.size, _LIMITS["variable value"].most
    form = {"ref": wish.text("ref")} | {
        f"variables[{name}]": bounded(value, most, size) for name, value in variables.items()
    }
    path = f"/api/v4/projects/{quote(wish.text('project'), safe='')}/trigger/pipeline"
    return Rendered(urlencode(form).encode("ascii"), FORM_TYPE, path=path)


def seal(target: Target, message: Rendered, delivery_id: str, now: datetime) -> Sealed:
    """Return the request of one attempt; its token is a field of the form.

    Raises:
        ConfigError: There is no token.
    """
    token = urlencode({"token": token_of(target, "a pipeline trigger token of the project")})
    whole = replace(message, body=token.encode("ascii") + b"&" + message.body)
    return posted(replace(target, url=below(target.url, message.path)), whole, delivery_id, now)


def judge(reply: HttpResponse) -> AttemptResult | None:
    """Return what GitLab's answer means: 201 alone has started a pipeline."""
    match reply.status:
        case 201:
            return AttemptResult(AttemptOutcome.DELIVERED, "GitLab answered 201: the pipeline is made")
        case status if 200 <= status < 300 and fields_of(reply):
            detail = f"GitLab answered {status}, not 201: nobody knows whether it made a pipeline"
            return AttemptResult(AttemptOutcome.AMBIGUOUS, detail, permanent=True)
        case status if 200 <= status < 300:
            return unfit_answer(reply, "GitLab")
        case 400:
            detail = "GitLab answered 400: it made no pipeline; look at ref, the rules of the jobs and the variables"
            return AttemptResult(AttemptOutcome.BAD_PAYLOAD, detail, permanent=True)
        case 401 | 403:
            detail = f"GitLab answered {reply.status}: the token may not do this"
            return AttemptResult(AttemptOutcome.BAD_ENDPOINT, detail)
        case 404:
            detail = "GitLab answered 404: there is no such project, or the token is not one of its trigger tokens"
            return AttemptResult(AttemptOutcome.BAD_ENDPOINT, detail)
        case _:
            return None


FORMAT = Format(render, judge, seal, tries_in_doubt=1, declines=declined)
