"""People answer from where they were told: by a link that a message holds, and by a button of a chat."""

from __future__ import annotations

import hashlib
import hmac
import html
import json
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest

from kova_auto.clock import SystemClock
from kova_auto.delivery.receiver import Receiver
from tests.e2e.scenes import WAIT_S, WRITES, Program, Scene, endpoint, receiving
from tests.e2e.test_approvals import ASKS, READY
from tests.support.ports import free_port

SIGNING = "slack-signing-secret-0123456789"
DISPATCHES = """
[[turns]]
text = "I send somebody."
[[turns.calls]]
tool = "Task"
args = { agent = "fixer", task = "Make it." }
[[turns]]
text = "He is at it."
[[turns]]
text = "It is there."
[[subagents]]
agent = "fixer"
[[subagents.turns]]
text = ""
[[subagents.turns.calls]]
tool = "write"
args = { file_path = "made.txt", content = "made" }
[[subagents.turns]]
text = "Made."
"""
SUSPENDS = '[approval]\nwhen_needed = "suspend"\nquestions = "suspend"\nnotify = ["ci"]\n'
INGRESS = """
[ingress]
listen = "127.0.0.1:{port}"

[ingress.slack]
signing_secret = {{ env = "SIGNING" }}
team = "T123"
users = ["U123"]

[endpoints.team]
format = "slack"
url = "{url}"
allow_http = true
allow_cidrs = ["127.0.0.0/8"]
"""


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


@contextmanager
def asking(scene: Scene, script: str, more: str = "") -> Iterator[tuple[Program, Receiver]]:
    """Have a service whose run waits for a person who was told."""
    with receiving() as receiver:
        scene.settings(endpoint(receiver.url) + INGRESS.format(port=free_port(), url=receiver.url))
        scene.secret()
        scene.scripted("make", script, SUSPENDS + more)
        program = scene.start("serve", SIGNING=SIGNING)
        try:
            program.says(READY)
            assert scene.run("run", "make").exit_code == 3
            yield program, receiver
        finally:
            program.signal(signal.SIGTERM)
            program.ends()


def told(receiver: Receiver, count: int = 1) -> list[dict[str, object]]:
    """Return what was received, once there is so much of it."""
    until = time.monotonic() + WAIT_S
    while len(receiver.received) < count and time.monotonic() < until:
        time.sleep(0.05)
    return [json.loads(one.body) for one in receiver.received]


def link_in(receiver: Receiver) -> str:
    (message,) = told(receiver)
    data = message["data"]
    assert isinstance(data, dict)
    return str(data["answer_url"])


def answered(scene: Scene) -> dict[str, object]:
    lines = scene.run("runs", "tail", "last", "--json").stdout.splitlines()
    facts = [json.loads(line)["event"] for line in lines]
    (found,) = [fact for fact in facts if fact["kind"] == "approval_decided"]
    assert isinstance(found, dict)
    return found


def test_a_link_about_a_call_of_a_subagent_says_so_and_lets_the_whole_family_go_on(scene: Scene) -> None:
    with asking(scene, DISPATCHES, '[agents]\nallow = ["fixer"]\n') as (service, receiver):
        (message,) = told(receiver)
        data = message["data"]
        assert isinstance(data, dict)
        assert data["run_id"] == f"{data['root']}~1.1"
        assert (data["subagent"], data["parent"]) == ("fixer", data["root"])
        page = httpx.get(str(data["answer_url"]))
        assert f"fixer, of run {data['root']}" in html.unescape(page.text)

        assert httpx.post(str(data["answer_url"]), data={"decision": "once"}).status_code == 200
        service.says(r"run make\+[^~\s]+: done")
    assert (scene.workspace / "made.txt").exists()


def test_a_link_shows_the_call_and_its_button_lets_it_run_once(scene: Scene) -> None:
    with asking(scene, WRITES) as (service, receiver):
        link = link_in(receiver)
        looks = [
            httpx.get(link),
            httpx.head(link),
            httpx.get(link, headers={"user-agent": "Slackbot-LinkExpanding 1.0"}),
        ]
        assert [page.status_code for page in looks] == [200, 200, 200]
        assert "made.txt" in looks[0].text
        assert not (scene.workspace / "made.txt").exists()  # Whoever looks has not pressed anything.

        pressed = httpx.post(link, data={"decision": "once", "note": "go on"})
        assert (pressed.status_code, "Allowed once" in pressed.text) == (200, True)
        service.says(r"run make\+\S+: done")
        again = httpx.post(link, data={"decision": "deny"})

    assert (scene.workspace / "made.txt").read_text() == "made\n"
    assert (again.status_code, "has answered" in again.text) == (409, True)
    decided = answered(scene)
    assert (decided["by"], decided["note"], decided["decision"]) == ("link sent to ci", "go on", "once")


