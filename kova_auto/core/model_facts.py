"""The facts about the model: what it is given first, and each call of it."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, Field

from kova_auto.core.fact import Fact
from kova_auto.core.fault import Fault
from kova_auto.core.ids import BlobHash
from kova_auto.core.message import ModelReply, Part, ToolCall, ToolSpec, Usage
from kova_auto.core.source import Source


class ContextAssembled(Fact):
    """Hold what the model is given first; it stays the same for the whole attempt.

    Attributes:
        notices: What the system prompt says of a workspace of the run's own.
        sources: What was gathered for it besides the prompt, and what could not be.
        reads: Content hash of each file that is shown whole, by absolute path.
        taints: Untrusted text in it; empty where there is none.
    """

    kind: Literal["context_assembled"] = "context_assembled"
    system: str
    prompt: tuple[Part, ...]
    tools: tuple[ToolSpec, ...]
    notices: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    reads: dict[str, BlobHash] = Field(default_factory=dict)
    taints: str = ""


class ModelCallStarted(Fact):
    """Announce a call of the model.

    Attributes:
        max_output_tokens: What the reply was bounded to, so that no ceiling is passed; None where nothing bounds it.
        asides: What the model is told before this reply, behind everything else.
        hurries: It is told to come to an end.
    """

    kind: Literal["model_call_started"] = "model_call_started"
    iteration: int
    model: str
    request_hash: str
    max_output_tokens: int | None = None
    asides: tuple[str, ...] = ()
    hurries: bool = False


class ModelReplied(Fact):
    """Hold a whole reply and the calls under the ids they have in this run."""

    kind: Literal["model_replied"] = "model_replied"
    iteration: int
    reply: ModelReply
    calls: tuple[ToolCall, ...] = ()


class ModelCallFailed(Fact):
    """Say why a call of the model gave no reply, and when the next may be made (None: now, or never).

    Attributes:
        error: Name of the error, for people.
        fault: Its class; None in an old journal.
        status: Of the provider's HTTP answer.
        request_id: What the provider calls the request.
        usage: What was used all the same, with its cost.
    """

    kind: Literal["model_call_failed"] = "model_call_failed"
    iteration: int
    error: str
    message: str
    retryable: bool
    retry_at: AwareDatetime | None = None
    partial_text: str = ""
    fault: Fault | None = None
    status: int | None = None
    request_id: str = ""
    usage: Usage | None = None
