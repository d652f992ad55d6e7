"""What Apprise carries is owed, tried again and recorded as all else is; no request of ours is made for it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from kova_auto.core.delivery.notifier import Note
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult
from kova_auto.core.delivery.target import FormatName
from kova_auto.core.errors import ConfigError
from kova_auto.delivery.courier import Courier
from tests.delivery.desks import Desk


@dataclass
class Scripted:
    """Carry notes nowhere, and say what was scripted; an empty script is an extra that is not installed."""

    results: list[AttemptResult] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    async def notify(self, url: str, note: Note, *, deadline_s: float) -> AttemptResult:
        if not self.results:
            msg = "wanted a package that is not installed"
            raise ConfigError(msg, hint="pip install 'kova-auto[apprise]'")
        self.notes.append(note)
        return self.results.pop(0)


SENT = AttemptResult(AttemptOutcome.DELIVERED, "Apprise says that it was sent")
FAILED = AttemptResult(AttemptOutcome.SERVER_ERROR, "Apprise says that it was not sent")


def a_desk(carrier: Scripted) -> tuple[Desk, Courier]:
    desk = Desk(formats={"post": FormatName.APPRISE})
    made = replace(desk.courier().attempts, notifier=carrier)
    return desk, Courier(made, desk.journal, "one")


async def test_a_note_is_carried_recorded_and_no_request_made() -> None:
    carrier = Scripted([SENT])
    desk, courier = a_desk(carrier)
    await desk.owes("post")

    assert await courier.deliver_due() == 1

    (row,) = await desk.rows()
    assert (row.status, row.detail) == ("delivered", "Apprise says that it was sent")
    assert [note.title for note in carrier.notes] == ["✅ nightly: done"]
    assert desk.sent == []


async def test_a_note_that_failed_is_the_same_when_it_is_tried_again() -> None:
    carrier = Scripted([FAILED, SENT])
    desk, courier = a_desk(carrier)
    await desk.owes("post")

    await courier.deliver_due()
    desk.clock.later(300)
    await courier.deliver_due()

    assert carrier.notes[0] == carrier.notes[1]
    assert await desk.statuses() == {"post": "delivered"}


async def test_without_the_extra_a_message_is_kept_until_it_is_installed() -> None:
    carrier = Scripted()
    desk, courier = a_desk(carrier)
    await desk.owes("post")

    await courier.deliver_due()
    (held,) = await desk.rows()
    carrier.results.append(SENT)
    desk.clock.later(3600)
    await courier.deliver_due()

    assert (held.status, await desk.statuses()) == ("waiting", {"post": "delivered"})
    assert held.detail.startswith("wanted a package that is not installed")