def test_a_question_is_answered_by_its_link(scene: Scene) -> None:
    with asking(scene, ASKS) as (service, receiver):
        link = link_in(receiver)
        page = httpx.get(link)
        assert 'value="main"' in page.text
        refused = httpx.post(link, data={"decision": "once"})
        assert (refused.status_code, "wanted answers" in refused.text) == (422, True)

        assert httpx.post(link, data={"decision": "once", "choice-0": "next"}).status_code == 200
        service.says(r"run make\+\S+: done")

    assert answered(scene)["answers"] == ["next"]


FROM_OTHER_PAGES = [
    ({"origin": "https://evil.example.org"}, 403),
    ({"origin": "null"}, 403),
    ({"sec-fetch-site": "cross-site"}, 403),
    ({"content-type": "application/json"}, 400),
]


def test_an_answer_from_another_page_is_none(scene: Scene) -> None:
    with asking(scene, WRITES) as (_, receiver):
        link = link_in(receiver)
        for headers, status in FROM_OTHER_PAGES:
            form = {"content-type": "application/x-www-form-urlencoded", **headers}
            answered = httpx.post(link, content=b"decision=once", headers=form)
            assert (headers, answered.status_code) == (headers, status)
        assert httpx.put(link).status_code == 405
        assert httpx.get(link[:-3]).status_code == 404

    assert not (scene.workspace / "made.txt").exists()


def pressed(link: str, token: str, *, user: str = "U123", secret: str = SIGNING, age_s: int = 0) -> httpx.Response:
    """Press a button as Slack tells of it."""
    payload = {
        "type": "block_actions",
        "team": {"id": "T123"},
        "user": {"id": user},
        "response_url": "https://evil.example.org/reply",
        "actions": [{"action_id": "kova_allow", "value": token}],
    }
    body = urlencode({"payload": json.dumps(payload)}).encode()
    stamp = str(int(SystemClock().now().timestamp()) - age_s)
    signature = hmac.new(secret.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
    return httpx.post(
        re.sub(r"/answer/.*", "/slack/actions", link),
        content=body,
        headers={
            "content-type": "application/x-www-form-urlencoded",
            "x-slack-request-timestamp": stamp,
            "x-slack-signature": f"v0={signature}",
        },
    )


def test_a_button_of_slack_lets_a_call_run_for_who_may_press_it(scene: Scene) -> None:
    with asking(scene, WRITES, '\n[[notify]]\nendpoint = "team"\n') as (service, receiver):
        link = link_in(receiver)
        token = link.rpartition("/")[2]
        assert pressed(link, token, secret="wrong").status_code == 401
        assert pressed(link, token, age_s=301).status_code == 401
        assert (pressed(link, token, user="U999").status_code, pressed(link, "x" * 60).status_code) == (200, 200)
        assert not (scene.workspace / "made.txt").exists()

        done = pressed(link, token)
        assert (done.status_code, done.content) == (200, b"")
        service.says(r"run make\+\S+: done")

    assert "only hooks.slack.com is answered" in service.notes
    assert answered(scene)["by"] == "Slack user U123 of T123, through ci"


def test_a_message_to_slack_has_buttons(scene: Scene) -> None:
    with asking(scene, WRITES) as (_, receiver):
        scene.job("other", (scene.jobs / "make.toml").read_text().replace('notify = ["ci"]', 'notify = ["team"]'))
        scene.run("run", "other")  # This receiver believes no message that nobody signed, so that nobody is asked.
        messages = told(receiver, 2)

    chat = next(message for message in messages if "blocks" in message)
    blocks = chat["blocks"]
    assert isinstance(blocks, list)
    (actions,) = [block for block in blocks if block["type"] == "actions"]
    assert [button["action_id"] for button in actions["elements"]] == ["kova_allow", "kova_deny", "kova_open_0"]
    assert "/answer/" in actions["elements"][2]["url"]


def test_without_a_listener_a_message_holds_the_command_alone(scene: Scene) -> None:
    with receiving() as receiver:
        scene.settings(endpoint(receiver.url))
        scene.secret()
        scene.scripted("make", WRITES, SUSPENDS)
        program = scene.start("serve")
        program.says(READY)
        assert scene.run("run", "make").exit_code == 3
        (message,) = told(receiver)
        program.signal(signal.SIGTERM)
        program.ends()

    assert "answer_url" not in json.dumps(message)
