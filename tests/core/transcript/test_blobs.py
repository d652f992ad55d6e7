"""What a run's facts point to."""

from __future__ import annotations

from kova_auto.core.transcript.blobs import BlobRef, BlobUse, blobs_in
from tests.core.transcript.scenes import AFTER, BEFORE, PNG, REST, eventful
from tests.story import Story


def test_images_outputs_and_both_sides_of_a_write_are_found() -> None:
    assert blobs_in(eventful().events) == (
        BlobRef(hash=PNG, use=BlobUse.IMAGE, name="image/png"),
        BlobRef(hash=REST, use=BlobUse.OUTPUT, name="1.2"),
        BlobRef(hash=BEFORE, use=BlobUse.BEFORE, name="/w/b"),
        BlobRef(hash=AFTER, use=BlobUse.AFTER, name="/w/b"),
    )


def test_what_is_pointed_to_twice_is_named_once() -> None:
    events = eventful().events
    assert blobs_in([*events, *events]) == blobs_in(events)


def test_a_run_that_only_begins_points_to_nothing() -> None:
    assert blobs_in(Story().events) == ()
