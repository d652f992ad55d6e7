"""Write again, byte for byte, what a run's providers were sent: from its facts, its images and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from kova_auto.app.control import Answers
from kova_auto.core.event import Event
from kova_auto.core.ids import BlobHash, blob_hash
from kova_auto.core.message import ModelRequest
from kova_auto.core.wording import Sent, Wording
from kova_auto.engine.conversation import images_of
from kova_auto.engine.retelling import Asked, retold, with_images
from kova_auto.llm.rewriting import rewritten


@dataclass(frozen=True, slots=True)
class Body:
    """Hold one body.

    Attributes:
        asked: The call of the model that it belongs to.
        number: Which of that call's bodies it is, from 1: a provider that refuses a part of one is sent another.
        sent: What is on record of it; None where that is nothing, as the process died before it was written down.
        data: As it can be written today; None where this version does not know how.
    """

    asked: Asked
    number: int
    sent: Sent | None
    data: bytes | None

    @property
    def is_exact(self) -> bool | None:
        """Say whether these are the bytes that were sent; None where nobody can know."""
        if self.sent is None:
            return None
        return self.data is not None and blob_hash(self.data) == self.sent.hash


async def bodies_of(answers: Answers, events: Sequence[Event]) -> AsyncIterator[Body]:
    """Yield every body that was sent, or may have been, oldest first; none of a script or a model in this process.

    Raises:
        JournalError: An image is not there any more.
    """
    images: dict[BlobHash, bytes] = {}
    for asked in retold(events):
        request = asked.request()
        for key in images_of(request.messages) - images.keys():
            images[key] = (await answers.blob(key)).data
        for body in _bodies(asked, with_images(request, images)):
            yield body


def _bodies(asked: Asked, request: ModelRequest) -> list[Body]:
    if asked.bodies:
        return [
            Body(asked, number, sent, _written(asked, sent.wording, request))
            for number, sent in enumerate(asked.bodies, start=1)
        ]
    if asked.is_lost and asked.wording:
        return [Body(asked, 1, None, _written(asked, asked.wording, request))]
    return []


def _written(asked: Asked, wording: Wording | None, request: ModelRequest) -> bytes | None:
    provider, _, _ = asked.fact.model.partition("/")
    return rewritten(provider, wording, request) if wording else None
