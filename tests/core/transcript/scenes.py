"""Runs with everything in them that a transcript has to tell."""

from __future__ import annotations

from kova_auto.core.approval.levels import Decision
from kova_auto.core.event import CallFinished, ModelCallStarted, RunAcquired
from kova_auto.core.ids import CallId, blob_hash
from kova_auto.core.job import Outcome
from kova_auto.core.message import FileChange, ImagePart, ResultStatus, TextPart, ToolResult, Usage, told
from tests.story import Story
from tests.support import at, call, replied, says

PNG = blob_hash(b"a picture")
BEFORE, AFTER, REST = (blob_hash(text) for text in (b"before", b"after", b"the rest"))


def eventful() -> Story:
    """Fail, look, ask a person, write, be told something besides, and answer."""
    story = Story(model="anthropic/claude").fails("busy", at("06:00:09"), usage=Usage(input_tokens=7))
    story.says(says("I look.", call("look", path="a"), call("change", path="b"))).does("1.1", "seen")
    story.waits("1.2").answers("1.2", Decision.ONCE, note="Go on.").starts_again("1.2")
    change = FileChange(path="/w/b", before=BEFORE, after=AFTER)
    parts = (TextPart(text="written"), ImagePart(blob=PNG, media_type="image/png"))
    result = ToolResult(status=ResultStatus.OK, parts=parts, rest=REST, changes=(change,))
    story.events.append(CallFinished(at=story.later(), call_id=CallId("1.2"), result=result))
    asked = {"at": story.later(), "iteration": 2, "model": story.model, "request_hash": "h", "asides": ("Be brief.",)}
    story.events.append(ModelCallStarted.model_validate(asked))
    story.events.append(replied(2, says("Done."), when=story.later()))
    return story.ends(Outcome.DONE, "Done.")


def lost() -> Story:
    """Lose the process while a model is asked, and again in a call."""
    story = Story().asks()
    story.events.append(RunAcquired(at=story.later(), epoch=2, worker="two", lease_broken=True))
    story.says(says("", call("do"))).starts("1.1")
    story.events.append(RunAcquired(at=story.later(), epoch=3, worker="three", lease_broken=True))
    unknown = told(ResultStatus.UNKNOWN, "It was cut off.")
    story.events.append(CallFinished(at=story.later(), call_id=CallId("1.1"), result=unknown))
    return story
