"""The facts about the model: what it is given first, and each call of it."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from pydantic import AwareDatetime, Field

from kova_auto.core.fact import Fact
from kova_auto.core.fault import Fault
from kova_auto.core.ids import BlobHash, CallId
from kova_auto.core.message import Message, ModelReply, Part, ToolCall, ToolSpec, Usage
from kova_auto.core.skill_facts import OfferedSkill
from kova_auto.core.source import Source
from kova_auto.core.wording import Sent


class ContextAssembled(Fact):
    """Hold what the model is given first; it stays the same for the whole attempt.

    Attributes:
        notices: What the system prompt says of a workspace of the run's own.
        sources: What was gathered for it besides the prompt, and what could not be.
        reads: Content hash of each file that is shown whole, by absolute path.
        rests: Blobs with the whole of what is cut in it: a tool may read them.
        taints: Untrusted text in it; empty where there is none.
        history: What was said in the run that this one continues, oldest first.
        skills: That the run may load, and whose folders it may read.
    """

    kind: Literal["context_assembled"] = "context_assembled"
    system: str
    prompt: tuple[Part, ...]
    tools: tuple[ToolSpec, ...]
    notices: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    reads: dict[str, BlobHash] = Field(default_factory=dict)
    rests: tuple[BlobHash, ...] = ()
    taints: str = ""
    history: tuple[Message, ...] = ()
    skills: tuple[OfferedSkill, ...] = ()

    @cached_property
    def chars(self) -> int:
        """Return roughly how many characters of it are told in every request, the prompt left out."""
        return len(self.system) + sum([spec.chars for spec in self.tools])


class ModelCallStarted(Fact):
    """Announce a call of the model.

    Attributes:
        max_output_tokens: What the reply was bounded to, so that no ceiling is passed; None where nothing bounds it.
        asides: What the model is told before this reply, behind everything else.
        hurries: It is told to come to an end.
        repairs: What of its answer is to be put right, `schema` or `checks`; empty where nothing is.
        reports: Calls that dispatched the children whose reports are among the asides.
    """

    kind: Literal["model_call_started"] = "model_call_started"
    iteration: int
    model: str
    request_hash: str
    max_output_tokens: int | None = None
    asides: tuple[str, ...] = ()
    hurries: bool = False
    repairs: Literal["", "schema", "checks"] = ""
    reports: tuple[CallId, ...] = ()


class ModelReplied(Fact):
    """Hold a whole reply and the calls under the ids they have in this run.

    Attributes:
        first_at: When the first piece of it arrived; None where it came whole, or in an old journal.
        sent: The bodies with which it was asked for; empty where nothing is sent, and in an old journal.
    """

    kind: Literal["model_replied"] = "model_replied"
    iteration: int
    reply: ModelReply
    calls: tuple[ToolCall, ...] = ()
    first_at: AwareDatetime | None = None
    sent: tuple[Sent, ...] = ()


class ModelCallFailed(Fact):
    """Say why a call of the model gave no reply, and when the next may be made (None: now, or never).

    Attributes:
        error: Name of the error, for people.
        fault: Its class; None in an old journal.
        status: Of the provider's HTTP answer.
        request_id: What the provider calls the request.
        usage: What was used all the same, with its cost.
        sent: As of a reply.
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
    sent: tuple[Sent, ...] = ()


class CompactionStarted(Fact):
    """Announce that a model is asked to sum up the older iterations.

    Attributes:
        iteration: Replies that the run has had.
        through: The last of them that is folded; 0 where only the history is.
        tokens: Of the request that would be made without it, roughly.
        words: So many words the summary is to have at most.
        shown_from: The first of them that the model is shown; 0 where nothing at all is left out.
        trimmed: Long results are cut, for want of room.
    """

    kind: Literal["compaction_started"] = "compaction_started"
    iteration: int
    through: int
    model: str
    reason: Literal["threshold", "overflow"]
    tokens: int
    request_hash: str
    max_output_tokens: int | None = None
    words: int = 0
    shown_from: int = 0
    trimmed: bool = False


class CompactionFailed(Fact):
    """Say why there is no summary, and when the next attempt may be made (None: now, with less, or without a model).

    Attributes:
        usage: What was used all the same, with its cost.
        sent: As of a reply.
    """

    kind: Literal["compaction_failed"] = "compaction_failed"
    iteration: int
    error: str
    message: str
    retry_at: AwareDatetime | None = None
    fault: Fault | None = None
    usage: Usage | None = None
    sent: tuple[Sent, ...] = ()


class ContextCompacted(Fact):
    """Put one text in the place of the older iterations; the journal keeps them.

    Attributes:
        iteration: Replies that the run has had.
        through: The last of them that the text stands for; later ones stay as they are.
        summary: What the model is shown in their place, whole.
        strategy: `summary` of a model; `trimmed`, of a part of what was said; `fresh`, without a model.
        tokens_before: Of the request that would have been made, roughly.
        tokens_after: Of the request that is made now, roughly.
        restored: What the model's summary had lost, and was appended: objectives, paths.
        model: Empty where none was asked.
        sent: As of a reply.
    """

    kind: Literal["context_compacted"] = "context_compacted"
    iteration: int
    through: int
    summary: str
    strategy: Literal["summary", "trimmed", "fresh"]
    reason: Literal["threshold", "overflow"]
    tokens_before: int
    tokens_after: int
    restored: tuple[str, ...] = ()
    model: str = ""
    usage: Usage | None = None
    sent: tuple[Sent, ...] = ()
