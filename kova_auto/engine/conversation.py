"""The messages and the request that a run's facts amount to; pure, and the same on every worker."""

from __future__ import annotations

from collections.abc import Iterator

from kova_auto.core.errors import IllegalEventError
from kova_auto.core.event import ModelReplied
from kova_auto.core.ids import BlobHash, blob_hash
from kova_auto.core.message import (
    AssistantMessage,
    ImagePart,
    Message,
    ModelRequest,
    Part,
    TextPart,
    ToolMessage,
    UserMessage,
)
from kova_auto.core.run import RunState
from kova_auto.core.steps import CallModel


def conversation(state: RunState) -> tuple[Message, ...]:
    """Return what has been said in this attempt: each reply, then one result for each of its calls, in its order.

    What we told the model besides stands before the reply that followed. Where older replies were folded, one text
    stands for them, and for what was said in the run that this one continues.
    """
    context = state.context
    if context is None:
        return ()
    prompt = UserMessage(parts=context.prompt)
    if not state.compactions:
        return (*context.history, prompt, *_exchanges(state))
    folded = UserMessage(parts=(TextPart(text=state.compactions[-1].summary),))
    return (prompt, folded, *_exchanges(state))


def _exchanges(state: RunState) -> Iterator[Message]:
    for reply in state.shown:
        yield from exchange(state, reply)
    yield from _aside(state, state.iteration + 1)


def exchange(state: RunState, reply: ModelReplied) -> Iterator[Message]:
    """Yield what was told before a reply, the reply, and one result for each of its calls."""
    yield from _aside(state, reply.iteration)
    yield AssistantMessage(text=reply.reply.text, calls=reply.calls, raw=reply.reply.raw)
    for call in reply.calls:
        if result := state.calls[call.id].result:
            yield ToolMessage(call=call, status=result.status, parts=result.parts)


def _aside(state: RunState, iteration: int) -> Iterator[Message]:
    if texts := state.asides.get(iteration):
        yield told_besides(texts)


def told_besides(texts: tuple[str, ...]) -> UserMessage:
    """Return what we tell the model between its replies, as a message."""
    return UserMessage(parts=tuple(TextPart(text=text) for text in texts))


def images_of(messages: tuple[Message, ...]) -> frozenset[BlobHash]:
    """Return the image blobs that the messages point to."""
    parts: list[Part] = []
    for message in messages:
        if not isinstance(message, AssistantMessage):
            parts.extend(message.parts)
    return frozenset(part.blob for part in parts if isinstance(part, ImagePart))


def request_of(
    state: RunState,
    step: CallModel,
    said: tuple[Message, ...],
    images: dict[BlobHash, bytes],
    asides: tuple[str, ...] = (),
) -> ModelRequest:
    """Return the request for the next reply.

    Args:
        state: Of the run.
        step: Says who is asked.
        said: The conversation so far.
        images: Content of the image blobs that it points to.
        asides: What is told before this reply and stands in no fact yet.

    Raises:
        IllegalEventError: The context is not assembled yet.
    """
    if state.context is None:
        msg = f"run {state.run_id} has no context yet"
        raise IllegalEventError(msg)
    _, _, model = step.model.partition("/")
    besides = (told_besides(asides),) if asides and step.iteration not in state.asides else ()
    return ModelRequest(
        model=model,
        system=state.context.system,
        messages=(*said, *besides),
        tools=state.context.tools,
        max_output_tokens=step.max_output_tokens,
        cache_key=state.job.name,
        images=images,
    )


def request_hash(request: ModelRequest) -> str:
    """Return what tells two requests apart: images by their hashes, and tools, the same in request after request."""
    said = request.model_dump_json(exclude={"images", "tools"})
    return blob_hash("\n".join([said, *[spec.digest for spec in request.tools]]).encode())
