"""The tools of goal mode: propose by what the goal is judged, call it reached, or say what keeps the run from it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from pydantic import BaseModel, Field

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.criterion import Criterion, CriterionResult
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.goal.completing import objections
from kova_auto.core.goal.contract import LONGEST, MOST, Contract, distinct, numbered, unfit
from kova_auto.core.goal.pursuit import BLOCKED_TURNS, Pursuit
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus, TextPart, ToolCall, ToolResult, told
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, ProcessAnnounced, Scene, ToolFact, ToolOutput, ToolRun
from kova_auto.core.tool_names import GOAL_BLOCKED, GOAL_COMPLETE, GOAL_PROPOSE
from kova_auto.core.turn_facts import CheckResult
from kova_auto.core.value import Value
from kova_auto.tools.verifying import Verifier

_LONGEST_SUMMARY = 4_000
_LONGEST_EVIDENCE = 2_000
_LONGEST_REASON = 1_000
_MOST_RESULTS = 2 * MOST

_PENDING = f"no criteria stand yet: call {GOAL_PROPOSE} first"
_STAND = "the criteria stand already; they are not changed: {}"
_NONE_NAMED = "name at least one criterion: what must be so for the objective to be reached"
_CONFIRMED = (
    "The goal is judged by these criteria{}:\n{}\n\nGo on working; call goal_complete once all of them are met."
)
_SKIPPED = (
    "A person wants no criteria: the objective alone counts. Call goal_complete, without results, once it is met."
)
_OWN = ". Nobody was there to agree to them: they are your own, and people are told so"
_REFUSED = (
    "Not accepted, the goal is not reached:\n{}\n\nGo on working, and call goal_complete again once that is put right."
)
_REACHED = "Accepted: the goal is reached. Change nothing more, and give your final message now."
_BLOCKED = "Accepted: the goal is blocked. End now with a message that says what you tried and what somebody has to do."
_TRY_ON = (
    "Noted, but not accepted yet: this is turn {count} of {most} in a row in which you say so. Try another way, or do "
    "what can be done without it. If the same still keeps you from the goal, say so again in the next turn."
)


class ProposeArguments(Value):
    """Hold what is proposed."""

    criteria: tuple[str, ...] = Field(
        json_schema_extra={"minItems": 1},  # of the model; a person may want none
        description=f"What must be so, one sentence each: at most {MOST} of at most {LONGEST} characters.",
    )


class ProposeCriteriaTool:
    """Propose by what the goal is judged."""

    name = GOAL_PROPOSE
    description = (
        f"Propose by what your goal is judged: at most {MOST} criteria, each something that one can look at and see "
        "whether it is so. Look around first. Where a person is at hand they are asked, and may want other ones. Once "
        "they stand they are not changed. The call must be the only one of its reply."
    )
    effect = Effect.CONTRACT
    replay_safe = True
    polling = False
    arguments: type[BaseModel] = ProposeArguments

    def offered(self, scene: Scene) -> bool:
        """Say whether the job leaves anything to propose."""
        return not scene.job.goal.criteria

    async def facts(self, call: ToolCall, args: ProposeArguments, scene: Scene) -> CallFacts:
        """Touch nothing; what cannot be proposed is not put before a person."""
        return CallFacts(call, self.effect, problem=_unproposable(args.criteria, scene.goal))

    async def run(self, args: ProposeArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Let them stand."""
        del verdict  # whether somebody had to agree was decided before
        if problem := _unproposable(args.criteria, _pursuit(scene)):
            raise ToolFailedError(problem)
        criteria = distinct(args.criteria)
        own = "" if _pursuit(scene).is_attended else _OWN
        said = _CONFIRMED.format(own, _listed(numbered(criteria))) if criteria else _SKIPPED
        yield ToolOutput(ToolResult(status=ResultStatus.OK, parts=(TextPart(text=said),), criteria=criteria))

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say nothing: it can be said again."""
        del call, scene
        return None


class ClaimedResult(Value):
    """Hold what the model says of one criterion."""

    id: str = Field(min_length=1, max_length=20, description="Of the criterion, as c1.")
    met: bool
    evidence: str = Field(
        default="",
        max_length=_LONGEST_EVIDENCE,
        description="By what one can see that it is met: file and line, output, commit. A command needs none.",
    )


class CompleteArguments(Value):
    """Hold what the goal has come to."""

    summary: str = Field(
        min_length=1, max_length=_LONGEST_SUMMARY, description="What was done, and how it was checked."
    )
    results: tuple[ClaimedResult, ...] = Field(
        max_length=_MOST_RESULTS, description="One for each criterion, no more and no fewer."
    )


class CompleteTool:
    """Call the goal reached."""

    name = GOAL_COMPLETE
    description = (
        "Say that your goal is reached, with a result for each criterion. It is refused where a criterion is not met, "
        "where evidence is missing, where nothing was done, or where your summary says that something is left. A "
        "criterion that is a command is run by this call, and its exit code alone counts. The call must be the only "
        "one of its reply. Once it is accepted, give your final message; whoever changes something after it calls it "
        "again."
    )
    effect = Effect.GOAL
    replay_safe = True  # what was cut off is ended first, and decides nothing
    polling = False
    arguments: type[BaseModel] = CompleteArguments

    def __init__(self, verifier: Verifier) -> None:
        """Take what runs the commands that judge."""
        self._verifier = verifier

    async def facts(self, call: ToolCall, args: CompleteArguments, scene: Scene) -> CallFacts:
        """Touch nothing that the job's author did not name."""
        del args
        return CallFacts(call, self.effect, problem=_unsettled(scene.goal))

    async def run(self, args: CompleteArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Hold what the model says against the contract, then run what does not take its word."""
        del verdict
        pursuit = _pursuit(scene)
        contract = pursuit.contract
        claimed = [CriterionResult.model_validate(result.model_dump()) for result in args.results]
        refused = objections(claimed, args.summary, contract, has_worked=pursuit.has_worked)
        judged = {result.id: result for result in claimed if result.id in contract.ids}
        if refused:
            yield ToolOutput(_refused(refused, _in_order(judged, contract, but_commands=True)))
            return
        async with aclosing(self._run_all(contract, scene)) as facts:
            async for fact in facts:
                if isinstance(fact, CriterionResult):
                    judged[fact.id] = fact
                else:
                    yield fact
        results = _in_order(judged, contract)
        failed = [f"{result.id}: {result.evidence}" for result in results if not result.met]
        yield ToolOutput(_refused(failed, results) if failed else _reached(results))

    async def _run_all(self, contract: Contract, scene: Scene) -> AsyncGenerator[ToolFact | CriterionResult, None]:
        for criterion in contract.criteria:
            if criterion.command is None:
                continue
            async with aclosing(self._verifier.verify(criterion.command, scene)) as facts:
                async for fact in facts:
                    yield fact if isinstance(fact, ProcessAnnounced) else _by_command(criterion, fact)

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """End what a cut-off command left running; the call is made again then, or decides nothing."""
        if call.process is not None:
            await self._verifier.recover(scene, call.process)
        return told(ResultStatus.UNKNOWN, "This call was cut off before it had decided anything. Make it again.")


class BlockedArguments(Value):
    """Hold what is in the way."""

    reason: str = Field(
        min_length=1, max_length=_LONGEST_REASON, description="What keeps you from the goal, and who could remove it."
    )
    evidence: str = Field(
        min_length=1, max_length=_LONGEST_SUMMARY, description="What you tried, and what came of each attempt."
    )


class BlockedTool:
    """Say that the goal cannot be reached."""

    name = GOAL_BLOCKED
    description = (
        "Say that something which you cannot change keeps you from the goal. It is accepted once the same has blocked "
        f"you in {BLOCKED_TURNS} turns in a row; until then try another way. The run then ends as blocked. Not for "
        "work that is merely hard or long. The call must be the only one of its reply."
    )
    effect = Effect.GOAL
    replay_safe = True
    polling = False
    arguments: type[BaseModel] = BlockedArguments

    async def facts(self, call: ToolCall, args: BlockedArguments, scene: Scene) -> CallFacts:
        """Touch nothing but how the run ends."""
        del args
        return CallFacts(call, self.effect, problem=_unsettled(scene.goal))

    async def run(self, args: BlockedArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Give the run its outcome, if it has been blocked for long enough."""
        del args, verdict  # the reason is kept with the call itself
        count = _pursuit(scene).blocked_before + 1
        if count < BLOCKED_TURNS:
            yield ToolOutput(told(ResultStatus.ERROR, _TRY_ON.format(count=count, most=BLOCKED_TURNS)))
            return
        result = told(ResultStatus.OK, _BLOCKED)
        yield ToolOutput(result.model_copy(update={"concludes": str(Outcome.BLOCKED)}))

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say nothing: it can be said again."""
        del call, scene
        return None


def _pursuit(scene: Scene) -> Pursuit:
    """Return how far the run has come with its goal.

    Raises:
        ToolFailedError: It has none.
    """
    if scene.goal is None:
        message = "this run has no goal"
        raise ToolFailedError(message)
    return scene.goal


def _unproposable(texts: Sequence[str], goal: Pursuit | None) -> str:
    criteria = distinct(texts)
    if not criteria and not (goal and goal.is_edited):
        return _NONE_NAMED
    if wrong := unfit(criteria):
        return wrong
    contract = goal.contract if goal else Contract()
    return _STAND.format("; ".join(each.said for each in contract.criteria)) if contract.is_settled else ""


def _unsettled(goal: Pursuit | None) -> str:
    return _PENDING if goal and not goal.contract.is_settled else ""


def _listed(criteria: tuple[Criterion, ...]) -> str:
    return "\n".join(f"- {criterion.said}" for criterion in criteria)


def _in_order(
    judged: dict[str, CriterionResult], contract: Contract, *, but_commands: bool = False
) -> tuple[CriterionResult, ...]:
    """Return what was found, in the contract's order; of a command only what the command said."""
    return tuple(
        judged[criterion.id]
        for criterion in contract.criteria
        if criterion.id in judged and not (but_commands and criterion.command is not None)
    )


def _refused(objecting: Sequence[str], results: tuple[CriterionResult, ...]) -> ToolResult:
    text = _REFUSED.format("\n".join(f"- {objection}" for objection in objecting))
    return told(ResultStatus.ERROR, text).model_copy(update={"judged": results})


def _reached(results: tuple[CriterionResult, ...]) -> ToolResult:
    lines = [f"- {result.id}: {result.evidence}" for result in results if result.by_command]
    text = "\n".join([_REACHED, *lines])
    return told(ResultStatus.OK, text).model_copy(update={"judged": results, "concludes": str(Outcome.DONE)})


def _by_command(criterion: Criterion, found: CheckResult) -> CriterionResult:
    said = "it did not end by itself" if found.exit_code is None else f"exit code {found.exit_code}"
    printed = f"\n{found.output}" if found.output else ""
    evidence = f"the command `{criterion.command}`: {said}{printed}"
    return CriterionResult(id=criterion.id, met=found.passed, evidence=evidence, by_command=True)
