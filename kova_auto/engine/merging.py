"""Let several generators of entries go on at the same time, and be one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace

from kova_auto.engine.ending import ended
from kova_auto.engine.entry import Entries, Entry

Begun = tuple[Entry, Entries]
"""What announces that a generator begins, and the generator: it goes on from there once that is written."""


def _nothing(entries: Sequence[Entry]) -> Sequence[Begun]:
    del entries
    return ()


async def merged(
    generators: Sequence[Entries], then: Callable[[Sequence[Entry]], Sequence[Begun]] = _nothing
) -> Entries:
    """Yield what comes of several generators as it comes; what is there at one moment is one entry.

    Each goes on only once what it announces is written. One that fails keeps none of the others from its end: the first
    failure is raised when all have come to theirs. None is at work any more when this is closed.

    Args:
        generators: That begin at once.
        then: Returns what begins where these entries came; it is not asked any more once one has failed.
    """
    news = asyncio.Event()
    strands = [_Strand(entries, news) for entries in generators]
    try:
        while any(strand.may_bring for strand in strands):
            await news.wait()
            news.clear()
            heard, has_failed = (
                [strand for strand in strands if strand.entry],
                any(strand.failure for strand in strands),
            )
            if entries := [entry for strand in heard for entry in strand.take()]:
                begun = () if has_failed else then(entries)
                goes_on = has_failed or bool(begun) or any(strand.may_bring for strand in strands)
                yield _as_one(entries, [entry for entry, _ in begun], more=goes_on)
                strands += [_Strand(generator, news) for _, generator in begun]
            for strand in heard:
                strand.written.set()
    finally:
        await ended(strand.task for strand in strands)
    for strand in strands:
        if strand.failure:
            raise strand.failure


def _as_one(entries: Sequence[Entry], begins: Sequence[Entry], *, more: bool) -> Entry:
    """Return several entries as one; those that may wait come first, so that all are written together."""
    first, *others = sorted(entries, key=lambda entry: not entry.waits)
    return replace(first, also=(*others, *begins), more=more)


class _Strand:
    """Follow one of the generators.

    Attributes:
        entry: What it announces and waits for, or what it has ended with, until that is taken.
        written: What it announced is in the journal, or waits for the next.
        task: Ends with the generator.
    """

    __slots__ = ("_entries", "_news", "entry", "task", "written")

    def __init__(self, entries: Entries, news: asyncio.Event) -> None:
        """Begin; `news` is set whenever there is something."""
        self._entries, self._news = entries, news
        self.entry: Entry | None = None
        self.written = asyncio.Event()
        self.task = asyncio.get_running_loop().create_task(self._follow())
        self.task.add_done_callback(lambda _: news.set())

    @property
    def may_bring(self) -> bool:
        """Say whether there is something to be taken, or may be yet."""
        return self.entry is not None or not self.task.done()

    @property
    def failure(self) -> BaseException | None:
        """Return what it failed with, where it did."""
        return self.task.exception() if self.task.done() and not self.task.cancelled() else None

    def take(self) -> Iterator[Entry]:
        """Yield what there is to be taken, if anything."""
        entry, self.entry = self.entry, None
        return iter((entry,) if entry else ())

    async def _follow(self) -> None:
        last: Entry | None = None
        async with aclosing(self._entries) as entries:
            async for entry in entries:
                if not entry.announces:
                    last = entry
                    break
                self.entry = entry
                self.written.clear()
                self._news.set()
                await self.written.wait()
        self.entry = last  # Whoever sees it finds this task done.
