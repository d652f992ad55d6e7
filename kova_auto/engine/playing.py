"""The clock of a replay, and the model that says what a recording says."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable
from datetime import datetime, timedelta

from kova_auto.core.event import ModelReplied
from kova_auto.core.message import ModelChunk, ModelRequest, ReplyDone
from kova_auto.core.recording import Line, Recording


class PlayClock:
    """Show the time of a replay: that of the recording, and on from there by what everything takes."""

    def __init__(self, start: datetime, steady_s: Callable[[], float] = lambda: 0.0) -> None:
        """Begin at an instant; `steady_s` counts what really takes time, as a live model does."""
        self._now, self._steady_s, self._seen_s = start, steady_s, steady_s()

    def now(self) -> datetime:
        """Return the present instant of the replay."""
        return self._now + timedelta(seconds=self._steady_s() - self._seen_s)

    def skip(self, seconds: float) -> None:
        """Let time go by at once."""
        self._now += timedelta(seconds=seconds)


def began_at(recording: Recording) -> datetime:
    """Return when the attempt began, or was asked for."""
    return recording.state.started_at or recording.begun.request.at


class Lines:
    """Be the model that says what the recording says."""

    def __init__(self, lines: Iterable[Line], clock: PlayClock) -> None:
        """Begin with the first line; each takes the time that it took."""
        self._left, self._clock = deque(lines), clock

    @property
    def next(self) -> Line | None:
        """Return the line that comes next; None at the end."""
        return self._left[0] if self._left else None

    def turn(self) -> Line:
        """Go on behind the line that comes next, and return it."""
        line = self._left.popleft()
        self._clock.skip(line.took_s)
        return line

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        """Yield the reply that comes next, whatever was asked."""
        del request
        answer = self.turn().answer
        if isinstance(answer, ModelReplied):
            yield ReplyDone(reply=answer.reply)
