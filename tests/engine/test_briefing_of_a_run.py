"""A run is given what was gathered for it, as its facts say, and does not begin without what it needs."""

from __future__ import annotations

from kova_auto.core.context.briefing import Briefing
from kova_auto.core.event import ContextAssembled, RunRetried
from kova_auto.core.ids import blob_hash
from kova_auto.core.job import Outcome
from kova_auto.core.message import ImagePart, TextPart
from kova_auto.core.source import Source, SourceKind
from kova_auto.engine.dispatch import Advanced
from tests.doubles.model import ScriptedModel
from tests.engine.worlds import RUN, Stage
from tests.support import a_job, call, says

IMAGE = b"\x89PNG\r\n\x1a\n..."
SHOWN = Source(kind=SourceKind.ATTACHMENT, name="a.png")
BRIEF = Briefing(
    memory="The password is hunter2-hunter2.",
    behind=(TextPart(text="A file."), ImagePart(blob=blob_hash(IMAGE), media_type="image/png")),
    sources=(SHOWN,),
    blobs=(IMAGE,),
    reads={"/ws/a.txt": blob_hash(b"A file.")},
)


async def context_of(stage: Stage) -> ContextAssembled:
    (context,) = [fact for fact in await stage.facts() if isinstance(fact, ContextAssembled)]
    return context


async def test_what_was_gathered_is_given_and_kept_without_secrets() -> None:
    stage = Stage(brief=BRIEF)
    await stage.opened()
    assert await stage.advance(says("Done.")) is Advanced.DONE
    context, state = await context_of(stage), await stage.journal.load(RUN)

    assert "The password is [redacted]." in context.system
    assert context.prompt[1:] == BRIEF.behind
    assert context.sources == (SHOWN,)
    assert await stage.journal.blob(blob_hash(IMAGE)) == IMAGE
    assert dict(state.seen) == dict(BRIEF.reads)


async def test_untrusted_text_that_was_gathered_taints_the_run() -> None:
    stage = Stage(brief=Briefing(digest="Said before.", taints="an earlier run that a webhook began"))
    await stage.opened()
    await stage.advance(says("Done."))

    assert (await stage.journal.load(RUN)).tainted_by == "an earlier run that a webhook began"


async def test_a_run_that_lacks_what_it_is_to_be_shown_is_blocked_before_any_model_is_called() -> None:
    stage = Stage(brief=Briefing(lacks="there is no /srv/policy.pdf, hunter2-hunter2"))
    await stage.opened()
    await stage.advance(says("Done.", call("look")))

    assert await stage.ended() == (Outcome.BLOCKED, "there is no /srv/policy.pdf, [redacted]")
    assert "model_call_started" not in await stage.kinds()


async def test_a_new_day_is_seen_by_the_next_attempt_and_not_before() -> None:
    stage = Stage()
    stage.hands.meanwhile = lambda: stage.clock.later(13 * 3600)
    await stage.opened(job=a_job(limits={"timeout": "48h"}))
    model = ScriptedModel(says("I look.", call("look"), call("look", at=2)), says("Done."))
    await stage.engine(model=model).advance(RUN)
    state = await stage.journal.load(RUN)
    await stage.journal.append(state, RunRetried(at=stage.clock.now(), attempt=2, by="ann"))
    again = ScriptedModel(says("Done."))
    await stage.engine(model=again).advance(RUN)

    assert ["Date: 2026-12-01" in request.system for request in model.requests] == [True, True]
    assert "Date: 2026-12-0" in again.requests[0].system
    assert "Date: 2026-12-01" not in again.requests[0].system
