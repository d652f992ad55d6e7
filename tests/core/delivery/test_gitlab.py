"""GitLab: one pipeline for one outcome, its variables, and what GitLab's answers mean."""

from __future__ import annotations

from urllib.parse import parse_qs, parse_qsl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.delivery.format import Form, Rendered
from kova_auto.core.delivery.formats.gitlab import FORMAT
from kova_auto.core.delivery.limits import LIMITS
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome, Terms, classify, next_state
from kova_auto.core.delivery.target import FormatName, Target
from kova_auto.core.errors import ConfigError
from kova_auto.core.net.http import FailureKind, HttpFailure, HttpResponse
from kova_auto.core.owed import DeliveryStatus
from tests.core.delivery.notices import AT, ID, RUN, a_late_job, a_report, wish_of

MADE = HttpResponse(201, body=b'{"id": 61, "status": "pending", "web_url": "https://gitlab.com/a/b/-/pipelines/61"}')


def rendered(notice: Notice, form: Form = Form.RICH, **options: object) -> Rendered:
    given_options = {"project": "acme/tools/app", "ref": "main", **options}
    return FORMAT.render(notice, wish_of(FormatName.GITLAB, form, **given_options))  # type: ignore[arg-type]


def variables(notice: Notice, form: Form = Form.RICH, **options: object) -> dict[str, str]:
    fields = dict(parse_qsl(rendered(notice, form, **options).body.decode("ascii"), keep_blank_values=True))
    assert fields.pop("ref") == "main"
    return {name.removeprefix("variables[").removesuffix("]"): value for name, value in fields.items()}


def target(token: str = "glptt-0123456789") -> Target:
    return Target("ci", FormatName.GITLAB, "https://gitlab.example.org/", token=token)


def test_a_pipeline_is_given_what_is_ours_of_the_outcome() -> None:
    found = variables(a_report(reason="why", started_at=AT))

    assert found == {
        "KOVA_DELIVERY_ID": ID,
        "KOVA_TYPE": "kova.run.completed",
        "KOVA_TIMESTAMP": "2026-12-01T07:01:00Z",
        "KOVA_RUN_ID": RUN,
        "KOVA_JOB": "nightly",
        "KOVA_OUTCOME": "done",
        "KOVA_EXECUTION": "finished",
        "KOVA_SCRIPTED": "false",
        "KOVA_MODEL": "acme/large",
        "KOVA_MODE": "agent",
        "KOVA_LEVEL": "read-only",
        "KOVA_NOMINAL_AT": "",
        "KOVA_STARTED_AT": "2026-12-01T07:01:00Z",
        "KOVA_FINISHED_AT": "2026-12-01T07:01:00Z",
        "KOVA_DURATION_S": "0.0",
        "KOVA_ATTEMPTS": "1",
        "KOVA_ITERATIONS": "0",
        "KOVA_TOOL_CALLS": "0",
        "KOVA_TOKENS_IN": "0",
        "KOVA_TOKENS_OUT": "0",
        "KOVA_COST_USD": "",
        "KOVA_PARTIAL": "false",
        "KOVA_DENIED_COUNT": "0",
        "KOVA_CHANGES_COUNT": "0",
    }


def test_what_a_model_wrote_is_there_on_request_alone_and_called_untrusted() -> None:
    texts = {"KOVA_UNTRUSTED_ANSWER", "KOVA_UNTRUSTED_REASON"}

    assert texts & set(variables(a_report())) == set()
    full = variables(a_report(reason="why"), detail="full")
    assert {name: full[name] for name in texts} == {
        "KOVA_UNTRUSTED_ANSWER": "All **well**.",
        "KOVA_UNTRUSTED_REASON": "why",
    }


def test_own_variables_stand_beside_ours() -> None:
    own = {"DEPLOY": "no", "RESULT": "run:outcome", "COMMIT": "input:commit", "TEXT": "untrusted:answer"}
    found = variables(a_report(inputs={"commit": "abc"}), variables=own)

    assert {name: found[name] for name in own} == {
        "DEPLOY": "no",
        "RESULT": "done",
        "COMMIT": "abc",
        "TEXT": "All **well**.",
    }


def test_the_plain_form_has_our_own_variables_alone() -> None:
    found = variables(a_report(), Form.PLAIN, detail="full", variables={"DEPLOY": "no"})

    assert {name for name in found if not name.startswith("KOVA_") or "UNTRUSTED" in name} == set()


