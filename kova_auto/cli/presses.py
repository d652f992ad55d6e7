"""Heed Ctrl-C: once asks a run to end, twice leaves it."""

from __future__ import annotations

import asyncio
import signal


class Presses:
    """Hold what a person or a supervisor asked of this process.

    Attributes:
        once: Somebody pressed Ctrl-C.
        leave: Somebody pressed it again, or the process is asked to end.
    """

    def __init__(self) -> None:
        """Begin with nothing asked."""
        self.once, self.leave = asyncio.Event(), asyncio.Event()

    def heed(self) -> None:
        """Turn signals into presses from now on, for as long as the running loop lasts."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self.press)
        loop.add_signal_handler(signal.SIGTERM, self.end)

    def press(self) -> None:
        """Take one Ctrl-C."""
        if self.once.is_set():
            self.leave.set()
        self.once.set()

    def end(self) -> None:
        """Take the wish that this process ends."""
        self.once.set()
        self.leave.set()
