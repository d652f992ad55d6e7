"""Keep an engine in a thread of its own: it is loaded there when it is first asked, and there it ends."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from pydantic import JsonValue

from kova_auto.llm.local.engine import Engine, Said

Load = Callable[[], Engine]


class EngineThread:
    """Ask one engine, one question after the other; use it in one event loop, and close it there."""

    def __init__(self, load: Load) -> None:
        """Prepare; nothing is loaded before the first question."""
        self._load = load
        self._at_work: _AtWork | None = None

    async def ask(self, question: Mapping[str, JsonValue]) -> AsyncGenerator[Said, None]:
        """Yield what the engine says; closing this makes it stop soon.

        Raises:
            ModelError: It cannot be loaded.
        """
        at_work = self._at_work = self._at_work or _AtWork(self._load)
        asked = _Asked(asyncio.get_running_loop())
        at_work.asked.add(asked)
        work = asyncio.wrap_future(at_work.thread.submit(at_work.answer, question, asked))
        work.add_done_callback(lambda _: asked.heard.put_nowait(None))
        try:
            while (said := await asked.heard.get()) is not None:
                yield said
            await work
        finally:
            asked.is_over.set()
            at_work.asked.discard(asked)
            work.cancel()

    async def aclose(self) -> None:
        """Stop what is going on and let go of the engine; safe to call twice."""
        at_work, self._at_work = self._at_work, None
        if at_work is not None:
            for asked in at_work.asked:
                asked.is_over.set()
            await asyncio.to_thread(at_work.end)


@dataclass(eq=False)
class _Asked:
    """Hold one question on its way between the loop and the thread."""

    loop: asyncio.AbstractEventLoop
    heard: asyncio.Queue[Said | None] = field(default_factory=asyncio.Queue)
    is_over: threading.Event = field(default_factory=threading.Event)

    def tell(self, said: Said) -> bool:
        """Pass on what the engine says; return True where nobody listens any more. Never raises: C calls it."""
        if not self.is_over.is_set():
            with contextlib.suppress(RuntimeError):  # The loop is closed.
                self.loop.call_soon_threadsafe(self.heard.put_nowait, said)
                return False
        return True


class _AtWork:
    """Hold the thread and its engine."""

    def __init__(self, load: Load) -> None:
        self.asked: set[_Asked] = set()
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="local-model")
        self._load = load
        self._engine: Engine | None = None

    def answer(self, question: Mapping[str, JsonValue], asked: _Asked) -> None:
        """Answer in the thread."""
        if asked.is_over.is_set():
            return
        self._engine = self._engine or self._load()
        self._engine.ask(question, asked.tell)

    def end(self) -> None:
        """Wait until the thread has ended, with nothing in it."""
        self.thread.submit(self._close)
        self.thread.shutdown()

    def _close(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None
