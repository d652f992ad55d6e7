"""A model on loopback that answers at once: first a call of `read`, then a sentence, in whichever protocol is asked.

    python -m tests.benchmarks.peers.mock_model

Prints its port. Replies come in pieces as providers send them, one HTTP chunk for each event.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from itertools import count
from typing import Any

Data = dict[str, Any]
ARGUMENTS = json.dumps({"file_path": "notes.txt"})
WORDS = ["The", "file", "says", "hello.", "That", "is", "all", "there", "is", "to", "report."]
ANSWER = " ".join(WORDS)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_PIECES = [ARGUMENTS[at : at + 6] for at in range(0, len(ARGUMENTS), 6)]
_NUMBERS = count(1)


def chat(*, calls: bool) -> Iterator[Data]:
    """Yield the chunks of a Chat Completions stream."""
    number = next(_NUMBERS)

    def chunk(delta: Data, finish: str | None = None) -> Data:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}

    def call(more: Data) -> Data:
        return chunk({"tool_calls": [{"index": 0, **more}]})

    yield chunk({"role": "assistant", "content": None if calls else ""})
    if calls:
        yield call({"id": f"call_{number}", "type": "function", "function": {"name": "read", "arguments": ""}})
        yield from (call({"function": {"arguments": piece}}) for piece in _PIECES)
    else:
        yield from (chunk({"content": f"{word} "}) for word in WORDS)
    yield chunk({}, "tool_calls" if calls else "stop")
    usage = {"prompt_tokens": 50, "completion_tokens": 12, "total_tokens": 62}
    yield {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "model": "m", "choices": [], "usage": usage}


def messages(*, calls: bool) -> Iterator[Data]:
    """Yield the events of an Anthropic Messages stream."""
    number = next(_NUMBERS)
    kind, key = ("input_json_delta", "partial_json") if calls else ("text_delta", "text")
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {}} if calls else {"type": "text"}
    usage = {"input_tokens": 50, "output_tokens": 1}
    head = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    yield {"type": "message_start", "message": {**head, "stop_reason": None, "stop_sequence": None}}
    yield {"type": "ping"}
    yield {"type": "content_block_start", "index": 0, "content_block": block if calls else {**block, "text": ""}}
    for piece in _PIECES if calls else [f"{word} " for word in WORDS]:
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": kind, key: piece}}
    yield {"type": "content_block_stop", "index": 0}
    ending = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 12}}
    yield {"type": "message_stop"}


def responses(*, calls: bool) -> Iterator[Data]:
    """Yield the events of an OpenAI Responses stream."""
    number = next(_NUMBERS)
    part = {"type": "output_text", "text": ANSWER, "annotations": []}
    whole: Data = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": [part]}
    empty: Data = {**whole, "content": []}
    if calls:
        whole = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": "read"}
        empty, whole = {**whole, "arguments": ""}, {**whole, "arguments": ARGUMENTS}
    at = {"item_id": whole["id"], "output_index": 0}
    head: Data = {"id": f"resp_{number}", "object": "response", "model": "m", "error": None}
    yield {"type": "response.created", "response": {**head, "status": "in_progress", "output": [], "usage": None}}
    yield {"type": "response.output_item.added", "output_index": 0, "item": {**empty, "status": "in_progress"}}
    if calls:
        kind = "response.function_call_arguments"
        yield from ({"type": f"{kind}.delta", **at, "delta": piece} for piece in _PIECES)
        yield {"type": f"{kind}.done", **at, "arguments": ARGUMENTS}
    else:
        at = {**at, "content_index": 0}
        yield {"type": "response.content_part.added", **at, "part": {**part, "text": ""}}
        yield from ({"type": "response.output_text.delta", **at, "delta": f"{word} "} for word in WORDS)
        yield {"type": "response.output_text.done", **at, "text": ANSWER}
        yield {"type": "response.content_part.done", **at, "part": part}
    done = {**whole, "status": "completed"}
    usage = {"input_tokens": 50, "output_tokens": 12, "total_tokens": 62}
    yield {"type": "response.output_item.done", "output_index": 0, "item": done}
    yield {"type": "response.completed", "response": {**head, "status": "completed", "output": [done], "usage": usage}}


def frames(path: str, body: Data) -> Iterator[bytes]:
    """Yield the server-sent events that answer a request."""
    said = body.get("messages") or body.get("input") or []
    calls = not any(item.get("role") == "assistant" or item.get("type") == "function_call" for item in said)
    if path.endswith("chat/completions"):
        yield from (b"data: %b\n\n" % json.dumps(data).encode() for data in chat(calls=calls))
        yield b"data: [DONE]\n\n"
        return
    for data in (messages if path.endswith("messages") else responses)(calls=calls):
        yield b"event: %b\ndata: %b\n\n" % (data["type"].encode(), json.dumps(data).encode())


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one connection's requests until it ends."""
    try:
        while True:
            line, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in lines if line)
            body = json.loads(await reader.readexactly(int(headers["content-length"])))
            writer.write(HEAD)
            for frame in frames(line.split(" ")[1], body):
                writer.write(b"%x\r\n%b\r\n" % (len(frame), frame))
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        return
    finally:
        writer.close()


async def serve() -> None:
    """Serve until the process is ended."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=2048)
    print("ready", server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
