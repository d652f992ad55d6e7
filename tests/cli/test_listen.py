"""What is shown of what the receiver on loopback took."""

from __future__ import annotations

import json

from kova_auto.cli.ink import Ink
from kova_auto.cli.listen import received_lines
from kova_auto.delivery.receiver import Received

HEADERS = {
    "content-type": "application/json",
    "webhook-id": "msg_1",
    "webhook-timestamp": "1796091072",
    "webhook-signature": "v1,abc=",
}


def lines(body: bytes, problem: str = "", **headers: str) -> list[str]:
    return list(received_lines(Received("/", {**HEADERS, **headers}, body, problem), Ink()))


def test_headers_the_signature_and_the_body_are_shown() -> None:
    assert lines(b'{"type":"kova.run.completed","data":{"outcome":"done"}}') == [
        "POST /",
        "  content-type: application/json",
        "  webhook-id: msg_1",
        "  webhook-timestamp: 1796091072",
        "  webhook-signature: v1,abc=",
        "  verified: the signature fits this id, this time and this body",
        "{",
        '  "type": "kova.run.completed",',
        '  "data": {',
        '    "outcome": "done"',
        "  }",
        "}",
    ]


def test_what_was_refused_says_why() -> None:
    assert "  refused: no signature fits" in lines(b"{}", "no signature fits")


def test_a_long_body_is_cut_and_says_so() -> None:
    shown = lines(json.dumps({"long": "x" * 1000, "many": list(range(200))}).encode())
    assert shown[-1] == "… (+125 lines)"
    assert [line[-19:] for line in shown if "long" in line] == ["… (+613 characters)"]
    assert max(map(len, shown)) < 450


def test_a_body_that_is_no_json_is_shown_as_text_that_does_no_harm() -> None:
    assert lines(b"a\x1b[2J\xff\nb")[-2:] == ["a�", "b"]
