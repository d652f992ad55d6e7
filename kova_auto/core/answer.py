"""Read an answer out of the replies of an attempt: what was cut off or paused goes on in the next."""

from __future__ import annotations

from kova_auto.core.event import ModelReplied
from kova_auto.core.run import RunState
from kova_auto.core.stop_reason import StopReason

UNFINISHED = (StopReason.LENGTH, StopReason.PAUSED)


def is_silent(reply: ModelReplied) -> bool:
    """Say whether a reply ends its turn without a word."""
    return not reply.calls and not reply.reply.text.strip() and reply.reply.stop is StopReason.END


def goes_on(replies: tuple[ModelReplied, ...]) -> bool:
    """Say whether what comes next belongs to the reply before: that was cut off, or paused, with something said."""
    return bool(answer_of(replies).strip()) and replies[-1].reply.stop in UNFINISHED and not replies[-1].calls


def answer_of(replies: tuple[ModelReplied, ...]) -> str:
    """Return the text of the last reply, with what it went on with after having been cut off or paused."""
    parts: list[str] = []
    for reply in reversed(replies):
        if parts and (reply.calls or reply.reply.stop not in UNFINISHED):
            break
        parts.append(reply.reply.text)
    return "".join(reversed(parts))


def last_text(state: RunState) -> str:
    """Return the last text that this attempt's model wrote, empty if it wrote none."""
    replies = state.replies[state.first_reply :]
    texts = (answer_of(replies[:end]) for end in range(len(replies), 0, -1))
    return next((text for text in texts if text.strip()), "")
