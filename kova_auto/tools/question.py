"""The `question` tool: asks a person, or says that nobody is there to answer; which of the two is decided before."""

from __future__ import annotations

from pydantic import BaseModel, Field

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.message import ResultStatus, ToolCall, ToolResult, told
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, Scene, ToolOutput, ToolRun
from kova_auto.core.value import Value

_ANSWER = (
    "Nobody is there to answer {}. Take the most careful reading: the one that changes least and that can be undone. "
    "Go on with it, and state in your final message what you asked and what you assumed. Where no careful reading lets "
    "you go on, leave that part undone and say what you need to know. Do not ask again."
)


class Option(Value):
    """Hold one answer to choose."""

    title: str = Field(min_length=1, max_length=200)
    description: str | None = Field(default=None, max_length=1000)


class Question(Value):
    """Hold one question."""

    title: str = Field(min_length=1, max_length=1000, description="The question, in one sentence.")
    options: tuple[Option, ...] = Field(
        default=(), max_length=8, description="Answers to choose from; none where any text will do."
    )
    multi_select: bool = Field(default=False, description="Whether more than one option may be chosen.")


class QuestionArguments(Value):
    """Hold what is asked."""

    questions: tuple[Question, ...] = Field(min_length=1, max_length=4)


class QuestionTool:
    """Ask a person."""

    name = "question"
    description = (
        "Ask the people who gave this job. Where nobody is there, the call is answered at once, and tells you to take "
        "the most careful reading and to state it; else the run waits for their answer. Ask only what the job leaves "
        "open, what you cannot find out yourself, and what changes the result."
    )
    effect = Effect.QUESTION
    replay_safe = True
    polling = False
    arguments: type[BaseModel] = QuestionArguments

    async def facts(self, call: ToolCall, args: QuestionArguments, scene: Scene) -> CallFacts:
        """Touch nothing."""
        del args, scene
        return CallFacts(call, self.effect)

    async def run(self, args: QuestionArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Tell the answers, or that nobody is there."""
        del verdict
        if scene.answers:
            yield ToolOutput(told(ResultStatus.OK, _answered(args, scene.answers)))
            return
        count = len(args.questions)
        what = "this question" if count == 1 else f"these {count} questions"
        yield ToolOutput(told(ResultStatus.OK, _ANSWER.format(what)))

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say nothing: it can be asked again."""
        del call, scene
        return None


def _answered(args: QuestionArguments, answers: tuple[str, ...]) -> str:
    """Return each question with what was answered."""
    pairs = zip(args.questions, answers, strict=False)
    return "\n\n".join(f"{question.title}\nAnswer: {answer}" for question, answer in pairs)
