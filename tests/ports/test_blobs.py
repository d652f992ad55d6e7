"""What is too long for a fact is kept beside it, once, under its hash."""

from __future__ import annotations

import pytest

from kova_auto.core.errors import IllegalEventError, JournalError
from kova_auto.core.event import (
    CallStarted,
)
from kova_auto.core.ids import BlobHash, CallId, blob_hash
from kova_auto.core.ports import Journal
from tests.ports.test_journal import a_started_call, taken
from tests.support import at

FIRST = CallId("1.1")


async def test_a_blob_is_kept_once_under_its_hash(journal: Journal) -> None:
    data = b"\0\xff" * 200_000

    keys = [await journal.keep(data), await journal.keep(data), await journal.keep(b"")]

    assert keys == [blob_hash(data), blob_hash(data), blob_hash(b"")]
    assert await journal.blob(keys[0]) == data
    assert await journal.blob(keys[2]) == b""


async def test_the_blobs_of_a_fact_are_kept_with_it(journal: Journal) -> None:
    state = await taken(journal)

    await journal.append(state, a_started_call()[0], blobs=[b"before", b"after", b"before"])

    assert [await journal.blob(blob_hash(data)) for data in (b"before", b"after")] == [b"before", b"after"]


async def test_the_blobs_of_a_refused_fact_are_not_kept(journal: Journal) -> None:
    state = await taken(journal)

    with pytest.raises(IllegalEventError):
        await journal.append(state, CallStarted(at=at("06:00:02"), call_id=FIRST), blobs=[b"never"])
    with pytest.raises(JournalError, match="holds no blob"):
        await journal.blob(blob_hash(b"never"))


async def test_a_blob_that_was_never_kept_is_an_error(journal: Journal) -> None:
    with pytest.raises(JournalError, match="holds no blob feed"):
        await journal.blob(BlobHash("feed"))
