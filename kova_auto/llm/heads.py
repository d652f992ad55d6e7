"""Read the head of an answer that is as plain as nearly all of them are; h11 reads every other one.

h11 takes a hundred calls for each answer, half of them before a byte of it has come. What is read here is what nobody
could read in two ways: one whole head, a success, a chunked body, a connection that is kept. Whatever else, or less,
has come is none of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

_NAME: Final = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_LINE: Final = _NAME + rb":[\t -~\x80-\xff]*\r\n"
_PLAIN: Final = re.compile(rb"HTTP/1\.1 200 [\t -~]*\r\n((?:" + _LINE + rb")+)\r\n")
_MOST_BYTES: Final = 16_384


class AnswerHead(NamedTuple):
    """Hold what an answer says of itself.

    Attributes:
        headers: Names in lower case; those that came several times as one, with commas.
    """

    status_code: int
    headers: dict[str, str]


def plain_head(came: bytearray) -> tuple[AnswerHead, int] | None:
    """Return the head with which these bytes begin, and how many they are; None where it is not whole, or not plain."""
    if (found := _PLAIN.match(came, 0, _MOST_BYTES)) is None:
        return None
    lines = found[1].decode("latin-1").split("\r\n")
    del lines[-1]
    headers = together((name.lower(), value.strip(" \t")) for name, _, value in (line.partition(":") for line in lines))
    is_chunked = headers.get("transfer-encoding") == "chunked" and "content-length" not in headers
    if not is_chunked or headers.get("connection", "keep-alive").lower() != "keep-alive" or "upgrade" in headers:
        return None
    return AnswerHead(200, headers), found.end()


def together(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return headers by their names."""
    found: dict[str, str] = {}
    for name, value in headers:
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found
