"""What a service gathers for a run: the files and reports that its job names, and nothing that it must not see."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kova_auto.app.driving import drive_one
from kova_auto.app.house import House
from kova_auto.core.event import ContextAssembled
from kova_auto.core.ids import JobName, RunId, blob_hash, requested_run_id
from kova_auto.core.job import Outcome
from kova_auto.core.message import ImagePart, TextPart
from kova_auto.core.state import RunState
from tests.app.houses import Home, id_of
from tests.support import at

RUN = id_of("look")
REPORTS = '[[turns]]\ntext = "Seven tests are red."\n'


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path.resolve())


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


async def context_of(home: Home, house: House, key: str = "k") -> ContextAssembled:
    """Run the job and return what its model was given."""
    await house.control.request(home.ask("look", key=key))
    run = RunId(requested_run_id(JobName("look"), at("06:00:00"), key))
    await drive_one(house, run, asyncio.Event())
    state = await house.store.journal.load(run)
    assert state.finished
    assert (state.finished.outcome, state.finished.reason) == (Outcome.DONE, "")
    assert state.context
    return state.context


async def test_a_run_without_any_files_is_told_of_none(home: Home) -> None:
    home.job("look")
    async with home.house() as house:
        context = await context_of(home, house)

    assert (context.sources, len(context.prompt)) == ((), 1)
    assert "# Memory" not in context.system
    assert "# Instructions" not in context.system


async def test_memory_and_agents_md_of_user_and_workspace_stand_in_the_system_prompt(home: Home) -> None:
    home.job("look")
    put(home.path / ".kova/memory/MEMORY.md", "(global)")
    put(home.workspace / ".kova/memory/MEMORY.md", "(near)")
    put(home.path / ".kova/AGENTS.md", "(own)")
    put(home.workspace / "AGENTS.md", "(found)")
    async with home.house() as house:
        context = await context_of(home, house)

    places = [context.system.index(text) for text in ("(near)", "(global)", "(own)", "(found)", "Working directory")]
    assert places == sorted(places)
    names = [source.name for source in context.sources]
    assert names == ["workspace/MEMORY.md", "global/MEMORY.md", "~/.kova/AGENTS.md", "AGENTS.md"]


@pytest.mark.parametrize(
    ("place", "text"),
    [("home/.kova/memory/a.md", "(a)"), ("work/.kova/memory/a.md", "(a)")]
    + [(f"{folder}/{name}", "(a)") for folder in ("home/.kova", "work") for name in ("AGENTS.md", "CLAUDE.md")],
)
async def test_a_single_file_of_either_place_is_found(home: Home, place: str, text: str) -> None:
    home.job("look")
    top, _, rest = place.partition("/")
    put((home.path if top == "home" else home.workspace) / rest, text)
    async with home.house() as house:
        context = await context_of(home, house)

    assert text in context.system


async def test_a_memory_behind_a_link_that_leads_nowhere_is_not_taken_for_none(home: Home) -> None:
    home.job("look")
    (home.workspace / ".kova").symlink_to("gone")
    async with home.house() as house:
        context = await context_of(home, house)

    assert "The workspace memory is not read" in str(context.prompt)


@pytest.mark.parametrize(
    ("layers", "shown"), [('["workspace"]', {"(near)"}), ('["global"]', {"(global)"}), ("[]", set())]
)
async def test_only_the_layers_that_the_job_names_are_shown(home: Home, layers: str, shown: set[str]) -> None:
    home.job("look", f"[context]\nmemory = {layers}\n")
    put(home.path / ".kova/memory/MEMORY.md", "(global)")
    put(home.workspace / ".kova/memory/MEMORY.md", "(near)")
    async with home.house() as house:
        context = await context_of(home, house)

    assert {text for text in ("(near)", "(global)") if text in context.system} == shown


async def test_a_home_that_is_the_workspace_has_one_memory(home: Home) -> None:
    home.job("look")
    (home.jobs / "look.toml").write_text(f'prompt = "Look."\nworkspace = "{home.path}"\nscript = "look.script.toml"\n')
    put(home.path / ".kova/memory/MEMORY.md", "(once)")
    async with home.house() as house:
        context = await context_of(home, house)

    assert context.system.count("(once)") == 1


async def test_a_job_with_its_own_memory_knows_what_the_run_before_reported(home: Home) -> None:
    home.job("look", '[context]\nmemory = ["job"]\n', REPORTS)
    async with home.house() as house:
        first = await context_of(home, house, "a")
        second = await context_of(home, house, "b")

    assert "Earlier runs" not in first.system
    assert "Seven tests are red." in second.system
    assert [source.name for source in second.sources] == ["earlier runs of this job"]


async def test_no_secret_is_shown_not_even_a_half_of_one_that_a_cut_leaves(home: Home) -> None:
    key = "sk-" + "0123456789abcdef" * 4
    home = Home(home.path, {"KEY": key})
    home.job("look", '[env]\nKEY = { env = "KEY" }\n')
    put(home.workspace / "AGENTS.md", "x" * (16_000 - 30) + key)
    put(home.workspace / ".kova/memory/MEMORY.md", f"The key is {key}.")
    async with home.house() as house:
        context = await context_of(home, house)

    assert key[:12] not in context.system
    assert context.system.count("x" * 15_000) == 1


async def test_what_the_prompt_mentions_stands_behind_it_and_may_be_edited_at_once(home: Home) -> None:
    edit = '{ file_path = "a.txt", old_string = "one", new_string = "two" }'
    script = f'[[turns]]\n[[turns.calls]]\ntool = "edit"\nargs = {edit}\n[[turns]]\ntext = "Done."\n'
    home.job("look", 'automation = "workspace-write"\n', script)
    (home.jobs / "look.toml").write_text(
        (home.jobs / "look.toml").read_text().replace("Look.", "Look at @a.txt, @b.md.")
    )
    put(home.workspace / "a.txt", "one\n")
    async with home.house() as house:
        context = await context_of(home, house)

    prompt, file, notice = (part.text for part in context.prompt if isinstance(part, TextPart))
    assert prompt == "Look at @a.txt, @b.md."
    assert "a.txt\n1\tone\n" in file
    assert notice == "[mention @b.md is not shown: there is no b.md]"
    assert (home.workspace / "a.txt").read_text() == "two\n"


async def test_what_an_input_brings_is_never_a_mention(home: Home) -> None:
    home.job("look", '[inputs]\ntitle = "see @a.txt"\n')
    (home.jobs / "look.toml").write_text(
        (home.jobs / "look.toml").read_text().replace("Look.", "{{ inputs.title }} @{{ inputs.title }}")
    )
    put(home.workspace / "a.txt", "one\n")
    async with home.house() as house:
        context = await context_of(home, house)

    assert [part for part in context.prompt if isinstance(part, TextPart)] == [TextPart(text="see @a.txt @see @a.txt")]


async def test_what_is_attached_stands_behind_the_prompt_from_beside_the_job_too(home: Home) -> None:
    home.jobs.mkdir(parents=True)
    put(home.jobs / "policy.txt", "Refunds take five days.\n")
    near = f"../../../{home.workspace.name}/a.txt"
    home.job("look", f'isolation = "copy"\n[context]\nattachments = ["policy.txt", "{near}"]\n')
    put(home.workspace / "a.txt", "one\n")
    async with home.house() as house:
        context = await context_of(home, house)

    (_, shown) = context.prompt
    assert isinstance(shown, TextPart)
    assert "policy.txt\nRefunds take five days.\n" in shown.text
    assert "a.txt\none\n" in shown.text


async def test_a_run_whose_attachment_is_gone_is_blocked_before_any_model_is_called(home: Home) -> None:
    home.jobs.mkdir(parents=True)
    put(home.jobs / "policy.txt", "Refunds take five days.\n")
    home.job("look", '[context]\nattachments = ["policy.txt"]\n')
    async with home.house() as house:
        await house.control.request(home.ask("look"))
        (home.jobs / "policy.txt").unlink()
        await drive_one(house, RUN, asyncio.Event())
        state = await house.store.journal.load(RUN)

    assert state.finished
    assert (state.finished.outcome, state.model_calls) == (Outcome.BLOCKED, 0)
    assert state.finished.reason == f"context.attachments: there is no {home.jobs}/policy.txt"


async def test_all_of_a_long_attachment_can_be_read(home: Home) -> None:
    home.jobs.mkdir(parents=True)
    text = "".join(f"line {number}\n" for number in range(10_000))
    put(home.jobs / "policy.txt", text)
    path = f"blob:{blob_hash(text.encode())[:12]}"
    args = f'{{ file_path = "{path}", offset = 10000 }}'
    script = f'[[turns]]\n[[turns.calls]]\nid = "it"\ntool = "read"\nargs = {args}\n'
    home.job(
        "look", '[context]\nattachments = ["policy.txt"]\n', script + '[[turns]]\ntext = "{{ results.it.text }}"\n'
    )
    async with home.house() as house:
        context = await context_of(home, house)
        state = await house.store.journal.load(RUN)

    assert context.rests == (blob_hash(text.encode()),)
    assert state.finished
    assert "10000\tline 9999" in state.finished.answer


async def continued(house: House, before: RunId, key: str) -> RunState:
    """Run the job of a run once more, in its session."""
    state = await house.store.journal.load(before)
    run = requested_run_id(JobName("look"), at("07:00:00"), key)
    await house.store.journal.open(state.request.model_copy(update={"run_id": run, "continues": before}))
    await drive_one(house, run, asyncio.Event())
    return await house.store.journal.load(run)


async def test_a_run_that_continues_another_is_told_what_was_said_there(home: Home) -> None:
    script = """
    [[turns]]
    [[turns.calls]]
    tool = "read"
    args = { file_path = "a.txt" }
    [[turns]]
    text = "It says one."
    [[turns]]
    text = "Again: one."
    """
    home.job("look", script=script)
    put(home.workspace / "a.txt", "one\n")
    async with home.house() as house:
        first = await context_of(home, house)
        second = await continued(house, RUN, "b")
        third = await continued(house, second.run_id, "c")

    assert first.history == ()
    assert second.context
    assert [message.role for message in second.context.history] == ["user", "assistant", "tool", "assistant"]
    assert second.finished
    assert second.finished.answer == "Again: one."
    assert str(home.workspace / "a.txt") in second.seen
    assert third.context
    assert [message.role for message in third.context.history].count("user") == 2


async def test_a_run_that_continues_one_that_is_gone_is_blocked(home: Home) -> None:
    home.job("look")
    async with home.house() as house:
        await context_of(home, house)
        state = await house.store.journal.load(RUN)
        request = state.request.model_copy(update={"run_id": RunId("look@gone"), "continues": RunId("look@never")})
        await house.store.journal.open(request)
        await drive_one(house, RunId("look@gone"), asyncio.Event())
        ended = (await house.store.journal.load(RunId("look@gone"))).finished

    assert ended
    assert ended.outcome is Outcome.BLOCKED
    assert ended.reason == "run look@never, which this one continues, is not on record any more"


async def test_an_image_that_is_mentioned_is_kept_with_the_run(home: Home) -> None:
    png = b"\x89PNG\r\n\x1a\n" + bytes(20)
    home.job("look")
    (home.jobs / "look.toml").write_text((home.jobs / "look.toml").read_text().replace("Look.", "Look at @a.png."))
    (home.workspace / "a.png").write_bytes(png)
    async with home.house() as house:
        context = await context_of(home, house)
        kept = await house.store.journal.blob(blob_hash(png))

    assert context.prompt[-1] == ImagePart(blob=blob_hash(png), media_type="image/png")
    assert kept == png
