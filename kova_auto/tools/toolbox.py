"""The toolbox: finds the tool that a call names, and sees to it that what leaves is checked, redacted and bounded.

What is true of every tool's result is decided here, once: a wrong argument and a failing tool are answered to the
model, no configured secret leaves, and no more text than the model is to be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol, assert_never, runtime_checkable

from kova_auto.core.approval.levels import Effect, Mode, Verdict
from kova_auto.core.approval.tables import reaches
from kova_auto.core.consent import Target
from kova_auto.core.criterion import CriterionResult
from kova_auto.core.errors import ToolError, ToolFailedError
from kova_auto.core.ids import blob_hash
from kova_auto.core.message import Part, ResultStatus, TextPart, ToolCall, ToolResult, ToolSpec, told
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, ProcessAnnounced, Scene, ToolFact, ToolOutput, ToolRun, WriteAnnounced
from kova_auto.tools.arguments import arguments_of, parameters_of
from kova_auto.tools.encoding import decode
from kova_auto.tools.output import MAX_TEXT_BYTES, SHOWN_BYTES, head
from kova_auto.tools.read import blob_path
from kova_auto.tools.tool import Tool

_UNKNOWN = (
    "This call was cut off half-way: it may or may not have happened, wholly or in part. "
    "Look at what is there before you do it again."
)
_REDACTION = b"[redacted:"


@runtime_checkable
class Settles(Protocol):
    """Hold something of a run that must be given back when the run rests or ends."""

    async def settle(self, scene: Scene) -> None:
        """Give it back; safe to call twice."""


@runtime_checkable
class Chosen(Protocol):
    """Be a tool that not every run is told of."""

    def offered(self, scene: Scene) -> bool:
        """Say whether a run is."""


@runtime_checkable
class Overwrites(Protocol):
    """Be a tool that writes one file, and can say what it would write over."""

    async def targets(self, args: Any, scene: Scene) -> tuple[Target, ...]:  # noqa: ANN401  # its own arguments
        """Return what lies there now."""


class LocalToolbox:
    """Hold the tools of one service; implements `core.ports.Toolbox`."""

    def __init__(
        self,
        tools: Sequence[Tool],
        *,
        redact: Callable[[str], str],
        holds_secret: Callable[[str], bool],
        settles: Sequence[Settles] = (),
    ) -> None:
        """Take the tools, in the order in which the model is told of them.

        Args:
            tools: Each with a name of its own.
            redact: Takes secrets, and what looks like one, out of text that is shown.
            holds_secret: Says whether a text holds a configured secret; such content is never kept.
            settles: What is to be settled besides the tools that are themselves.
        """
        self._tools = {tool.name: tool for tool in tools}
        # What a tool is besides is found out here: to ask it of an instance takes as long as a hundred calls.
        self._chosen = {tool.name: tool for tool in tools if isinstance(tool, Chosen)}
        self._specs: dict[str, ToolSpec] = {}
        self._by_mode: dict[Mode, Sequence[tuple[ToolSpec, Chosen | None]]] = {}
        self._redact, self._holds_secret = redact, holds_secret
        self._settles = (*(tool for tool in tools if isinstance(tool, Settles)), *settles)

    def specs(self, scene: Scene, mode: Mode) -> tuple[ToolSpec, ...]:
        """Return the tools that the mode reaches and the run has a use for."""
        reached = self._reached(mode)
        if (granted := scene.granted) is not None:
            reached = [(spec, chosen) for spec, chosen in reached if spec.name in granted]
        return tuple([spec for spec, chosen in reached if chosen is None or chosen.offered(scene)])

    def _reached(self, mode: Mode) -> Sequence[tuple[ToolSpec, Chosen | None]]:
        """Return the tools that a mode reaches, each with what says whether a run has a use for it.

        Their schemas are made when a mode's are first told.
        """
        if mode not in self._by_mode:
            tools = [tool for tool in self._tools.values() if reaches(mode, tool.effect)]
            self._by_mode[mode] = [(self._spec(tool), self._chosen.get(tool.name)) for tool in tools]
        return self._by_mode[mode]

    def _spec(self, tool: Tool) -> ToolSpec:
        """Return what the model is told of a tool."""
        if tool.name not in self._specs:
            self._specs[tool.name] = ToolSpec(
                name=tool.name,
                description=tool.description,
                parameters=parameters_of(tool.arguments),
                polling=tool.polling,
            )
        return self._specs[tool.name]

    def replay_safe(self, tool: str) -> bool:
        """Say whether a call that was cut off may simply be made again; a tool that nobody knows may not."""
        return tool in self._tools and self._tools[tool].replay_safe

    def only_looks(self, tool: str) -> bool:
        """Say whether a call reads this machine's files and nothing else: nobody could tell that it was made."""
        return self.replay_safe(tool) and self._tools[tool].effect is Effect.READ

    async def facts(self, call: ToolCall, scene: Scene) -> CallFacts:
        """Find out what a call would touch; what is wrong with it becomes its problem."""
        tool = self._tools.get(call.tool)
        if tool is None or (scene.granted is not None and tool.name not in scene.granted):
            return CallFacts(call, None)
        try:
            return await tool.facts(call, arguments_of(tool, call), scene)
        except ToolError as exc:
            return CallFacts(call, tool.effect, problem=self._redact(str(exc)))

    async def targets(self, call: ToolCall, scene: Scene) -> tuple[Target, ...]:
        """Return what lies where a call would write; nothing where it cannot be told: the tool itself says why then."""
        tool = self._tools.get(call.tool)
        if not isinstance(tool, Overwrites):
            return ()
        try:
            return await tool.targets(arguments_of(tool, call), scene)
        except ToolError:
            return ()

    async def execute(self, call: ToolCall, verdict: Verdict, scene: Scene) -> ToolRun:
        """Do what the call asks; ends with exactly one `ToolOutput`, also where the tool fails."""
        try:
            run = self._known(call).run(arguments_of(self._known(call), call), scene, verdict)
            try:
                async for fact in run:
                    yield self._leaving(fact)
                    if isinstance(fact, ToolOutput):
                        return
            finally:
                await run.aclose()
        except ToolError as exc:
            yield self._leaving(ToolOutput(told(ResultStatus.ERROR, str(exc))))
        else:
            yield ToolOutput(told(ResultStatus.ERROR, f"{call.tool} ended without a result"))

    async def recover(self, call: CallState, scene: Scene) -> ToolResult:
        """Say what is known of a call that was cut off."""
        tool = self._tools.get(call.call.tool)
        found = await tool.recover(call, scene) if tool else None
        return self._cleaned(ToolOutput(found or told(ResultStatus.UNKNOWN, _UNKNOWN))).result

    async def settle(self, scene: Scene) -> None:
        """Give back what the run holds; safe to call twice."""
        for one in self._settles:
            await one.settle(scene)

    def _known(self, call: ToolCall) -> Tool:
        tool = self._tools.get(call.tool)
        if tool is None:
            message = f"there is no tool {call.tool!r}; there are {', '.join(self._tools)}"
            raise ToolFailedError(message)
        return tool

    def _leaving(self, fact: ToolFact) -> ToolFact:
        match fact:
            case ProcessAnnounced():
                return fact
            case WriteAnnounced():
                self._guard(fact)
                return fact
            case ToolOutput():
                return _bounded(self._cleaned(fact))
            case _:
                assert_never(fact)

    def _guard(self, write: WriteAnnounced) -> None:
        """Stop a write whose content may not be kept, or which would put a redaction's mark in a secret's place.

        Raises:
            ToolFailedError: Nothing has been written.
        """
        if any(self._holds_secret(decode(blob).readable) for blob in write.blobs):
            message = f"{write.change.path} holds a configured secret: tools do not change it; nothing was written"
            raise ToolFailedError(message)
        marks = [blob.count(_REDACTION) for blob in write.blobs]
        if marks and marks[-1] > (marks[0] if write.change.before else 0):
            message = (
                f"{write.change.path} would hold '[redacted:...]' where the file has what you were not shown; "
                "use edit on the parts that you were shown; nothing was written"
            )
            raise ToolFailedError(message)

    def _cleaned(self, output: ToolOutput) -> ToolOutput:
        """Take the secrets out of what is shown and of what was left out; images pass."""
        result, blobs = output.result, list(output.blobs)
        parts = tuple(
            part.but(text=self._redact(part.text)) if isinstance(part, TextPart) else part for part in result.parts
        )
        rest = result.rest
        for index, blob in enumerate(blobs):
            if blob_hash(blob) == result.rest:
                blobs[index] = self._redact(blob.decode(errors="replace")).encode(errors="replace")
                rest = blob_hash(blobs[index])
        judged = self._judged(result)
        return ToolOutput(result.but(parts=parts, rest=rest, judged=judged), tuple(blobs))

    def _judged(self, result: ToolResult) -> tuple[CriterionResult, ...] | None:
        """Return what criteria came to, without the secrets that a command printed."""
        if result.judged is None:
            return None
        return tuple(one.model_copy(update={"evidence": self._redact(one.evidence)}) for one in result.judged)


