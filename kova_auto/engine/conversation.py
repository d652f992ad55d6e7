"""The messages and the request that a run's facts amount to; pure, and the same on every worker."""

from __future__ import annotations

from collections.abc import Iterator

from kova_auto.core.errors import IllegalEventError
from kova_auto.core.ids import BlobHash, blob_hash
from kova_auto.core.message import (
    AssistantMessage,
    ImagePart,
    Message,
    ModelRequest,
    Part,
    ToolMessage,
    UserMessage,
)
from kova_auto.core.run import RunState


def conversation(state: RunState) -> tuple[Message, ...]:
    """Return what has been said in this attempt: each reply, then one result for each of its calls, in its order."""
    if state.context is None:
        return ()
    return (UserMessage(parts=state.context.prompt), *_exchanges(state))


def _exchanges(state: RunState) -> Iterator[Message]:
    for reply in state.replies[state.first_reply :]:
        yield AssistantMessage(text=reply.reply.text, calls=reply.calls, raw=reply.reply.raw)
        for call in reply.calls:
            if result := state.calls[call.id].result:
                yield ToolMessage(call=call, status=result.status, parts=result.parts)


def images_of(messages: tuple[Message, ...]) -> frozenset[BlobHash]:
    """Return the image blobs that the messages point to."""
    parts: list[Part] = []
    for message in messages:
        if not isinstance(message, AssistantMessage):
            parts.extend(message.parts)
    return frozenset(part.blob for part in parts if isinstance(part, ImagePart))


def request_of(state: RunState, images: dict[BlobHash, bytes]) -> ModelRequest:
    """Return the request for the next reply.

    Raises:
        IllegalEventError: The context is not assembled yet.
    """
    if state.context is None:
        msg = f"run {state.run_id} has no context yet"
        raise IllegalEventError(msg)
    _, _, model = state.request.model.partition("/")
    return ModelRequest(
        model=model,
        system=state.context.system,
        messages=conversation(state),
        tools=state.context.tools,
        images=images,
    )


def request_hash(request: ModelRequest) -> str:
    """Return what tells two requests apart, images by their hashes only."""
    return blob_hash(request.model_dump_json(exclude={"images"}).encode())
