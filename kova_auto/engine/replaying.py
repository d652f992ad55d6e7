"""Replay a recorded run: the engine's own steps on facts that are nowhere written down, and nothing is executed.

Calls bring what they brought in the recording. The model is one that reads its lines from it, or a live one; then
the first call that the recording does not hold is where the replay ends. What came of the run from outside (a person's
word, a worker's death) is told again where the recording has nothing else to tell.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from kova_auto.core.approval.levels import Decision, Ruling
from kova_auto.core.call_state import CallState
from kova_auto.core.children.waiting import running
from kova_auto.core.errors import IllegalEventError
from kova_auto.core.event import (
    ApprovalDecided,
    CallAdjudicated,
    CallFinished,
    CallStarted,
    ChecksStarted,
    ChildrenStopped,
    CompactionFailed,
    Event,
    FamilyCounted,
    ModelCallFailed,
    RunAcquired,
)
from kova_auto.core.ids import CallId
from kova_auto.core.patience import INLINE_S
from kova_auto.core.recording import Folding, Line, Pairing, Recording
from kova_auto.core.replay import End, Ending, Replay, Replayed, compared
from kova_auto.core.run import apply
from kova_auto.core.step import next_step
from kova_auto.core.steps import (
    Adjudicate,
    AskPerson,
    AssembleContext,
    AwaitChildren,
    AwaitUntil,
    BeginAgain,
    CallModel,
    Compact,
    CountFamily,
    EnterMode,
    Execute,
    ExecuteTogether,
    Finish,
    Refuse,
    RunChecks,
    Step,
    StopChildren,
)
from kova_auto.engine.perform import Enquiring, enquire
from kova_auto.engine.playing import Lines, PlayClock
from kova_auto.engine.world import Senses

REPLAY: Final = "replay"
_NOBODY: Final = "nobody is asked in a replay"


class Replaying:
    """Replay one recording, once."""

    def __init__(
        self,
        recording: Recording,
        senses: Senses,
        clock: PlayClock,
        *,
        lines: Lines | None,
        wait: Callable[[float], Awaitable[None]],
        unjudged: str = "",
    ) -> None:
        """Begin where the attempt began.

        Args:
            recording: What is replayed.
            senses: Ask the model and judge the calls; their clock is `clock`.
            clock: Begins when the attempt began.
            lines: The model that `senses` ask, where that is the recording itself.
            wait: Lets seconds go by, where a live model wants to be asked later.
            unjudged: Why calls cannot be judged anew, and their recorded verdicts stand; empty where they can.
        """
        self._recording, self._senses, self._clock = recording, senses, clock
        self._lines, self._wait, self._unjudged = lines, wait, unjudged
        self._state, self._pairing = recording.begun, Pairing(recording.calls)
        self._foldings = deque(recording.foldings)
        self._told_outside = False
        self._end: End | None = None

    async def replay(self) -> Replay:
        """Replay as far as the recording goes, and compare."""
        self._acquire()
        while self._end is None:
            await self._step(next_step(self._state, self._clock.now()))
        replayed = Replayed(self._state, self._pairing, self._end, self._unjudged, plays=self._lines is not None)
        return compared(self._recording, replayed)

    async def _step(self, step: Step) -> None:
        match step:
            case CallModel():
                await self._ask(step)
            case Compact():
                await self._fold(step)
            case Adjudicate():
                await self._judge(step)
            case AskPerson():
                await self._decide(step)
            case Refuse():
                self._clock.skip(self._recording.took_s.get(self._recorded_id(step.call_id), 0.0))
                await self._enquire(step)
            case AwaitUntil():
                await self._rest(step.until)
            case _:
                self._retell(step)

    def _retell(self, step: Step) -> None:
        match step:
            case AssembleContext():
                self._assemble()
            case Execute():
                self._bring(step.call_id)
            case ExecuteTogether():
                self._bring_together(step.call_ids)
            case RunChecks():
                self._check(step)
            case EnterMode():
                self._enter(step)
            case CountFamily() | StopChildren() | AwaitChildren():
                self._concern_family(step)
            case Finish() | BeginAgain():
                self._finish(step.end if isinstance(step, BeginAgain) else step)
            case _:
                message = f"a replay leaves nothing half done, and came to {type(step).__name__}"
                raise IllegalEventError(message)

    def _apply(self, event: Event) -> None:
        self._state = apply(self._state, event)

    def _acquire(self, *, lease_broken: bool = False) -> None:
        epoch = self._state.epoch + 1
        self._apply(RunAcquired(at=self._clock.now(), epoch=epoch, worker=REPLAY, lease_broken=lease_broken))

    async def _enquire(self, step: Enquiring) -> None:
        async with aclosing(enquire(step, self._state, self._senses)) as entries:
            async for entry in entries:
                self._apply(entry.event)

    def _assemble(self) -> None:
        if context := self._recording.state.context:
            self._apply(context.model_copy(update={"at": self._clock.now()}))
        elif not self._hears_outside():
            self._stop("the recording ends before the model was given anything")

    async def _ask(self, step: CallModel) -> None:
        if self._lines:
            line = self._lines.next
            if line is None:
                if not self._hears_outside():
                    goes_on = ", and today the model would be asked again" if self._recording.state.finished else ""
                    self._stop(f"the recording ends here{goes_on}")
                return
            self._clock.skip(line.idle_s)
            if isinstance(line.answer, ModelCallFailed):
                self._fail(self._lines.turn(), line.answer)
                return
        before = self._state.iteration
        await self._enquire(step)
        if self._state.iteration > before:
            for call_id in self._state.open_calls:
                self._pairing = self._pairing.plus(self._state.call(call_id).call, step.iteration)

    def _fail(self, line: Line, failure: ModelCallFailed) -> None:
        """Let the model fail as it did, and wait as long until it is asked again."""
        now = self._clock.now()
        wait = failure.retry_at - failure.at if failure.retry_at else None
        self._apply(line.asked.model_copy(update={"at": now - timedelta(seconds=line.took_s)}))
        self._apply(failure.model_copy(update={"at": now, "retry_at": now + wait if wait is not None else None}))

    async def _fold(self, step: Compact) -> None:
        """Let older iterations be folded as they were; a live model sums them up anew."""
        if self._lines is None:
            await self._enquire(step)
            return
        while self._foldings and self._foldings[0].answer.iteration < self._state.iteration:
            self._foldings.popleft()  # Today there was no need for it.
        if self._foldings and self._foldings[0].answer.iteration == self._state.iteration:
            self._refold(self._foldings.popleft())
        elif self._lines.next or self._foldings:
            await self._enquire(replace(step, model=""))  # It was not needed then; what is said next is on record.
        elif not self._hears_outside():
            self._stop("the recording ends before the older iterations were folded")

    def _refold(self, folding: Folding) -> None:
        self._clock.skip(folding.idle_s)
        if folding.asked:
            self._apply(folding.asked.model_copy(update={"at": self._clock.now()}))
        self._clock.skip(folding.took_s)
        now, answer = self._clock.now(), folding.answer
        if isinstance(answer, CompactionFailed):
            wait = answer.retry_at - answer.at if answer.retry_at else None
            answer = answer.model_copy(update={"retry_at": now + wait if wait is not None else None})
        self._apply(answer.model_copy(update={"at": now}))

    async def _judge(self, step: Adjudicate) -> None:
        known = self._pairing.of(step.call_id)
        if known is None:
            if not self._unjudged:
                await self._enquire(step)
            tool = self._state.call(step.call_id).call.tool
            self._diverge(step.call_id, f"the recording holds no such call of {tool}")
        elif known.verdict is None and self._hears_outside():
            return
        elif not self._unjudged:
            await self._enquire(step)
        elif known.verdict:
            self._apply(CallAdjudicated(at=self._clock.now(), call_id=step.call_id, verdict=known.verdict))
        else:
            self._stop(f"the recording ends before call {known.call.id} was judged")

    async def _decide(self, step: AskPerson) -> None:
        """Let the person say what was said; who was not asked then is not asked now."""
        known = self._known(step.call_id)
        if known.decision is None and known.approval:
            if self._hears_outside():
                return
            if known.result is None:
                self._stop(f"the recording ends while call {known.call.id} waits for a person")
                return
        await self._enquire(step)
        said = known.decision or ApprovalDecided(
            at=self._clock.now(), call_id=known.call.id, decision=Decision.DENY, by=REPLAY, note=_NOBODY
        )
        self._apply(said.model_copy(update={"at": self._clock.now(), "call_id": step.call_id}))

    def _bring(self, call_id: CallId) -> None:
        """Let a call bring what it brought."""
        known = self._known(call_id)
        if known.result is None:
            if not self._hears_outside():
                self._stop(f"the recording ends before call {known.call.id} has its result")
            return
        if known.started is None and self._lines is None:
            self._diverge(call_id, f"call {known.call.id} would be executed today; {_how_it_was(known)}")
            return
        self._apply(CallStarted(at=self._clock.now(), call_id=call_id))
        self._clock.skip(self._recording.took_s.get(known.call.id, 0.0))
        self._apply(CallFinished(at=self._clock.now(), call_id=call_id, result=known.result))

    def _bring_together(self, call_ids: Sequence[CallId]) -> None:
        """Let calls bring what they brought; where one brought nothing, the others come first.

        What was judged when others had begun already was judged anew then, and is now.
        """
        known = {call_id: self._known(call_id) for call_id in call_ids}
        begun = min((call.started_seq for call in known.values() if call.started), default=None)
        together = [key for key, call in known.items() if begun is None or call.judged_seq < begun]
        for call_id in sorted(together, key=lambda call_id: known[call_id].result is None):
            self._bring(call_id)
            if self._state.call(call_id).result is None:
                return

    def _enter(self, step: EnterMode) -> None:
        """Go on in the mode that the recorded run went on in, with the tools that it was given there."""
        entered = self._recording.state.entered
        if entered and entered.mode is step.mode:
            self._apply(entered.model_copy(update={"at": self._clock.now(), "call_id": step.call_id}))
        elif not self._hears_outside():
            self._stop(f"the recording ends before the run went on in mode {step.mode}")

    def _concern_family(self, step: CountFamily | StopChildren | AwaitChildren) -> None:
        """Let children end as they did, and the family have used what it had used; nobody is dispatched or ended."""
        now, recorded = self._clock.now(), self._recording.state
        match step:
            case CountFamily():
                known = self._recording.counts.get(self._state.iteration + 1, recorded.family)
                known = known or FamilyCounted(at=now, tokens=0, cost_usd=0.0, members=1)
                self._apply(known.model_copy(update={"at": now}))
            case StopChildren():
                self._apply(ChildrenStopped(at=now, call_ids=step.call_ids, reason=step.reason))
            case AwaitChildren():
                self._end_child(now)

    def _end_child(self, now: datetime) -> None:
        recorded = self._recording.state.children
        left = [(child, recorded.get(self._recorded_id(child.call_id))) for child in running(self._state)]
        ended = [(child, known.finished) for child, known in left if known and known.finished]
        for child, fact in sorted(ended, key=lambda pair: pair[1].at)[:1]:
            self._apply(fact.model_copy(update={"at": now, "call_id": child.call_id, "run_id": child.run_id}))
        if not ended and not self._hears_outside():
            self._stop("the recording ends while a subagent is at work")

    def _check(self, step: RunChecks) -> None:
        """Let the checks of an answer come to what they came to: those of another answer are run nowhere."""
        checked = self._recording.checks.get(step.iteration)
        if self._lines is None:
            self._end = End(Ending.DIVERGED, "its answer would be checked by commands, which a replay does not run")
        elif checked:
            self._apply(ChecksStarted(at=self._clock.now(), iteration=step.iteration))
            self._clock.skip(sum(result.took_s for result in checked.results))
            self._apply(checked.model_copy(update={"at": self._clock.now()}))
        elif not self._hears_outside():
            self._stop("the recording ends before its answer was checked")

    async def _rest(self, until: datetime) -> None:
        left_s = (until - self._clock.now()).total_seconds()
        if self._lines:
            self._clock.skip(left_s)
        elif left_s > INLINE_S:
            why = self._state.failure.message if self._state.failure else "the model does not answer"
            self._end = End(Ending.WAITING, f"it would be asked again in {left_s:.0f} s: {self._senses.redact(why)}")
            return
        else:
            await self._wait(left_s)
        self._acquire()

    def _finish(self, step: Finish) -> None:
        recorded = self._recording.state
        if self._lines and recorded.stop and not self._state.stop:
            self._apply(recorded.stop.model_copy(update={"at": self._clock.now()}))
            return
        if self._lines and not (recorded.finished or self._lines.next):
            self._stop(f"the recording ends here; the run comes to its end as {step.outcome.replace('_', ' ')}")
            return
        redact = self._senses.redact
        finish = replace(step, answer=redact(step.answer), reason=redact(step.reason))
        self._end = End(Ending.FINISHED, finish.reason or finish.outcome.replace("_", " "), finish=finish)

    def _hears_outside(self) -> bool:
        """Let happen, once, what ended the recorded run from outside; say whether it is time to look again."""
        if self._told_outside or self._lines is None:
            return False
        self._told_outside = True
        recorded = self._recording.state
        self._clock.skip(max(recorded.ran_s - self._state.ran_s, 0.0))
        for _ in range(recorded.deaths):
            self._acquire(lease_broken=True)
        if recorded.stop and not self._state.stop:
            self._apply(recorded.stop.model_copy(update={"at": self._clock.now()}))
        return True

    def _recorded_id(self, call_id: CallId) -> CallId:
        pair = self._pairing.pairs.get(call_id)
        return pair.recorded if pair else call_id

    def _known(self, call_id: CallId) -> CallState:
        known = self._pairing.of(call_id)
        if known is None:
            message = f"call {call_id} was judged, and no recorded call stands for it"
            raise IllegalEventError(message)
        return known

    def _stop(self, why: str) -> None:
        self._end = End(Ending.RECORDING, why)

    def _diverge(self, call_id: CallId, why: str) -> None:
        self._end = End(Ending.DIVERGED, why, call_id=call_id)


def _how_it_was(known: CallState) -> str:
    refused = known.verdict is not None and known.verdict.ruling is not Ruling.ALLOW
    return "the recording holds only its refusal" if refused else "in the recording it never began"
