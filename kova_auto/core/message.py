"""What is said between the model and us, in our own words; each protocol's file translates."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field

from kova_auto.core.criterion import CriterionResult
from kova_auto.core.ids import BlobHash, CallId, RunId, blob_hash
from kova_auto.core.skill_facts import UsedSkill
from kova_auto.core.stop_reason import StopReason
from kova_auto.core.value import Json, Value
from kova_auto.core.wording import Sent


class TextPart(Value):
    """Hold text."""

    kind: Literal["text"] = "text"
    text: str


class ImagePart(Value):
    """Point to an image kept as a blob."""

    kind: Literal["image"] = "image"
    blob: BlobHash
    media_type: str


Part = Annotated[TextPart | ImagePart, Field(discriminator="kind")]


class CallRequest(Value):
    """Hold one tool call as the model asked for it.

    `unparsed` keeps the arguments' text where it is no JSON object; such a call is never executed.
    """

    tool: str
    args: dict[str, Json] = Field(default_factory=dict)
    unparsed: str | None = None
    provider_id: str = ""


class ToolCall(CallRequest):
    """Hold one tool call under the id that it has in its run."""

    id: CallId


class ResultStatus(StrEnum):
    """Say how a tool call ended."""

    OK = "ok"
    ERROR = "error"
    DENIED = "denied"
    UNKNOWN = "unknown"  # cut off half-way: it may or may not have happened
    CANCELLED = "cancelled"
    STALE = "stale"  # allowed, and what it was allowed for is not there any more


class FileChange(Value):
    """Say what a write did to one file; `None` means the file was not there.

    `path` is absolute; `mode` holds the permission bits of the file before, where there was one.
    """

    path: str
    before: BlobHash | None
    after: BlobHash | None
    mode: int | None = None


class ToolResult(Value):
    """Hold what a tool call gave: what the model is told, and what we remember of it.

    Attributes:
        parts: What the model is told.
        rest: Blob with the whole output, where `parts` hold only some of it.
        reads: Content hash of each file that was read, by absolute path.
        changes: Files that were written.
        exit_code: Of a command.
        todo: The whole list after the call, for the todo tool.
        concludes: Outcome that the call gives the run, as `nothing_to_report`.
        taints: Untrusted text that the model reads in it, as `the web page https://…`; empty where there is none.
        plan: The whole plan after the call, for the tool that writes it.
        criteria: By which the goal is judged from here on, for the tool that proposes them.
        judged: What each criterion of the goal came to, for the tool that calls it reached.
        enters: Mode in which the run goes on; empty where that stays as it is.
        skill: Whose instructions it holds, for the tool that loads one.
        child: The run that the call dispatched.
        reports: Calls that dispatched the children whose reports it holds.
    """

    status: ResultStatus
    parts: tuple[Part, ...]
    rest: BlobHash | None = None
    reads: dict[str, BlobHash] = Field(default_factory=dict)
    changes: tuple[FileChange, ...] = ()
    exit_code: int | None = None
    todo: tuple[dict[str, Json], ...] | None = None
    concludes: str | None = None
    taints: str = ""
    plan: str | None = None
    criteria: tuple[str, ...] | None = None
    judged: tuple[CriterionResult, ...] | None = None
    enters: str = ""
    skill: UsedSkill | None = None
    child: RunId | None = None
    reports: tuple[CallId, ...] = ()

    @property
    def text(self) -> str:
        """Return the text that the model is told, images left out."""
        return "\n".join(part.text for part in self.parts if isinstance(part, TextPart))


def told(status: ResultStatus, text: str) -> ToolResult:
    """Return a result that is one piece of text."""
    return ToolResult(status=status, parts=(TextPart(text=text),))


def told_first(text: str, result: ToolResult) -> ToolResult:
    """Return a result with something said before everything else."""
    return result.model_copy(update={"parts": (TextPart(text=text), *result.parts)})


class UserMessage(Value):
    """Hold what the run was asked to do, or what we tell the model in between."""

    role: Literal["user"] = "user"
    parts: tuple[Part, ...]


class AssistantMessage(Value):
    """Hold one reply; `raw` is the provider's own form, sent back where the same provider is asked again."""

    role: Literal["assistant"] = "assistant"
    text: str
    calls: tuple[ToolCall, ...] = ()
    raw: Json = None


class ToolMessage(Value):
    """Hold what the model is told about one of its calls."""

    role: Literal["tool"] = "tool"
    call: ToolCall
    status: ResultStatus
    parts: tuple[Part, ...]


Message = Annotated[UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]


class Usage(Value):
    """Count tokens; `cost_usd` is None where the price is not known."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = None

    @property
    def tokens(self) -> int:
        """Return all tokens: cached input is inside `input_tokens`, reasoning inside output."""
        return self.input_tokens + self.output_tokens

    @property
    def counted(self) -> int:
        """Return the tokens that `limits.tokens` counts: what a cache served, time and again, is not among them."""
        return self.input_tokens - self.cache_read_tokens + self.output_tokens

    def plus(self, other: Usage) -> Usage:
        """Return the sum; an unknown price makes the sum unknown."""
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            cost_usd=(self.cost_usd or 0) + (other.cost_usd or 0) if known else None,
        )


class ToolSpec(Value):
    """Describe one tool to the model; `parameters` is a JSON Schema object.

    Attributes:
        polling: To be called again and again with the same arguments is what it is for; the model is not told of it.
    """

    name: str
    description: str
    parameters: dict[str, Json]
    polling: bool = False

    @cached_property
    def chars(self) -> int:
        """Return roughly how many characters the model is told."""
        return len(self.description) + len(repr(self.parameters))

    @cached_property
    def json_text(self) -> str:
        """Return it as JSON."""
        return self.model_dump_json()

    @cached_property
    def digest(self) -> BlobHash:
        """Return what tells it from another."""
        return blob_hash(self.json_text.encode())


class ModelRequest(Value):
    """Hold everything that one call of a model is given.

    Attributes:
        model: The model's name at its provider.
        max_output_tokens: The reply may be no longer; None leaves it to the provider.
        cache_key: What requests that share a beginning have in common, as the job's name; helps some caches.
        images: Content of the image blobs that `messages` point to.
    """

    model: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int | None = None
    cache_key: str = ""
    images: dict[BlobHash, bytes] = Field(default_factory=dict)


class ModelReply(Value):
    """Hold one whole reply; a stream that ends without its end never becomes one.

    Attributes:
        stop_detail: Why the model refused, as the provider says: its category and explanation.
        raw: The provider's own form of it, tagged with provider and model; goes back to these two alone.
    """

    text: str
    reasoning: str = ""
    calls: tuple[CallRequest, ...] = ()
    stop: StopReason
    stop_detail: str = ""
    usage: Usage = Usage()
    model: str = ""
    request_id: str = ""
    raw: Json = None


class TextDelta(Value):
    """Hold a piece of a reply's text as it arrives."""

    kind: Literal["text"] = "text"
    text: str


class ReasoningDelta(Value):
    """Hold a piece of a reply's reasoning as it arrives."""

    kind: Literal["reasoning"] = "reasoning"
    text: str


class CallDelta(Value):
    """Say that a tool call is arriving; `name` may still be empty."""

    kind: Literal["call"] = "call"
    name: str


class ReplyDone(Value):
    """End a stream with the whole reply.

    Attributes:
        sent: The bodies with which it was asked for, in their order, each with its wording.
    """

    kind: Literal["done"] = "done"
    reply: ModelReply
    sent: tuple[Sent, ...] = ()


ModelChunk = TextDelta | ReasoningDelta | CallDelta | ReplyDone
