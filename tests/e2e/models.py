"""A model on loopback that answers every question alike, in a thread of its own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWER = "All is well."


@dataclass
class ModelServer:
    """Hold where it listens, and whether it takes the key.

    Attributes:
        asked: How often it was asked.
        silent: So many answers come first that say nothing.
    """

    port: int = 0
    is_open: bool = True
    asked: int = 0
    silent: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def settings(self, more: str = "") -> str:
        """Return the settings of the provider that it is, each of whose answers costs 0.14 USD."""
        return (
            f'[providers.house]\nbase_url = "http://127.0.0.1:{self.port}/v1"\ndefault_model = "small"\n{more}'
            "[providers.house.models.small]\nprice = { input = 10.0, output = 20.0 }\n"
        )

    def answers(self) -> tuple[int, str, bytes]:
        """Return status, type and body of one answer."""
        with self._lock:
            self.asked += 1
            text = "" if self.asked <= self.silent else ANSWER
        if not self.is_open:
            return 401, "application/json", b'{"error": {"message": "no such key", "code": "invalid_api_key"}}'
        said = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
        ended = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        used = {"choices": [], "usage": {"prompt_tokens": 10_000, "completion_tokens": 2_000, "total_tokens": 12_000}}
        events = "".join(f"data: {json.dumps({'model': 'small', **piece})}\n\n" for piece in (said, ended, used))
        return 200, "text/event-stream", f"{events}data: [DONE]\n\n".encode()


@contextmanager
def a_model() -> Iterator[ModelServer]:
    """Give a model that answers until the block ends."""
    model = ModelServer()

    class Handler(BaseHTTPRequestHandler):
        """Answer as the model does."""

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            status, kind, body = model.answers()
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's own name
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    model.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
