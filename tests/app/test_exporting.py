"""A run fetched whole, with what it points to, from a service that may not have all of it any more."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

import pytest

from kova_auto.app.control import Answers, Content, Placed
from kova_auto.app.exporting import Export, export_of, extract_of, traces_of
from kova_auto.core.errors import JournalBusyError, JournalError
from kova_auto.core.event import Event
from kova_auto.core.ids import BlobHash, RunId
from kova_auto.core.view import RunRow, run_row
from kova_auto.core.wording import Sent, Wording
from tests.core.transcript.scenes import AFTER, BEFORE, PNG, REST, eventful, lost
from tests.lineage import a_parent, ends, its_child
from tests.story import Story
from tests.support import says

CONTENTS = {PNG: b"a picture", BEFORE: b"before", AFTER: b"after"}


@dataclass
class Shelf:
    """Answer for one run; `asked` are the contents that somebody wanted."""

    story: Story
    contents: Mapping[BlobHash, bytes] = field(default_factory=lambda: CONTENTS)
    is_busy: bool = False
    asked: list[BlobHash] = field(default_factory=list)

    async def find(self, text: str) -> RunRow:
        assert self.story.run_id.startswith(text)
        return run_row(self.story.state)

    async def events(self, run_id: RunId, after: int, wait_s: float) -> tuple[Placed, ...]:
        assert (run_id, after, wait_s) == (self.story.run_id, 0, 0)
        return tuple(Placed(seq=seq, event=event) for seq, event in enumerate(self.story.events, 1))

    async def blob(self, key: BlobHash) -> Content:
        self.asked.append(key)
        if self.is_busy:
            message = "the service went away"
            raise JournalBusyError(message)
        if key not in self.contents:
            message = "there is none"
            raise JournalError(message)
        return Content(data=self.contents[key])

    @property
    def answers(self) -> Answers:
        return cast("Answers", self)


async def test_contents_are_measured_and_one_that_is_gone_has_no_size() -> None:
    extract = await extract_of(Shelf(eventful()).answers, "nightly", sizes=True)
    sizes = {ref.hash: ref.size for ref in export_of(extract).blobs}
    assert sizes == {PNG: 9, BEFORE: 6, AFTER: 5, REST: None}
    assert extract.contents == {}


async def test_contents_are_kept_where_somebody_wants_them() -> None:
    extract = await extract_of(Shelf(eventful()).answers, "nightly", contents=True)
    assert extract.contents == CONTENTS


async def test_no_content_is_fetched_where_nobody_asks_for_it() -> None:
    shelf = Shelf(eventful())
    extract = await extract_of(shelf.answers, "nightly")
    assert (shelf.asked, {ref.size for ref in extract.blobs}) == ([], {None})


async def test_a_service_that_goes_away_has_lost_nothing() -> None:
    with pytest.raises(JournalBusyError):
        await extract_of(Shelf(eventful(), is_busy=True).answers, "nightly", sizes=True)


async def test_what_was_sent_is_named_although_nobody_has_written_it_again() -> None:
    story = eventful()
    wording = Wording(program="1", protocol="openai-chat")
    first = Sent(hash=BEFORE, size=70, wording=wording)
    _put(story.events, "model_call_failed", first)
    _put(story.events, "model_replied", Sent(hash=AFTER, size=80))
    requests = export_of(await extract_of(Shelf(story).answers, "nightly")).requests
    assert [(sent.iteration, sent.number, sent.hash, sent.size, sent.exact) for sent in requests] == [
        (1, 1, BEFORE, 70, None),
        (1, 1, AFTER, 80, None),
    ]


async def test_a_call_whose_end_is_not_on_record_is_named_without_a_hash() -> None:
    story = lost()
    _put(story.events, "model_replied", Sent(hash=AFTER, size=80, wording=Wording(program="1", protocol="openai-chat")))
    requests = export_of(await extract_of(Shelf(story).answers, "nightly")).requests
    assert [(sent.hash, sent.exact) for sent in requests] == [(None, None), (AFTER, None)]


async def test_a_run_that_goes_on_with_another_is_linked_to_it() -> None:
    story = eventful()
    story.events[0] = story.events[0].model_copy(update={"continues": RunId("before")})
    traces = traces_of(await extract_of(Shelf(story).answers, "nightly"), content=False)
    assert '"links"' in str(traces).replace("'", '"')


def _put(events: list[Event], kind: str, sent: Sent) -> None:
    """Let the first fact of a kind say what was sent."""
    place = next(place for place, event in enumerate(events) if event.kind == kind)
    events[place] = events[place].model_copy(update={"sent": (sent,)})


@dataclass
class Family:
    """Answer for several runs."""

    stories: Mapping[RunId, Story]

    async def find(self, text: str) -> RunRow:
        return run_row(self.stories[RunId(text)].state)

    async def events(self, run_id: RunId, after: int, wait_s: float) -> tuple[Placed, ...]:
        assert (after, wait_s) == (0, 0)
        return tuple(Placed(seq=seq, event=event) for seq, event in enumerate(self.stories[run_id].events, 1))


async def test_a_run_is_written_with_its_subagents() -> None:
    parent = a_parent()
    child = its_child(parent).says(says("It is empty."))
    ends(parent, child, answer="It is empty.")
    answers = cast("Answers", Family({parent.run_id: parent, child.run_id: child}))
    extract = await extract_of(answers, parent.run_id)
    document = export_of(extract)

    (nested,) = document.subagents
    assert (nested.run.run_id, nested.answer) == (child.run_id, "It is empty.")
    assert document.loop.iterations[0].calls[0].subagent == nested.loop
    assert Export.model_validate_json(document.model_dump_json()) == document
    assert json.dumps(traces_of(extract, content=True)).count('"invoke_agent explorer"') == 1
