"""What a job's earlier runs mean for the next: which model "auto" stays, what is left of money, what they said."""

from __future__ import annotations

import logging
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from kova_auto.app.discovery import nobody
from kova_auto.app.past import Past
from kova_auto.app.pinning import Chain, Pinning
from kova_auto.core.context.digest import NO_DIGEST
from kova_auto.core.errors import ConfigError, IllegalEventError
from kova_auto.core.event import RunRequested
from kova_auto.core.ids import RunId
from kova_auto.core.job import Job
from kova_auto.core.ports import Journal
from kova_auto.core.provider import Provider, configured
from kova_auto.scheduling.jobfiles import load_job
from tests.app.houses import Home, id_of
from tests.doubles.clock import HandClock
from tests.doubles.journal import MemoryJournal
from tests.story import Story
from tests.support import a_job, a_request, at, says

SMALL = configured("small", {"base_url": "http://127.0.0.1:9/v1", "default_model": "s"})
BIG = configured("big", {"base_url": "http://127.0.0.1:9/v1", "default_model": "b"})
LOCKED = configured("small", {"base_url": "https://models.example.org/v1", "default_model": "s", "needs_key": True})
NOON = at("12:00:00")
SETTINGS = """
timezone = "Europe/Berlin"
[providers.small]
base_url = "http://127.0.0.1:9/v1"
default_model = "s"
"""


def ran(run_id: str, model: str, *, job: Job | None = None, when: str = "06:00:00", cost_usd: float = 0.0) -> Story:
    """Tell of a run in which a model answered."""
    story = Story(a_request(run_id, job=job, model=model, at=at(when)), model=model)
    return story.says(says("Done.", cost_usd=cost_usd)).ends(answer="Done.")


async def kept(journal: Journal, *stories: Story) -> None:
    """Keep runs in a journal."""
    for story in stories:
        first, *rest = story.events
        assert isinstance(first, RunRequested)
        state, _ = await journal.open(first)
        for event in rest:
            state = await journal.append(state, event)


async def scheduled(journal: MemoryJournal, *known: Provider, job: Job | None = None) -> Chain:
    """Return the models of the job's next scheduled run, the first provider being what "auto" means."""
    past = Past(journal, journal, lambda _: ZoneInfo("UTC"))
    job, pinning = job or a_job(), Pinning({one.name: one for one in known}, nobody)
    return await past.chain(job, NOON, pinning, await pinning.chain(job, NOON))


def names(chain: Chain) -> list[str]:
    return [pin.name for pin in chain.pins]


async def test_a_scheduled_run_stays_with_the_model_that_auto_was_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    journal = MemoryJournal()
    await kept(journal, ran("nightly@1", "small/s"))

    with caplog.at_level(logging.INFO, "kova_auto.app.past"):
        assert names(await scheduled(journal, SMALL, BIG)) == ["small/s"]
        assert caplog.messages == []
        assert names(await scheduled(journal, BIG, SMALL)) == ["small/s"]
    assert caplog.messages == [
        "nightly stays with small/s; auto is big/b now, and a run by hand (kova-auto run nightly) moves it"
    ]


async def test_a_run_by_hand_moves_it(home: Home) -> None:
    home.settings(SETTINGS.replace("small", "big"))
    home.job("look", script=None)
    async with home.house() as house:
        path = home.jobs / "look.toml"
        await kept(house.store.journal, ran("look@1", "ollama/s", job=load_job(path)))
        before = await house.opening.of_occurrence(load_job(path), NOON)
        by_hand = await house.opening.of_request(home.ask("look"))
        await kept(house.store.journal, ran("look@2", by_hand.model, job=load_job(path), when="08:00:00"))
        after = await house.opening.of_occurrence(load_job(path), NOON)

    assert [opened.model for opened in (before, by_hand, after)] == ["ollama/s", "big/s", "big/s"]
    assert [pin.name for pin in before.pins] == ["ollama/s"]


@pytest.mark.parametrize("known", [(BIG,), (BIG, LOCKED)])
async def test_a_model_that_cannot_be_asked_any_more_is_left(
    known: tuple[Provider, ...], caplog: pytest.LogCaptureFixture
) -> None:
    journal = MemoryJournal()
    await kept(journal, ran("nightly@1", "small/s"))

    with caplog.at_level(logging.INFO, "kova_auto.app.past"):
        assert names(await scheduled(journal, *known)) == ["big/b"]
    (line,) = caplog.messages
    assert line.startswith("nightly leaves small/s: ")


async def test_a_model_that_the_job_named_then_is_not_what_auto_was() -> None:
    journal = MemoryJournal()
    await kept(journal, ran("nightly@1", "small/s", job=a_job(model="small/s")))

    assert names(await scheduled(journal, BIG, SMALL)) == ["big/b"]


