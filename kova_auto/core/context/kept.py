"""Check what a summary has kept: objectives, decisions of people and files of the folded part that it lost are named.

Nothing here asks a model: what is on record is said as it is, in bounded space, what matters most first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kova_auto.core.approval.levels import Decision
from kova_auto.core.call_state import CallState
from kova_auto.core.context.shorten import without_middle
from kova_auto.core.goal.contract import numbered
from kova_auto.core.message import FileChange, ResultStatus, ToolCall
from kova_auto.core.repetition import canonical
from kova_auto.core.settling import NOBODY, UNREACHED
from kova_auto.core.state import RunState

MOST_RESTORED: Final = 6_000
"""Characters of all that is appended."""
MOST_READ: Final = 20
MOST_DECIDED: Final = 20
MOST_OPEN: Final = 10
MOST_PLAN: Final = 2_000
_LINE: Final = 200
_CUT: Final = "..."
_SUBJECTS: Final = ("command", "file_path", "path", "url")
_HURRIED: Final = "you were told to come to an end: begin nothing new, finish what is under way, and answer"
_OPEN: Final = {
    ResultStatus.UNKNOWN: "cut off, and it may or may not have happened",
    ResultStatus.DENIED: "refused, and not to be repeated",
}
_HOW: Final = {Decision.DENY: "refused", Decision.ONCE: "allowed", Decision.REMEMBER: "allowed for good"}


@dataclass(frozen=True, slots=True)
class OnRecord:
    """Hold something that a summary is not to lose.

    Attributes:
        text: As it is said where it was lost.
        needles: It was kept where the summary holds each of them.
        is_path: They are ways to write one path, or an id: any of them will do, and no part of a longer one.
    """

    text: str
    needles: tuple[str, ...]
    is_path: bool = False

    def is_in(self, summary: str) -> bool:
        """Say whether a text holds it; how it is spaced, and its capitals, do not count."""
        if self.is_path:
            return any(re.search(rf"(?<![\w./-]){re.escape(path)}(?![\w/-])", summary) for path in self.needles)
        said = _plain(summary)
        return all(_plain(needle) in said for needle in self.needles)


def lost(state: RunState, through: int, summary: str, most: int) -> tuple[str, ...]:
    """Return what a summary has lost of what is on record, what matters most first.

    Args:
        state: Of the run.
        through: The last iteration that is folded.
        summary: What is said of it; empty loses everything.
        most: Characters of all that is returned.
    """
    found = [one.text for one in _on_record(state, through) if not one.is_in(summary)]
    kept, left = list[str](), min(most, MOST_RESTORED)
    for number, text in enumerate(found):
        left -= len(text) + 3
        if left < 0:
            kept.append(f"and {len(found) - number} more, for which there is no room here")
            break
        kept.append(text)
    return tuple(kept)


def _on_record(state: RunState, through: int) -> Iterator[OnRecord]:
    calls = _calls(state, state.first_reply, through)
    later = _calls(state, through, state.iteration)
    if state.hurried:
        yield OnRecord(_HURRIED, ("come to an end",))
    yield from _objectives(state, later)
    yield from _decisions(calls)
    yield from _left_open(calls)
    yield from _written(state, calls)
    if state.plan and not any(call.result and call.result.plan for call in later):
        yield OnRecord(f"the plan, as you wrote it:\n{without_middle(state.plan, MOST_PLAN)}", (state.plan,))
    yield from _read(state, calls)


def _calls(state: RunState, after: int, through: int) -> list[CallState]:
    return [state.calls[call.id] for reply in state.replies[after:through] for call in reply.calls]


def _objectives(state: RunState, later: Sequence[CallState]) -> Iterator[OnRecord]:
    """Yield what is to be done, and by what it is judged, unless that was said since."""
    if not any(call.result and call.result.todo is not None for call in later):
        for item in state.todo:
            if (status := item.get("status")) != "completed" and isinstance(subject := item.get("subject"), str):
                yield OnRecord(_line(f"to do ({str(status).replace('_', ' ')}): {subject}"), (subject[:_LINE],))
    if not any(call.result and call.result.criteria is not None for call in later):
        for criterion in numbered(state.criteria or ()):
            yield OnRecord(f"by this the goal is judged: {criterion.said}", (criterion.said,))


def _decisions(calls: Sequence[CallState]) -> Iterator[OnRecord]:
    """Yield what people decided, the newest first."""
    decided = [call for call in reversed(calls) if call.decision and call.decision.by not in (NOBODY, UNREACHED)]
    for call in decided[:MOST_DECIDED]:
        if said := call.decision:
            what, note = subject_of(call.call), f": {said.note}" if said.note else ""
            text = _line(f"{said.by} {_HOW[said.decision]} {call.call.tool} {what}{note}")
            yield OnRecord(text, (said.by, what.removesuffix(_CUT)))


def _left_open(calls: Sequence[CallState]) -> Iterator[OnRecord]:
    """Yield what may still run, what may or may not have happened, and what was refused, each the newest first."""
    for call in reversed([call for call in calls if call.process and call.process.background]):
        text = f"started in the background as task {call.call.id}: {subject_of(call.call)}"
        yield OnRecord(text, (call.call.id,), is_path=True)
    for status, text in _OPEN.items():
        ended = [call for call in reversed(calls) if call.result and call.result.status is status]
        for call in [call for call in ended if status is not ResultStatus.DENIED or call.decision is None][:MOST_OPEN]:
            what = subject_of(call.call)
            yield OnRecord(f"{text}: {call.call.tool} {what}", (what.removesuffix(_CUT),))


def subject_of(call: ToolCall) -> str:
    """Return what a call is about, in few words: its command, its path, or else its arguments."""
    args = (call.args.get(name) for name in _SUBJECTS)
    found = next((value for value in args if isinstance(value, str) and value), None)
    return _line(found or canonical(call), _LINE // 2)


def _written(state: RunState, calls: Sequence[CallState]) -> Iterator[OnRecord]:
    """Yield the files that were changed, those that were changed last first."""
    changes: dict[str, list[FileChange]] = {}
    for change in (change for call in calls if call.result for change in call.result.changes):
        changes[change.path] = [*changes.pop(change.path, []), change]
    for path, made in reversed(changes.items()):
        how = "removed" if made[-1].after is None else "created" if made[0].before is None else "edited"
        yield _file(how, path, state)


def _read(state: RunState, calls: Sequence[CallState]) -> Iterator[OnRecord]:
    written = {change.path for call in calls if call.result for change in call.result.changes}
    paths = dict.fromkeys(path for call in reversed(calls) if call.result for path in call.result.reads)
    for path in [path for path in paths if path not in written][:MOST_READ]:
        yield _file("read", path, state)


def _file(how: str, path: str, state: RunState) -> OnRecord:
    short = path.removeprefix(f"{state.request.workspace.rstrip('/')}/")
    return OnRecord(_line(f"{how}: {short}", 2 * _LINE), (short, path), is_path=True)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _line(text: str, most: int = _LINE) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - len(_CUT)]}{_CUT}"
