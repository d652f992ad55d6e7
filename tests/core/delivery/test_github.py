"""GitHub: the three things it can be asked for, its limits, and what its answers mean."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.delivery.format import Form, Rendered
from kova_auto.core.delivery.formats.github import FORMAT
from kova_auto.core.delivery.limits import LIMITS, Unit
from kova_auto.core.delivery.needs import NEEDS, options_of
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome, Terms, classify, next_state
from kova_auto.core.delivery.sample import sample_notice
from kova_auto.core.delivery.target import FormatName, Target
from kova_auto.core.errors import ConfigError
from kova_auto.core.ids import EndpointName
from kova_auto.core.job import Outcome
from kova_auto.core.net.http import FailureKind, HttpFailure, HttpResponse
from kova_auto.core.owed import DeliveryStatus
from tests.core.delivery.notices import A_TEST, AT, ID, RUN, a_late_job, a_report, a_trouble, an_approval, wish_of

SHA = "6dcb09b5b57875f334f61aebed695e2e4193db5e"
LIMIT = LIMITS["github"]
UNITS = Unit.CHARACTERS.size
OPTIONS: dict[str, dict[str, Any]] = {
    "repository-dispatch": {},
    "workflow-dispatch": {"workflow": "after.yml", "ref": "main"},
    "commit-status": {"sha": SHA},
}


def rendered(send: str, notice: Notice, form: Form = Form.RICH, **options: Any) -> Rendered:  # noqa: ANN401
    own = {"repository": "acme/app", "send": send, **OPTIONS[send], **options}
    return FORMAT.render(notice, wish_of(FormatName.GITHUB, form, **own))


def sent(send: str, notice: Notice, form: Form = Form.RICH, **options: Any) -> Any:  # noqa: ANN401
    return json.loads(rendered(send, notice, form, **options).body)


def test_an_event_of_a_repository_says_what_came_of_the_run() -> None:
    message = sent("repository-dispatch", a_report())

    payload = message["client_payload"]
    assert message["event_type"] == "kova-run"
    assert {key: value for key, value in payload.items() if key != "data"} == {
        "delivery_id": ID,
        "type": "kova.run.completed",
        "timestamp": "2026-12-01T07:01:00Z",
        "job": "nightly",
        "run_id": RUN,
        "outcome": "done",
    }
    assert payload["data"]["thin"]
    assert rendered("repository-dispatch", a_report()).path == "/repos/acme/app/dispatches"


def test_the_text_of_a_model_is_in_an_event_on_request_alone_and_called_untrusted() -> None:
    assert "All **well**." not in rendered("repository-dispatch", a_report()).body.decode()
    payload = sent("repository-dispatch", a_report(), detail="full")["client_payload"]

    assert payload["untrusted"]["answer"] == "All **well**."
    assert "All **well**." not in json.dumps({**payload, "untrusted": None})
    assert "untrusted" not in sent("repository-dispatch", a_report(), Form.PLAIN, detail="full")["client_payload"]


def test_a_workflow_is_started_with_the_inputs_of_the_settings() -> None:
    inputs = {"outcome": "run:outcome", "report": "untrusted:answer", "level": "low"}
    message = sent("workflow-dispatch", a_report(), inputs=inputs)

    assert message == {"ref": "main", "inputs": {"outcome": "done", "report": "All **well**.", "level": "low"}}
    assert rendered("workflow-dispatch", a_report()).path == "/repos/acme/app/actions/workflows/after.yml/dispatches"


def test_a_workflow_without_inputs_is_given_none() -> None:
    assert sent("workflow-dispatch", a_report()) == {"ref": "main", "inputs": {}}


def test_what_others_wrote_decides_neither_ref_nor_workflow_nor_the_name_of_an_input() -> None:
    evil = "refs/heads/evil"
    report = a_report(answer=evil, reason=evil, inputs={"ref": evil, evil: evil})
    message = rendered("workflow-dispatch", report, inputs={"report": "untrusted:answer"})

    assert json.loads(message.body) == {"ref": "main", "inputs": {"report": evil}}
    assert evil not in message.path


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Outcome.DONE, "success"),
        (Outcome.NOTHING_TO_REPORT, "success"),
        (Outcome.NEEDS_INPUT, "failure"),
        (Outcome.BLOCKED, "failure"),
        (Outcome.FAILED, "failure"),
        (Outcome.CONTRACT_FAILED, "failure"),
        (Outcome.TIMED_OUT, "error"),
        (Outcome.BUDGET_EXCEEDED, "error"),
        (Outcome.CANCELLED, "error"),
        (Outcome.INTERRUPTED, "error"),
    ],
)
def test_each_outcome_is_a_state_of_the_commit(outcome: Outcome, state: str) -> None:
    assert sent("commit-status", a_report(outcome=outcome))["state"] == state


def test_a_status_names_the_job_and_says_how_it_went() -> None:
    message = rendered("commit-status", a_report(reason="two tests fail", outcome=Outcome.CONTRACT_FAILED))

    assert message.path == f"/repos/acme/app/statuses/{SHA}"
    assert json.loads(message.body) == {
        "state": "failure",
        "context": "kova-auto/nightly",
        "description": "contract failed: two tests fail",
    }


def test_a_scripted_run_says_so_in_its_status() -> None:
    assert sent("commit-status", a_report(scripted=True))["description"].startswith("done (scripted): ")


def test_the_commit_may_come_from_the_runs_own_input() -> None:
    path = rendered("commit-status", a_report(inputs={"commit": f" {SHA.upper()}\n"}), sha="input:commit").path
    assert path == f"/repos/acme/app/statuses/{SHA}"


@pytest.mark.parametrize(
    "given", [{}, {"commit": ""}, {"commit": "main"}, {"commit": "../" + "a" * 40}, {"commit": "a"}]
)
def test_without_a_commit_nothing_is_sent_and_that_is_on_record(given: dict[str, str]) -> None:
    wish = wish_of(FormatName.GITHUB, repository="acme/app", send="commit-status", sha="input:commit")
    result = FORMAT.declines(a_report(inputs=given), wish)

    assert result
    assert result.outcome is AttemptOutcome.POLICY_BLOCK
    assert result.detail == "not sent: wanted the SHA of a commit in the run's input commit, found none"


@pytest.mark.parametrize(
    ("notice", "state"),
    [
        (an_approval(), "pending"),
        (an_approval(unreached="desk: 500"), "error"),
        (a_late_job(), "failure"),
        (a_late_job(what="recovered"), "success"),
        (a_trouble(), "failure"),
        (a_trouble(what="recovered"), "success"),
    ],
)
def test_other_news_has_a_state_where_it_is_asked_for(notice: Notice, state: str) -> None:
    assert sent("commit-status", notice)["state"] == state


@pytest.mark.parametrize("notice", [A_TEST, sample_notice(EndpointName("gh"), Outcome.DONE, AT)])
def test_a_test_never_turns_the_status_that_a_merge_waits_for(notice: Notice) -> None:
    assert sent("commit-status", notice, context="kova")["context"] == "kova (test)"


@pytest.mark.parametrize("length", [139, 140, 141, 400])
@pytest.mark.parametrize("glyph", ["a", "日", "👩‍👩‍👧", "e\u0301", "🇩🇪"])
def test_a_description_over_140_is_cut_between_characters(length: int, glyph: str) -> None:
    text = (glyph * length)[:length]
    description = sent("commit-status", a_report(reason=text, outcome=Outcome.FAILED))["description"]

    assert UNITS(description) <= 140
    kept = description.removeprefix("failed: ").removesuffix("…")
    assert kept.replace(glyph, "") == "" or text == kept


@pytest.mark.parametrize("send", list(OPTIONS))
def test_the_request_names_version_and_token_and_goes_below_the_address(send: str) -> None:
    message = rendered(send, a_report())
    target = Target("gh", FormatName.GITHUB, "https://github.example.org/api/v3/", token="ghp_sesame")
    sealed = FORMAT.seal(target, message, ID, AT)

    assert sealed.url == f"https://github.example.org/api/v3{message.path}"
    assert sealed.headers == (
        ("Content-Type", "application/json"),
        ("Accept", "application/vnd.github+json"),
        ("X-GitHub-Api-Version", "2022-11-28"),
        ("Authorization", "Bearer ghp_sesame"),
    )
    assert NEEDS[FormatName.GITHUB].url == "https://api.github.com"


def test_without_a_token_nothing_is_sent() -> None:
    target = Target("gh", FormatName.GITHUB, "https://api.github.com")
    with pytest.raises(ConfigError, match="wants a token"):
        FORMAT.seal(target, rendered("repository-dispatch", a_report()), ID, AT)


TEXT = st.text(max_size=50).map(lambda text: text * 2000)


@settings(max_examples=20, deadline=None)
@given(TEXT, st.sampled_from(list(Outcome)), st.sampled_from(["thin", "full"]))
def test_every_event_is_within_the_limits(text: str, outcome: Outcome, detail: str) -> None:
    message = rendered("repository-dispatch", a_report(answer=text, reason=text, outcome=outcome), detail=detail)
    payload = json.loads(message.body)["client_payload"]

    assert len(payload) <= LIMIT["client_payload keys"].most
    assert len(message.body) <= LIMIT["client_payload"].most


@settings(max_examples=20, deadline=None)
@given(TEXT, st.integers(1, 24))
def test_all_inputs_together_are_within_the_limit_and_ours_are_whole(text: str, number: int) -> None:
    inputs = {f"text_{index}": "untrusted:answer" for index in range(number)} | {"run": "run:run_id"}
    found = sent("workflow-dispatch", a_report(answer=text), inputs=inputs)["inputs"]

    assert sum(UNITS(name) + UNITS(value) for name, value in found.items()) <= LIMIT["inputs total"].most
    assert found["run"] == RUN


@settings(max_examples=20, deadline=None)
@given(TEXT, st.text(min_size=1, max_size=200).filter(str.strip))
def test_every_status_is_within_the_limits(text: str, context: str) -> None:
    status = sent("commit-status", a_report(answer=text), context=context)

    assert UNITS(status["description"]) <= LIMIT["description"].most
    assert UNITS(status["context"]) <= LIMIT["context"].most


OBJECT = b'{"id": 1}'
NOW = "Tue, 01 Dec 2026 07:01:00 GMT"
RESET = str(int(AT.timestamp()) + 900)


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (HttpResponse(204), AttemptOutcome.DELIVERED),
        (HttpResponse(201, body=OBJECT), AttemptOutcome.DELIVERED),
        (HttpResponse(200, body=b'{"workflow_run_id": 1}'), AttemptOutcome.DELIVERED),
        (HttpResponse(200, body=b"<html>Sign in</html>"), AttemptOutcome.BAD_ENDPOINT),
        (HttpResponse(202), AttemptOutcome.BAD_ENDPOINT),
        (HttpResponse(301), AttemptOutcome.REDIRECTED),
        (HttpResponse(401), AttemptOutcome.BAD_ENDPOINT),
        (HttpResponse(403), AttemptOutcome.BAD_ENDPOINT),
        (HttpResponse(404), AttemptOutcome.BAD_ENDPOINT),
        (HttpResponse(422), AttemptOutcome.BAD_PAYLOAD),
        (HttpResponse(429), AttemptOutcome.THROTTLED),
        (HttpResponse(500), AttemptOutcome.SERVER_ERROR),
    ],
)
def test_answers_mean_what_github_says(reply: HttpResponse, outcome: AttemptOutcome) -> None:
    assert classify(reply, FORMAT.judge, now=AT).outcome is outcome


@pytest.mark.parametrize(
    ("status", "headers", "body", "wait_s"),
    [
        (403, {"retry-after": "30"}, b"", 30),
        (429, {"retry-after": "30", "x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET}, b"", 30),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET, "date": NOW}, b"", 900),
        (429, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET, "date": NOW}, b"", 900),
        (403, {}, b'{"message": "You have exceeded a secondary rate limit."}', 60),
        (429, {}, b"", 60),
        (429, {"x-ratelimit-remaining": "12", "x-ratelimit-reset": RESET, "date": NOW}, b"", 60),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon", "date": NOW}, b"", 60),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1", "date": NOW}, b"", 60),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET, "date": "never"}, b"", 60),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": RESET}, b"", 60),
    ],
)
def test_a_limit_of_requests_is_waited_out(status: int, headers: dict[str, str], body: bytes, wait_s: int) -> None:
    result = classify(HttpResponse(status, tuple(headers.items()), body), FORMAT.judge, now=AT)

    assert (result.outcome, result.retry_after_s) == (AttemptOutcome.THROTTLED, wait_s)


def test_a_404_says_that_it_may_be_the_token() -> None:
    detail = classify(HttpResponse(404), FORMAT.judge, now=AT).detail
    assert detail.endswith("or the token may not see it")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("No ref found for: nope", "the repository has no such ref"),
        ('Unexpected inputs provided: ["a"]', "the workflow has no such input"),
        ("Workflow does not have 'workflow_dispatch' trigger", "not to be started by workflow_dispatch"),
        ("No commit found for SHA: 6dcb", "the repository has no such commit"),
        ("This SHA and context has reached the maximum number of statuses.", "1000 statuses of this context"),
        ("Something <b>else</b> \u202e", "it does not take this, and will not"),
    ],
)
def test_a_422_is_final_and_said_in_our_own_words(said: str, words: str) -> None:
    reply = HttpResponse(422, body=json.dumps({"message": said}).encode())
    result = classify(reply, FORMAT.judge, now=AT)
    state = next_state(ID, (), result, Terms(None), now=AT)

    assert words in state.detail
    assert (state.status, state.disable) == (DeliveryStatus.DEAD, False)
    assert "Something" not in state.detail


@pytest.mark.parametrize(("send", "status"), [("commit-status", "waiting"), ("workflow-dispatch", "unknown")])
def test_after_an_attempt_in_doubt_only_a_status_is_set_again(send: str, status: str) -> None:
    lost = classify(HttpFailure(FailureKind.LOST, written=True, detail="lost"), FORMAT.judge, now=AT)
    options = options_of(NEEDS[FormatName.GITHUB], {"send": send})

    assert next_state(ID, (), lost, Terms(FORMAT.doubts(options)), now=AT).status == status
