"""What every journal and every set of views knows of children: one suite for SQLite, PostgreSQL and the double."""

from __future__ import annotations

from kova_auto.core.event import FamilyCounted, StopRequested
from kova_auto.core.ids import CallId, JobName, child_run_id
from kova_auto.core.job import Outcome
from kova_auto.core.ports import Journal, Views
from kova_auto.core.reserving import reserved
from tests.ports.families import PARENT, a_parent, answers, asking, ended, write
from tests.support import a_request, at, ready, replied, says

FIRST, SECOND = child_run_id(PARENT, CallId("1.1")), child_run_id(PARENT, CallId("1.2"))
NIGHTLY = JobName("nightly")


async def test_the_end_of_a_child_is_in_its_parents_journal_at_once(journal: Journal) -> None:
    await a_parent(journal, 2)
    child = await answers(journal, FIRST)
    await journal.append(child, ended())
    parent = await journal.load(PARENT)

    finished = parent.children[CallId("1.1")].finished
    assert finished
    assert (finished.run_id, finished.outcome, finished.report) == (FIRST, Outcome.DONE, "mended")
    assert finished.usage.input_tokens == 10
    assert parent.children[CallId("1.2")].finished is None
    facts = [fact.kind for _, fact in await journal.events(PARENT)]
    assert facts.count("child_finished") == 1


async def test_whoever_writes_in_a_parents_journal_meanwhile_folds_it_in(journal: Journal) -> None:
    before = await a_parent(journal, 2)
    await journal.append(await answers(journal, FIRST), ended())
    await journal.append(await answers(journal, SECOND), ended())
    stop = StopRequested(at=at("06:00:05"), outcome=Outcome.CANCELLED, reason="enough", by="ada")
    after = await journal.append(before, stop)

    assert all(child.finished for child in after.children.values())
    assert after == await journal.load(PARENT)


async def test_a_child_ends_though_its_parent_has_gone_before(journal: Journal) -> None:
    parent = await a_parent(journal, 1)
    await write(journal, parent, ended(outcome=Outcome.FAILED, answer=""))
    after = await journal.append(await answers(journal, FIRST), ended())
    assert after.finished


async def test_the_runs_of_a_family_are_found_by_its_first(journal: Journal, views: Views) -> None:
    await a_parent(journal, 2)
    await journal.open(a_request("weekly@1"))
    rows = await views.descendants(PARENT)
    assert [(row.run_id, row.parent, row.root, row.agent) for row in rows] == [
        (FIRST, PARENT, PARENT, "fixer"),
        (SECOND, PARENT, PARENT, "fixer"),
    ]
    assert list(await views.descendants(FIRST)) == []


async def test_what_the_others_of_a_family_have_used_is_summed(journal: Journal, views: Views) -> None:
    await a_parent(journal, 2)
    await journal.append(await answers(journal, FIRST), ended())
    await answers(journal, SECOND, "06:00:09")

    of_parent = await views.family_use(PARENT, PARENT, None)
    of_second = await views.family_use(PARENT, SECOND, None)
    later = await views.family_use(PARENT, PARENT, at("06:00:08"))

    assert (of_parent.tokens, of_parent.members) == (20, 2)
    assert (of_second.tokens, of_second.members) == (20, 2)
    assert round(of_parent.cost_usd, 6) == 0.002
    assert (later.tokens, later.members) == (10, 2)


async def test_what_the_others_set_aside_is_summed_until_they_have_ended(journal: Journal, views: Views) -> None:
    await a_parent(journal, 2)
    counted = FamilyCounted(at=at("06:00:04"), tokens=20, cost_usd=0.0, members=3)
    first = await write(journal, await answers(journal, FIRST), counted)
    own = reserved(first)
    while_it_has_not = await views.family_use(PARENT, SECOND, None)
    of_first = await views.family_use(PARENT, FIRST, None)
    await journal.append(first, ended())
    at_the_end = await views.family_use(PARENT, SECOND, None)

    assert own.tokens > 0
    assert (while_it_has_not.reserved_tokens, while_it_has_not.reserved_usd) == own
    assert (of_first.reserved_tokens, of_first.reserved_usd) == (0, 0.0)
    assert (at_the_end.reserved_tokens, at_the_end.reserved_usd) == (0, 0.0)


async def test_a_run_without_children_is_a_family_of_one(journal: Journal, views: Views) -> None:
    await journal.open(a_request("weekly@1"))
    alone = await views.family_use(a_request("weekly@1").run_id, a_request("weekly@1").run_id, None)
    assert (alone.tokens, alone.cost_usd, alone.members) == (0, 0.0, 1)


async def test_what_looks_at_the_runs_of_a_job_sees_no_child(journal: Journal, views: Views) -> None:
    parent = await a_parent(journal, 2)
    await journal.append(await answers(journal, FIRST), ended("06:00:07", answer="of a child"))
    other = a_request("nightly@2", job=parent.job, at=at("06:10:00"))
    await journal.open(other)

    assert [row.run_id for row in await views.runs()] == ["nightly@2", PARENT]
    assert [row.run_id for row in await views.runs(job=NIGHTLY, unfinished=True)] == ["nightly@2", PARENT]
    assert list(await views.last_runs(NIGHTLY, before=other.run_id, limit=5)) == []
    assert await views.previous(NIGHTLY, other.run_id) is None
    assert list(await views.ended(at("05:00:00"))) == []
    assert [row.run_id for row in await views.meant_for(NIGHTLY, at("05:00:00"), at("07:00:00"))] == [PARENT]


async def test_what_children_use_says_of_which_subagent_it_is(journal: Journal, views: Views) -> None:
    await a_parent(journal, 1)
    await answers(journal, FIRST)
    assert [(row.run_id, row.agent) for row in await views.usage()] == [(PARENT, ""), (FIRST, "fixer")]


async def test_what_children_spend_is_spent_by_their_job(journal: Journal, views: Views) -> None:
    await a_parent(journal, 1)
    await answers(journal, FIRST)
    assert round(await views.spent_usd(NIGHTLY, at("06:00:00")), 6) == 0.002


async def test_a_run_that_waits_for_children_can_go_on_when_they_have_ended(journal: Journal, views: Views) -> None:
    parent = await a_parent(journal, 1)
    await write(journal, parent, asking(2), replied(2, says("So."), when=at("06:00:03")))
    assert ready(await views.agenda(at("06:00:04"))) == [FIRST]
    row = await views.run(PARENT)
    assert row
    assert row.resting
    await journal.append(await answers(journal, FIRST), ended())
    assert ready(await views.agenda(at("06:00:05"))) == [PARENT]
