"""What a request says: read within bounds, found by pointers, and given to a job as what the job declares."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from kova_auto.core.errors import ConfigError
from kova_auto.core.inbound.body import FORM, JSON, BodyError, media_type, read_body
from kova_auto.core.inbound.given import Meaning, meaning
from kova_auto.core.inbound.hook import hook_id, safe_ids
from kova_auto.core.inbound.pointer import parse_pointer, text_at, value_at
from kova_auto.core.inbound.request import Told
from kova_auto.core.inbound.schemes import scheme_of
from kova_auto.core.job import Input
from tests.core.inbound.senders import NOW, body, signed, table

PUSH: dict[str, JsonValue] = {
    "ref": "refs/heads/main",
    "action": "opened",
    "sender": {"login": "ada"},
    "commits": [{"id": 7}, {"id": 8}],
    "a/b": {"m~n": 1},
    "draft": True,
    "score": 1.5,
    "nothing": None,
}


def told(source: str, payload: object, *, now: float = NOW, msg_id: str = "id-1") -> Told:
    """Return what a request of a source tells."""
    request = signed(source, body(payload), msg_id=msg_id)
    return scheme_of(table(source)).read(request, json.loads(request.body), now)


def means(payload: JsonValue, inputs: dict[str, object], **hook: object) -> Meaning:
    """Return what a payload of GitHub means."""
    declared = {name: Input.model_validate(fields) for name, fields in inputs.items()}
    return meaning(table("github", **hook), declared, told("github", payload), payload)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b'{"a": 1, "a": 2}',
        b'{"a": {"b": 1, "b": 1}}',
        b"NaN",
        b'{"a": Infinity}',
        b"\xef\xbb\xbf{}",
        b'"\xff"',
    ],
)
def test_a_body_that_is_not_plainly_json_is_refused(text: bytes) -> None:
    with pytest.raises(BodyError):
        read_body(text, JSON, None)


@pytest.mark.parametrize(("open_", "close"), [(b"[", b"]"), (b'{"a":', b"1}")])
def test_a_body_that_is_nested_ten_thousand_levels_deep_is_refused(open_: bytes, close: bytes) -> None:
    with pytest.raises(BodyError, match="64 levels"):
        read_body(open_ * 10_000 + close * 10_000, JSON, None)


def test_a_body_may_be_nested_as_deep_as_any_sender_does() -> None:
    text = b"[" * 60 + b"]" * 60
    assert read_body(text, JSON, None) == json.loads(text)


def test_a_number_of_too_many_digits_is_refused() -> None:
    with pytest.raises(BodyError):
        read_body(b"1" * 10_000, JSON, None)


def test_a_form_is_its_fields_or_the_json_in_one_of_them() -> None:
    assert read_body(b"command=%2Fgo&text=a+b", FORM, "") == {"command": "/go", "text": "a b"}
    assert read_body(b"payload=%7B%22a%22%3A1%7D", FORM, "payload") == {"a": 1}
    assert read_body(b"payload=%7B%22a%22%3A1%7D", FORM, "") == {"a": 1}


@pytest.mark.parametrize(
    "text", [b"a=1&a=2", b"nothing", b"a=%ff", b"&".join(b"a%d=1" % n for n in range(300)), b"\xff=1"]
)
def test_a_form_that_is_none_is_refused(text: bytes) -> None:
    with pytest.raises(BodyError):
        read_body(text, FORM, "")


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        (b"application/json", JSON),
        (b"Application/JSON; charset=utf-8", JSON),
        (b"application/cloudevents+json", JSON),
        (b"text/plain", "text/plain"),
        (b"text/x+json", "text/x+json"),
        (b"", ""),
    ],
)
def test_a_media_type_is_told(header: bytes, kind: str) -> None:
    assert media_type(header) == kind


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/ref", "refs/heads/main"),
        ("/commits/1/id", 8),
        ("/a~1b/m~0n", 1),
        ("/commits/2/id", None),
        ("/commits/-1", None),
        ("/commits/01", None),
        ("/ref/x", None),
        ("/", None),
    ],
)
def test_a_pointer_leads_to_a_value(pointer: str, value: JsonValue) -> None:
    assert value_at(PUSH, parse_pointer(pointer)) == value


@pytest.mark.parametrize("pointer", ["", "ref", "/a~", "/a~2", "/" + "x" * 600])
def test_what_is_no_pointer_is_refused(pointer: str) -> None:
    with pytest.raises(ConfigError):
        parse_pointer(pointer)


def test_text_is_text_or_a_whole_number() -> None:
    assert [text_at(PUSH, *way) for way in (("ref",), ("commits", "0", "id"), ("draft",), ("sender",))] == [
        "refs/heads/main",
        "7",
        "",
        "",
    ]


def test_declared_fields_are_given_and_nothing_else() -> None:
    inputs = {"ref": {}, "number": {"type": "int"}, "draft": {"one_of": ["true", "false"]}, "score": {}, "who": {}}
    places = {"ref": "/ref", "number": "/commits/0/id", "draft": "/draft", "score": "/score", "who": "/sender/login"}
    values = {"ref": "refs/heads/main", "number": "7", "draft": "true", "score": "1.5", "who": "ada"}

    assert means(PUSH, inputs, map=places) == Meaning("push.opened", "ada", values)


def test_what_is_not_there_is_left_to_its_default() -> None:
    assert means(PUSH, {"a": {"default": "x"}, "b": {"default": "y"}}, map={"a": "/nothing", "b": "/x"}).inputs == {}


@pytest.mark.parametrize(
    ("declared", "pointer", "why"),
    [
        ({}, "/x", "inputs.a: nothing is at /x, and it has no default"),
        ({}, "/nothing", "inputs.a: nothing is at /nothing, and it has no default"),
        ({}, "/sender", "inputs.a: wanted a text or a number at /sender, found an object"),
        ({}, "/commits", "inputs.a: wanted a text or a number at /commits, found a list"),
        ({"type": "int"}, "/ref", 'inputs.a: wanted a whole number, found "refs/heads/main"'),
        ({"type": "int", "max": 5}, "/commits/0/id", "inputs.a: wanted at most 5, found 7"),
        ({"one_of": ["x", "y"]}, "/ref", 'inputs.a: wanted "x" or "y", found "refs/heads/main"'),
        ({"pattern": "[a-z]+"}, "/ref", 'inputs.a: wanted what [a-z]+ matches, found "refs/heads/main"'),
        ({"pattern": ".*", "max_length": 5}, "/ref", "inputs.a: wanted at most max_length = 5 characters, found 15"),
    ],
)
def test_a_request_whose_fields_do_not_fit_is_ignored_and_says_why(
    declared: dict[str, object], pointer: str, why: str
) -> None:
    assert means(PUSH, {"a": declared}, map={"a": pointer}) == Meaning("push.opened", "ada", {}, why)


def test_free_text_is_cut_and_cleaned() -> None:
    payload: JsonValue = {"title": "a\x1b[31mb\x00c\u202ed\ud800e" + "f" * 300}
    found = means(payload, {"a": {"max_length": 20}}, map={"a": "/title"}).inputs["a"]

    assert found == "abcd\ufffde" + "f" * 13 + "…"


@pytest.mark.parametrize(
    ("hook", "ignored"),
    [
        ({"events": ["push"]}, ""),
        ({"events": ["push.opened"]}, ""),
        ({"events": ["push.closed", "issues"]}, "event 'push.opened' is not in schedule.webhook.events"),
        ({"actors": ["ada"]}, ""),
        ({"actors": ["Ada", "bob"]}, "actor 'ada' is not in schedule.webhook.actors"),
        ({"actors": ["bob"], "actor": "/nobody"}, "actor (not said) is not in schedule.webhook.actors"),
        ({"events": ["7"], "event": "/commits/0/id"}, ""),
        ({"events": ["push"], "event": "/ref"}, "event 'refs/heads/main' is not in schedule.webhook.events"),
    ],
)
def test_only_what_is_listed_starts_a_job(hook: dict[str, object], ignored: str) -> None:
    assert means(PUSH, {}, **hook).ignored == ignored


def test_each_sender_says_what_happened_and_who_did_it() -> None:
    event = {"type": "event_callback", "event_id": "Ev1", "event": {"type": "app_mention", "user": "U1"}}
    command = {"command": "/go", "user_id": "U2", "trigger_id": "1.2"}
    button = {"type": "block_actions", "user": {"id": "U3"}, "trigger_id": "3.4"}
    merge = {"object_kind": "merge_request", "object_attributes": {"action": "open"}, "user": {"username": "eve"}}
    found = [
        told("github", PUSH),
        told("slack", event),
        told("slack", command),
        told("slack", button),
        told("standard", {"type": "invoice.paid"}),
        told("stripe", {"id": "evt_1", "type": "charge.failed"}),
        told("gitlab", merge),
        told("token", {"any": "thing"}),
    ]
    assert [(one.ids[0], one.event, one.whole, one.actor) for one in found[:-1]] == [
        ("id-1", "push", "push.opened", "ada"),
        ("Ev1", "app_mention", "", "U1"),
        ("1.2", "/go", "", "U2"),
        ("3.4", "block_actions", "", "U3"),
        ("id-1", "invoice.paid", "", ""),
        ("evt_1", "charge.failed", "", ""),
        ("id-1", "merge_request", "merge_request.open", "eve"),
    ]
    assert (found[-1].ids, found[-1].event) == (("id-1",), "")


def test_who_only_tries_a_hook_out_is_greeted() -> None:
    ping = scheme_of(table("github")).read(signed("github", b"{}", event="ping"), {}, NOW)
    challenge = told("slack", {"type": "url_verification", "challenge": "x" * 2000})

    assert ping.greeting == {"status": "pong"}
    assert challenge.greeting == {"challenge": "x" * 1000}


def test_stripe_may_count_who_else_waits_for_an_event() -> None:
    first, again = ({"id": "evt_1", "pending_webhooks": number, "a": 1} for number in (2, 1))
    other = {"id": "evt_1", "pending_webhooks": 2, "a": 2}

    assert told("stripe", first).digest == told("stripe", again).digest != told("stripe", other).digest


def test_a_body_without_an_id_is_known_again_for_five_minutes_at_least() -> None:
    scheme, request = scheme_of(table("token")), signed("token", b"{}")
    bare = type(request)(request.headers[:1], request.body)
    first = scheme.read(bare, {}, 599.9).ids[0]

    assert [first in scheme.read(bare, {}, at).ids for at in (599.92, 600.0, 899.9, 900.0)] == [True, True, True, False]


def test_ids_that_could_do_harm_are_told_by_their_hash() -> None:
    odd = safe_ids(["plain-1", "x" * 201, "a b", "\ud800", ""])
    assert odd[0] == "plain-1"
    assert all(one.startswith("hash-") and len(one) == 69 for one in odd[1:])
    assert len(set(odd)) == 5


def test_our_id_is_of_job_source_and_theirs() -> None:
    ids = {
        hook_id(*parts)
        for parts in (("a", "github", "1"), ("b", "github", "1"), ("a", "slack", "1"), ("a", "github", "2"))
    }
    assert len(ids) == 4
    assert {(one[:5], len(one)) for one in ids} == {("hook_", 31)}
