"""Says what a command printed and how it ended, as the model is told."""

from __future__ import annotations

from dataclasses import dataclass

from kova_auto.core.ids import blob_hash
from kova_auto.core.message import ResultStatus, TextPart, ToolResult
from kova_auto.core.tool import ToolOutput
from kova_auto.tools.capture import Output
from kova_auto.tools.output import printable
from kova_auto.tools.process import Ended, Ending, Limits
from kova_auto.tools.sandbox.control import SET_ASIDE

SHOWN_BYTES = 16 << 10
"""What is shown of a command's output."""

_END_BYTES = SHOWN_BYTES // 2
_MAX_NAMES = 10
_BLANKS = (b"\n", b" ", b"\t")


@dataclass(frozen=True, slots=True)
class Finished:
    """Say how a command went.

    Attributes:
        set_aside: Former paths of the control files that it had added.
        refused: What the network refused it, one line each.
    """

    ended: Ended
    set_aside: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def ended_by_itself(self) -> bool:
        """Say whether nothing ended it."""
        return self.ended.ending is Ending.EXITED

    @property
    def succeeded(self) -> bool:
        """Say whether it came to its own end, with exit code 0."""
        return self.ended_by_itself and self.ended.exit_code == 0


def both_ends(output: Output) -> str:
    """Return the beginning and the end of what was printed."""
    return _clipped(output.head[:_END_BYTES], output.tail[-_END_BYTES:], output.total_bytes)


def last_part(printed: bytes, total: int) -> str:
    """Return the end of what was printed, of which the last bytes are known."""
    return _clipped(b"", printed[-SHOWN_BYTES:], total)


def _clipped(head: bytes, tail: bytes, total: int) -> str:
    if len(head) + len(tail) == total:
        return _text(head + tail)
    head, tail = head[: _last_break(head)], tail[_first_break(tail) :]
    gap = f"[... {total - len(head) - len(tail)} bytes left out ...]"
    return "\n".join(part for part in (_text(head), gap, _text(tail)) if part)


def _last_break(data: bytes) -> int:
    """Return where to cut so that no word is cut in two: half a secret would not be recognised as one."""
    found = (data.rfind(blank, len(data) // 2) for blank in _BLANKS)
    return next((at + 1 for at in found if at >= 0), len(data))


def _first_break(data: bytes) -> int:
    found = (data.find(blank, 0, len(data) // 2) for blank in _BLANKS)
    return next((at + 1 for at in found if at >= 0), 0)


def _text(data: bytes) -> str:
    return data.decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}").removesuffix("\n")


def how_it_ended(finished: Finished, limits: Limits) -> list[str]:
    """Return what is to be said about a command's end, one line each; nothing where it simply succeeded."""
    ended, lines = finished.ended, []
    match ended.ending:
        case Ending.TIMED_OUT:
            lines.append(f"[ended at its limit of {limits.timeout_s:g} s, with everything it had started]")
        case Ending.OVERFLOWED:
            lines.append(f"[ended because it printed more than {limits.spool_bytes} bytes]")
        case Ending.STOPPED:
            lines.append("[stopped]")
        case Ending.EXITED if ended.exit_code:
            lines.append(f"[exit code {ended.exit_code}]")
        case Ending.EXITED:
            pass
    if ended.exit_code is None:
        lines.append("[it did not die in time: it may still be there]")
    if ended.leftovers and ended.ending is Ending.EXITED:
        count = len(ended.leftovers)
        lines.append(
            f"[{count} process{'es' * (count > 1)} that it left behind {'were' if count > 1 else 'was'} ended]"
        )
    return [*lines, *unreached(finished.refused), *set_aside(finished.set_aside)]


def unreached(refused: tuple[str, ...]) -> list[str]:
    """Return the lines about what the network refused; none where it refused nothing."""
    return [f"[{printable(line)}]" for line in refused]


def set_aside(paths: tuple[str, ...]) -> list[str]:
    """Return the line about control files that were set aside; none where there were none."""
    if not paths:
        return []
    names = ", ".join(map(printable, paths[:_MAX_NAMES])) + (", ..." if len(paths) > _MAX_NAMES else "")
    return [f"[commands may not add control files: renamed, with {SET_ASIDE} at the end: {names}]"]


def reported(
    status: ResultStatus, text: str, notes: list[str], *, exit_code: int | None = None, whole: bytes | None = None
) -> ToolOutput:
    """Return what the model is told.

    Args:
        status: How the call ended.
        text: What is shown of what was printed.
        notes: Lines after it.
        exit_code: Of the command.
        whole: Everything that was kept, where not all of it is shown.
    """
    parts = (TextPart(text="\n".join([text or "[no output]", *notes])),)
    rest = blob_hash(whole) if whole is not None else None
    result = ToolResult(status=status, parts=parts, exit_code=exit_code, rest=rest)
    return ToolOutput(result, () if whole is None else (whole,))
