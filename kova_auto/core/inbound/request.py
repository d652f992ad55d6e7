"""One request as it came: bytes, of which nothing is believed yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from pydantic import JsonValue

TOLERANCE_S: Final = 300
"""How far a timestamp may be off, both ways, inclusive."""

Headers = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True)
class Inbound:
    """Hold a request.

    Attributes:
        headers: Names in lower case, in the order in which they came, repetitions included.
        body: Exactly as it was received.
    """

    headers: Headers
    body: bytes = field(repr=False)

    def one(self, name: bytes) -> bytes:
        """Return the only value of a header; empty where there is none, or more than one: then nobody knows which."""
        values = [value for key, value in self.headers if key == name]
        return values[0] if len(values) == 1 else b""


class Problem(StrEnum):
    """Say why a request is not believed: for our log alone, whoever sent it is told nothing of it."""

    HEADERS = "a header of its signature is missing, repeated or malformed"
    TOO_OLD = "its timestamp is too old"
    TOO_NEW = "its timestamp is in the future"
    SIGNATURE = "no signature fits"


@dataclass(frozen=True, slots=True)
class Told:
    """Hold what a request that is believed says of itself.

    Attributes:
        ids: What tells it from every other; if one of them is known already, it has been here before.
        event: What happened, as the sender calls it; empty where it does not say.
        whole: The same with what exactly happened, as `issues.opened`; empty where there is no more to say.
        actor: Who did it; empty where that is not said.
        greeting: Answer to a sender who only tries us out; None for a request that means something.
        digest: Of the body: two requests of one id must not differ in it.
        by_body: The id is not signed, so that a body that has been here has been here before, whatever its id.
    """

    ids: tuple[str, ...]
    digest: str
    event: str = ""
    whole: str = ""
    actor: str = ""
    greeting: dict[str, JsonValue] | None = None
    by_body: bool = False


@dataclass(frozen=True, slots=True)
class Scheme:
    """Hold how one kind of sender proves itself and says what happened.

    Attributes:
        parse_key: Makes the key of a secret's text; raises ConfigError where it is none.
        check: Says why a request is not believed, given the keys, the request and now in seconds since 1970.
        sign: Returns the headers of a request as the sender would write them, given key, body, now, id and event.
        read: Says what a request tells, given the request, what its body holds and now; only once it is believed.
        form: Field of a form that holds the JSON; empty for a form that is the object; None where no form is sent.
    """

    parse_key: Callable[[str], bytes]
    check: Callable[[Sequence[bytes], Inbound, float], Problem | None]
    sign: Callable[[bytes, bytes, int, str, str], Headers]
    read: Callable[[Inbound, JsonValue, float], Told]
    form: str | None = None