def _bounded(output: ToolOutput) -> ToolOutput:
    """Show no more than the model is to be shown, and say where the rest is."""
    result = output.result
    if len(result.text.encode(errors="replace")) > MAX_TEXT_BYTES:
        output = _shortened(output)
        result = output.result
    if result.rest is None:
        return output
    size = next((blob.count(b"\n") + 1 for blob in output.blobs if blob_hash(blob) == result.rest), None)
    lines = f"{size} lines" if size else "everything"
    told_how = f'[shortened; the whole output ({lines}) is kept: read it with file_path="{blob_path(result.rest)}"]'
    parts: tuple[Part, ...] = (*result.parts, TextPart(text=told_how))
    return replace(output, result=result.model_copy(update={"parts": parts}))


def _shortened(output: ToolOutput) -> ToolOutput:
    result, whole = output.result, output.result.text
    others = tuple(part for part in result.parts if not isinstance(part, TextPart))
    shown = result.model_copy(update={"parts": (TextPart(text=head(whole, SHOWN_BYTES)), *others)})
    if result.rest is not None:
        return replace(output, result=shown)
    blob = whole.encode(errors="replace")
    kept = shown.model_copy(update={"rest": blob_hash(blob)})
    return ToolOutput(kept, (*output.blobs, blob))