def test_the_token_is_a_field_of_the_form_and_the_project_one_piece_of_the_path() -> None:
    sealed = FORMAT.seal(target(), rendered(a_report()), ID, AT)

    assert sealed.url == "https://gitlab.example.org/api/v4/projects/acme%2Ftools%2Fapp/trigger/pipeline"
    assert sealed.headers == (("Content-Type", "application/x-www-form-urlencoded"),)
    assert parse_qs(sealed.body.decode())["token"] == ["glptt-0123456789"]
    assert b"glptt" not in rendered(a_report()).body


def test_without_a_token_nothing_is_sent() -> None:
    with pytest.raises(ConfigError, match="a pipeline trigger token"):
        FORMAT.seal(target(token=""), rendered(a_report()), ID, AT)


@settings(max_examples=20, deadline=None)
@given(st.text(max_size=60).map(lambda text: text * 400), st.booleans())
def test_every_form_is_within_the_limits(answer: str, late: bool) -> None:
    notice: Notice = a_late_job(reason=answer) if late else a_report(answer=answer, inputs={"a": answer})
    own = {f"OWN_{number}": "untrusted:answer" for number in range(50)}
    found = variables(notice, detail="full", variables={**own, "IN": "input:a"})

    assert len(found) <= LIMITS["gitlab"]["variables"].most
    assert all(len(value.encode()) <= LIMITS["gitlab"]["variable value"].most for value in found.values())


@pytest.mark.parametrize(
    ("reply", "outcome", "permanent"),
    [
        (MADE, AttemptOutcome.DELIVERED, False),
        (HttpResponse(200, body=b'{"message": "ok"}'), AttemptOutcome.AMBIGUOUS, True),
        (HttpResponse(200, body=b"<!DOCTYPE html><title>Sign in</title>"), AttemptOutcome.BAD_ENDPOINT, False),
        (HttpResponse(302), AttemptOutcome.REDIRECTED, False),
        (
            HttpResponse(400, body=b'{"message":{"base":["No stages / jobs for this pipeline."]}}'),
            AttemptOutcome.BAD_PAYLOAD,
            True,
        ),
        (HttpResponse(401), AttemptOutcome.BAD_ENDPOINT, False),
        (HttpResponse(403), AttemptOutcome.BAD_ENDPOINT, False),
        (HttpResponse(404, body=b'{"message":"404 Not Found"}'), AttemptOutcome.BAD_ENDPOINT, False),
        (HttpResponse(429, (("retry-after", "60"),)), AttemptOutcome.THROTTLED, False),
        (HttpResponse(502), AttemptOutcome.SERVER_ERROR, False),
    ],
)
def test_201_alone_is_a_pipeline(reply: HttpResponse, outcome: AttemptOutcome, permanent: object) -> None:
    result = classify(reply, FORMAT.judge, now=AT)

    assert (result.outcome, result.permanent) == (outcome, permanent)


def test_a_429_waits_as_long_as_gitlab_says() -> None:
    assert classify(HttpResponse(429, (("retry-after", "60"),)), FORMAT.judge, now=AT).retry_after_s == 60


def test_no_pipeline_for_this_ref_is_final() -> None:
    result = classify(HttpResponse(400), FORMAT.judge, now=AT)
    state = next_state(ID, (), result, Terms(FORMAT.doubts({})), now=AT)

    assert (state.status, state.disable) == (DeliveryStatus.DEAD, False)
    assert "it made no pipeline" in state.detail


def test_an_attempt_in_doubt_is_never_followed_by_a_second_pipeline() -> None:
    lost = HttpFailure(FailureKind.DEADLINE, written=True, detail="no answer in 10 s")
    state = next_state(ID, (), classify(lost, FORMAT.judge, now=AT), Terms(FORMAT.doubts({})), now=AT)

    assert state.status is DeliveryStatus.UNKNOWN


def test_what_never_left_is_tried_again() -> None:
    refused = HttpFailure(FailureKind.CONNECT, written=False, detail="refused")
    state = next_state(ID, (), classify(refused, FORMAT.judge, now=AT), Terms(FORMAT.doubts({})), now=AT)

    assert state.status is DeliveryStatus.WAITING
