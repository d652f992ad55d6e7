"""Write the body of a request again, as it was sent; pure.

Whether it is the same, its hash decides: a newer version of this program may put the same thing in other words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, get_args

from pydantic import ValidationError

from kova_auto.core.message import ModelRequest
from kova_auto.core.provider import Dialect, Provider
from kova_auto.core.wording import Wording
from kova_auto.llm.catalog import Spoken, wire_of
from kova_auto.llm.wording import body_of, problem_of, written

_NOWHERE: Final = "http://nobody.invalid"
_SPOKEN: Final[Mapping[str, Spoken]] = {protocol: protocol for protocol in get_args(Spoken)}


def rewritten(name: str, wording: Wording, request: ModelRequest) -> bytes | None:
    """Return the body with which a request was sent; None where this version does not know the words for it.

    Args:
        name: Of the provider.
        wording: As it is on record.
        request: In our own form.
    """
    protocol = _SPOKEN.get(wording.protocol)
    if protocol is None:
        return None
    try:
        dialect = Dialect.model_validate(wording.dialect)
        provider = Provider(
            name=name, protocol=protocol, base_url=_NOWHERE, dialect=dialect, extra_body=wording.extra_body
        )
    except ValidationError:
        return None
    wire = wire_of(protocol)
    body = body_of(wire, provider, request)
    for conceded in wording.conceded:
        body = wire.without(body, problem_of(conceded)) or body
    return written(body)
