"""How requests were put into a provider's words: with it, what was sent can be written again, byte for byte.

Our own form of a request follows from a run's facts. What a provider is sent depends besides on its settings, and on
what it turned out to refuse: that is on record here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field

from kova_auto.core.ids import BlobHash
from kova_auto.core.value import Json, Value


class Conceded(Value):
    """Hold what a provider refused, and requests were made without from then on; as it said so.

    Attributes:
        codes: Sorted.
    """

    message: str = ""
    codes: tuple[str, ...] = ()
    param: str = ""


class Wording(Value):
    """Hold everything besides a request that decides about its body.

    Attributes:
        program: The version of this program that wrote it.
        dialect: How the provider differs from its protocol's text.
        extra_body: What the settings add to each body.
        conceded: In the order in which it was left out.
    """

    program: str
    protocol: str
    dialect: dict[str, Json] = Field(default_factory=dict)
    extra_body: dict[str, Json] = Field(default_factory=dict)
    conceded: tuple[Conceded, ...] = ()


class Sent(Value):
    """Say which bytes a provider was sent.

    Attributes:
        hash: Of the body.
        size: Of the body, bytes.
        wording: None where it is that of the body before, in this run and to this model.
    """

    hash: BlobHash
    size: int
    wording: Wording | None = None


def said_once(sent: Sequence[Sent], known: Wording | None) -> tuple[Sent, ...]:
    """Return what was sent, each wording left out that is the one before.

    Args:
        sent: In its order, each with its wording.
        known: The wording of what was sent before.
    """
    told = list[Sent]()
    for body in sent:
        told.append(body.but(wording=None) if body.wording == known else body)
        known = body.wording
    return tuple(told)


def newest(known: Mapping[str, Wording], model: str, sent: Sequence[Sent]) -> Mapping[str, Wording]:
    """Return the wordings by model, after what was sent to one."""
    found = next((body.wording for body in reversed(sent) if body.wording), None)
    return {**known, model: found} if found else known
