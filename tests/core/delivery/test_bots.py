"""The group bots of Feishu, DingTalk and WeCom: HTTP says 200 to all, a code in the body says what came of it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import pytest

from kova_auto.core.delivery.format import Form, Rendered, Wish
from kova_auto.core.delivery.limits import LIMITS
from kova_auto.core.delivery.notice import EndpointTest, RunReport
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult, Terms, classify, next_state
from kova_auto.core.delivery.payload import FORMATS, render
from kova_auto.core.delivery.signature import SigningSecret
from kova_auto.core.delivery.target import FormatName, Target
from kova_auto.core.job import Outcome
from kova_auto.core.net.http import BodyEnd, HttpResponse
from kova_auto.core.owed import DeliveryStatus

NOW = datetime(2026, 12, 1, 7, 0, 0, 250_000, tzinfo=UTC)
LATER = datetime(2026, 12, 1, 7, 10, tzinfo=UTC)
ID = "msg_abcdefghijklmnopqrstuvwxyz"
FEISHU, DINGTALK, WECOM = FormatName.FEISHU, FormatName.DINGTALK, FormatName.WECOM
BOTS = (FEISHU, DINGTALK, WECOM)
SECRET = SigningSecret(b"SEC-of-the-bot")


def judged(name: FormatName, body: object, status: int = 200, ending: BodyEnd = BodyEnd.COMPLETE) -> AttemptResult:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return classify(HttpResponse(status, (), raw, ending), FORMATS[name].judge, now=NOW)


def target(name: FormatName, url: str, *secrets: SigningSecret) -> Target:
    return Target("team", name, url, secrets)


def report(answer: str = "All **well**.", outcome: Outcome = Outcome.DONE) -> RunReport:
    return RunReport(
        run_id="nightly@20261201T070000Z",
        job="nightly",
        outcome=outcome,
        scripted=True,
        model="scripted",
        level="read-only",
        workspace="/srv/app",
        finished_at=NOW,
        answer=answer,
    )


@pytest.mark.parametrize(
    ("name", "body"),
    [
        (FEISHU, {"code": 0, "msg": "success", "data": {}}),
        (FEISHU, {"StatusCode": 0, "StatusMessage": "success"}),
        (FEISHU, {"code": 0, "StatusCode": 0}),
        (DINGTALK, {"errcode": 0, "errmsg": "ok"}),
        (WECOM, {"errcode": 0, "errmsg": "ok"}),
    ],
)
def test_nought_is_what_says_that_a_message_was_taken(name: FormatName, body: object) -> None:
    assert judged(name, body).outcome is AttemptOutcome.DELIVERED


@pytest.mark.parametrize("name", BOTS)
@pytest.mark.parametrize(
    "body",
    [
        {"errcode": 310000, "code": 19024, "StatusCode": 1},
        {"errcode": 99999, "code": 99999},
        {"errcode": "0", "code": "0"},
        {"errcode": False, "code": False},
        {"errcode": None, "code": None},
        {"ok": True},
        [],
        b"",
        b"  \n",
        b"ok",
        b"<!DOCTYPE html><title>Sign in</title>",
        b"[" * 100_000,
        b"\xff\xfe",
    ],
    ids=lambda body: str(body)[:30],
)
def test_a_good_status_alone_delivers_nothing(name: FormatName, body: object) -> None:
    for status in (200, 202, 204):
        result = judged(name, body, status)

        assert result.outcome in {AttemptOutcome.BAD_ENDPOINT, AttemptOutcome.BAD_PAYLOAD}


@pytest.mark.parametrize("body", [b"", b"<html>", {"errcode": 310000}, {"StatusCode": 1}, {"code": 19024}])
def test_what_fails_a_bot_is_no_concern_of_the_generic_format(body: object) -> None:
    assert judged(FormatName.STANDARD, body).outcome is AttemptOutcome.DELIVERED


@pytest.mark.parametrize("name", BOTS)
def test_an_answer_that_was_cut_off_leaves_it_open(name: FormatName) -> None:
    assert judged(name, b'{"errco', ending=BodyEnd.BROKEN).outcome is AttemptOutcome.AMBIGUOUS


@pytest.mark.parametrize(
    ("name", "code", "outcome", "permanent", "wait_s", "words"),
    [
        (FEISHU, 9499, AttemptOutcome.BAD_PAYLOAD, False, None, "request"),
        (FEISHU, 11232, AttemptOutcome.THROTTLED, False, 60, "minute"),
        (FEISHU, 19001, AttemptOutcome.BAD_ENDPOINT, True, None, "no bot"),
        (FEISHU, 19021, AttemptOutcome.BAD_ENDPOINT, True, None, "clock"),
        (FEISHU, 19022, AttemptOutcome.BAD_ENDPOINT, True, None, "our address"),
        (FEISHU, 19024, AttemptOutcome.BAD_ENDPOINT, True, None, "keyword"),
        (FEISHU, 19036, AttemptOutcome.BAD_PAYLOAD, False, None, "too long"),
        (DINGTALK, -1, AttemptOutcome.SERVER_ERROR, False, None, "busy"),
        (DINGTALK, 130101, AttemptOutcome.THROTTLED, False, 600, "minute"),
        (DINGTALK, 310000, AttemptOutcome.BAD_ENDPOINT, True, None, "clock"),
        (DINGTALK, 400102, AttemptOutcome.BAD_ENDPOINT, True, None, "switched off"),
        (DINGTALK, 410100, AttemptOutcome.THROTTLED, False, 600, "minute"),
        (WECOM, -1, AttemptOutcome.SERVER_ERROR, False, None, "busy"),
        (WECOM, 40058, AttemptOutcome.BAD_PAYLOAD, False, None, "argument"),
        (WECOM, 45009, AttemptOutcome.THROTTLED, False, 60, "minute"),
        (WECOM, 93000, AttemptOutcome.BAD_ENDPOINT, True, None, "key"),
    ],
)
def test_each_code_has_its_meaning(
    name: FormatName, code: int, outcome: AttemptOutcome, permanent: object, wait_s: float | None, words: str
) -> None:
    key = "code" if name is FEISHU else "errcode"
    result = judged(name, {key: code, "msg": "s3cr3t", "errmsg": "s3cr3t"})

    assert (result.outcome, result.permanent, result.retry_after_s) == (outcome, permanent, wait_s)
    assert str(code) in result.detail
    assert words in result.detail
    assert "s3cr3t" not in result.detail


def test_feishu_means_the_same_with_another_status() -> None:
    assert judged(FEISHU, {"code": 19021}, 400).permanent
    assert judged(FEISHU, b"", 502).outcome is AttemptOutcome.SERVER_ERROR


def test_a_clock_that_is_off_is_not_tried_against_again_and_again() -> None:
    result = judged(FEISHU, {"code": 19021, "msg": "sign match fail or timestamp is not within one hour"})

    state = next_state(ID, [], result, Terms(2), now=NOW)

    assert (state.status, state.disable) == (DeliveryStatus.DEAD, True)
    assert "clock" in state.detail


@pytest.mark.parametrize("wait", [5, 3600, "soon"])
def test_dingtalk_says_too_fast_in_a_second_way_and_is_left_alone_as_long(wait: object) -> None:
    body = {"status": 1111, "wait": wait, "source": "x5", "punish": "deny", "uuid": "0"}
    for status in (200, 403, 429):
        result = judged(DINGTALK, body, status)

        assert (result.outcome, result.retry_after_s) == (AttemptOutcome.THROTTLED, 600)
        state = next_state(ID, [], result, Terms(2), now=NOW)
        assert state.pause_until
        assert (state.pause_until - NOW).total_seconds() >= 600


def test_feishu_is_signed_in_the_body_with_the_seconds_of_the_attempt() -> None:
    message = render(FEISHU, EndpointTest(endpoint="team", sent_at=NOW), Wish(ID))
    seal = FORMATS[FEISHU].seal
    there = target(FEISHU, "https://open.larksuite.com/open-apis/bot/v2/hook/s3cr3t", SECRET)

    first, later = (seal(there, message, ID, now) for now in (NOW, LATER))

    body = json.loads(first.body)
    key = b"1796108400\nSEC-of-the-bot"
    assert body["timestamp"] == "1796108400"
    assert body["sign"] == base64.b64encode(hmac.new(key, b"", hashlib.sha256).digest()).decode()
    assert {**json.loads(message.body), "timestamp": body["timestamp"], "sign": body["sign"]} == body
    assert json.loads(later.body)["sign"] != body["sign"]
    assert (first.url, first.method) == (there.url, "POST")
    assert "s3cr3t" not in repr((first, there))


def test_the_published_example_of_feishus_signature_fits() -> None:
    message = Rendered(b'{"msg_type":"text"}')
    at = datetime.fromtimestamp(1599360473, UTC)

    sealed = FORMATS[FEISHU].seal(target(FEISHU, "https://open.feishu.cn/x", SigningSecret(b"demo")), message, ID, at)

    assert json.loads(sealed.body)["sign"] == "l1N0gAcBjdwBvGm1xMjOF0XSyaLRpR7tuO5dHfhAYc8="


def test_dingtalk_is_signed_in_the_address_with_the_milliseconds_of_the_attempt() -> None:
    url = "https://oapi.dingtalk.com/robot/send?access_token=s3cr3t"
    message = Rendered(b"{}")

    sealed = FORMATS[DINGTALK].seal(target(DINGTALK, url, SECRET, SigningSecret(b"older")), message, ID, NOW)

    query = parse_qs(urlsplit(sealed.url).query)
    expected = hmac.new(b"SEC-of-the-bot", b"1796108400250\nSEC-of-the-bot", hashlib.sha256).digest()
    assert query == {
        "access_token": ["s3cr3t"],
        "timestamp": ["1796108400250"],
        "sign": [base64.b64encode(expected).decode()],
    }
    assert sealed.body == message.body
    assert "+" not in urlsplit(sealed.url).query
    assert "s3cr3t" not in repr(sealed)


@pytest.mark.parametrize("name", BOTS)
def test_a_bot_without_a_secret_is_sent_what_was_rendered(name: FormatName) -> None:
    message = render(name, report(), Wish(ID))

    sealed = FORMATS[name].seal(target(name, "https://bot.example.org/hook"), message, ID, NOW)

    assert (sealed.url, sealed.body) == ("https://bot.example.org/hook", message.body)


def text_of(name: FormatName, message: Rendered) -> str:
    body = json.loads(message.body)
    if name is not FEISHU:
        kind = body["msgtype"]
        return str(body[kind].get("text") or body[kind]["content"])
    if body["msg_type"] == "text":
        return str(body["content"]["text"])
    return str(body["card"]["body"]["elements"][0]["content"])


@pytest.mark.parametrize("name", BOTS)
@pytest.mark.parametrize("form", Form)
def test_what_a_model_writes_calls_nobody(name: FormatName, form: Form) -> None:
    calls = '<at id=all></at> <at user_id="all">x</at> <@all> <@U1> @all @所有人 @13800000000 `@all` <font color="x">'

    text = text_of(name, render(name, report(calls + f"\n```\n{calls}\n```"), Wish(ID, form)))

    assert "<at" not in text
    assert "<@" not in text
    assert "@all" not in text
    assert "@所有人" not in text


@pytest.mark.parametrize("name", BOTS)
@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("answer", ["日" * 60_000, "👩\u200d👩\u200d👧" * 5000, "a*b_" * 20_000, '"\\' * 20_000, ""])
def test_a_long_answer_is_cut_and_the_command_that_shows_it_stays(name: FormatName, form: Form, answer: str) -> None:
    message = render(name, report(answer), Wish(ID, form))
    text = text_of(name, message)

    assert "kova-auto runs show nightly@20261201T070000Z" in text
    assert ("characters left out" in text) == bool(answer)
    if name is WECOM:
        kind = "markdown" if form is Form.RICH else "text"
        assert len(text.encode()) <= LIMITS[name][kind].most
    else:
        assert len(message.body) <= LIMITS[name]["body"].most


def test_a_feishu_card_has_title_colour_and_all_the_rest() -> None:
    card = json.loads(render(FEISHU, report(outcome=Outcome.FAILED), Wish(ID)).body)["card"]

    assert (card["schema"], card["header"]["template"]) == ("2.0", "red")
    assert card["header"]["title"] == {"tag": "plain_text", "content": "❌ nightly: failed"}
    assert card["body"]["elements"][0]["content"].startswith("**Model**: scripted")
    assert "All **well**." in card["body"]["elements"][0]["content"]
    assert card["body"]["elements"][0]["content"].endswith(" · msg\\_abcdefgh")


def test_a_line_end_is_one_in_dingtalk() -> None:
    text = json.loads(render(DINGTALK, report("- a\n- b\n\nc"), Wish(ID)).body)["markdown"]["text"]

    assert "• a  \n• b\n\nc" in text
    assert text.startswith("**✅ nightly: done**\n\n**Model**: scripted (scripted: no model was called)  \n**Mode**")


def test_nobody_is_called_by_dingtalks_own_means() -> None:
    for form in Form:
        assert json.loads(render(DINGTALK, report(), Wish(ID, form)).body)["at"] == {"isAtAll": False}
