"""How a request was worded is written down where it changes, and known from there on."""

from __future__ import annotations

from kova_auto.core.ids import blob_hash
from kova_auto.core.wording import Sent, Wording, newest, said_once

PLAIN = Wording(program="1", protocol="openai-chat")
BRIEF = PLAIN.model_copy(update={"extra_body": {"verbosity": "low"}})


def sent(wording: Wording | None, text: bytes = b"{}") -> Sent:
    return Sent(hash=blob_hash(text), size=len(text), wording=wording)


def test_a_wording_that_is_known_is_not_said_again() -> None:
    assert said_once([sent(PLAIN)], PLAIN) == (sent(None),)
    assert said_once([sent(PLAIN)], None) == (sent(PLAIN),)


def test_a_wording_that_changes_within_a_call_is_said_where_it_does() -> None:
    bodies = [sent(PLAIN), sent(BRIEF), sent(BRIEF), sent(PLAIN)]
    assert said_once(bodies, PLAIN) == (sent(None), sent(BRIEF), sent(None), sent(PLAIN))


def test_the_last_wording_that_was_said_is_the_models() -> None:
    assert newest({"a/b": PLAIN}, "c/d", [sent(PLAIN), sent(BRIEF), sent(None)]) == {"a/b": PLAIN, "c/d": BRIEF}
    assert newest({"a/b": PLAIN}, "a/b", [sent(None)]) == {"a/b": PLAIN}