async def test_a_job_that_names_its_models_is_asked_what_it_says() -> None:
    journal = MemoryJournal()
    await kept(journal, ran("nightly@1", "small/s"))

    for job in (a_job(model="big/x"), a_job(model=["auto", "small/s"])):
        assert names(await scheduled(journal, BIG, SMALL, job=job))[0].startswith("big/")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def test_a_run_knows_what_its_job_has_spent_on_this_day_of_its_zone(home: Home) -> None:
    home.settings(SETTINGS)
    path = home.job("look", script=None)
    async with home.house(HandClock(at("23:30:00"))) as house:
        await kept(
            house.store.journal,
            ran("look@1", "small/s", when="22:58:00", cost_usd=0.5),
            ran("look@2", "small/s", when="23:01:00", cost_usd=0.25),
            ran("other@1", "small/s", when="23:01:00", cost_usd=4.0),
        )
        opened = await house.opening.of_occurrence(load_job(path), at("23:00:00"))

    assert opened.day_spent_usd == 0.25


async def test_a_run_by_hand_is_refused_once_the_day_is_spent(home: Home) -> None:
    home.settings(SETTINGS)
    path = home.job("look", script=None)
    async with home.house(HandClock(NOON)) as house:
        await kept(house.store.journal, ran("look@1", "small/s", cost_usd=5.25))
        with pytest.raises(ConfigError) as caught:
            await house.control.request(home.ask("look"))
        assert await house.store.views.runs(unfinished=True) == []

    assert str(caught.value) == (
        f"{path}: 5.2500 USD were spent today (limits.cost_usd_per_day = 5) "
        "(raise it, or ask again after midnight in Europe/Berlin)"
    )


async def test_a_further_attempt_is_refused_once_the_day_is_spent(home: Home) -> None:
    home.settings(SETTINGS)
    async with home.house(HandClock(NOON)) as house:
        await kept(house.store.journal, ran("look@1", "small/s", cost_usd=1.0), ran("look@2", "small/s", cost_usd=3.5))
        again = await house.control.retry(RunId("look@1"), "ann")
        await kept(house.store.journal, ran("look@3", "small/s", cost_usd=0.5))
        with pytest.raises(IllegalEventError) as caught:
            await house.control.retry(RunId("look@2"), "ann")
        state = await house.store.journal.load(RunId("look@1"))

    assert (again.attempt, state.day_before_usd) == (2, 4.5)
    assert str(caught.value) == "5.0000 USD were spent today (limits.cost_usd_per_day = 5)"


async def test_a_script_is_played_on_a_day_that_is_spent(home: Home) -> None:
    home.job("look")
    async with home.house(HandClock(NOON)) as house:
        await kept(house.store.journal, ran("look@1", "small/s", cost_usd=5.25))
        row = await house.control.request(home.ask("look"))

    assert (row.run_id, row.scripted) == (id_of("look"), True)


async def test_a_run_is_told_what_the_one_before_reported_in_the_zone_of_its_job() -> None:
    journal = MemoryJournal()
    await kept(journal, ran("nightly@1", "small/s"), ran("weekly@1", "small/s"), ran("nightly@2", "small/s"))
    past = Past(journal, journal, lambda _: ZoneInfo("Europe/Berlin"))

    told = (await past.digest(a_job(), RunId("nightly@2"))).text
    assert "\n2026-12-01 07:00 done: Done.\n>>> " in told
    assert told.count("done: Done.") == 1
    assert await past.digest(a_job("monthly"), RunId("monthly@1")) == NO_DIGEST


async def test_what_a_run_reported_that_had_read_untrusted_text_taints_the_next() -> None:
    journal = MemoryJournal()
    request = a_request("nightly@1", model="small/s", tainted_by="the web page https://example.org")
    await kept(journal, Story(request).says(says("Obey.")).ends(answer="Obey."))
    past = Past(journal, journal, lambda _: ZoneInfo("UTC"))

    digest = await past.digest(a_job(), RunId("nightly@2"))
    assert digest.tainted_by == "the report of nightly@1, which had read the web page https://example.org"


async def test_the_hundredth_run_is_told_no_more_than_the_tenth() -> None:
    journal = MemoryJournal()
    past = Past(journal, journal, lambda _: ZoneInfo("UTC"))
    sizes: dict[int, int] = {}
    for number in range(10, 100):
        await kept(journal, ran(f"nightly@{number}", "small/s"))
        sizes[number] = len((await past.digest(a_job(), RunId("nightly@100"))).text)
    assert sizes[99] == sizes[20]
