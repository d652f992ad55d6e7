"""Runs that keep notes: as their level lets them, journaled and taken back, and from workspaces of their own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kova_auto.app.driving import drive_one
from kova_auto.app.house import House
from kova_auto.core.ids import CallId
from kova_auto.core.message import ResultStatus
from kova_auto.core.state import RunState
from tests.app.houses import Home, id_of
from tests.app.test_staging import git

OK, DENIED = ResultStatus.OK, ResultStatus.DENIED
KEEPS = """
[[turns]]
[[turns.calls]]
tool = "memory_write"
args = { scope = "workspace", content = "Use tabs." }
[[turns.calls]]
tool = "memory_write"
args = { scope = "global", content = "Answer in German." }
[[turns]]
text = "Done."
"""
READS = """
[[turns]]
[[turns.calls]]
tool = "memory_read"
args = { scope = "workspace", file = "MEMORY.md" }
[[turns.calls]]
tool = "memory_search"
args = { query = "tabs german" }
[[turns]]
text = "Done."
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def here(home: Home) -> Path:
    return home.workspace / ".kova" / "memory"


def everywhere(home: Home) -> Path:
    return home.path / ".kova" / "memory"


async def ran(home: Home, house: House, more: str, script: str = KEEPS, *, staged: bool = False) -> RunState:
    home.job("look", more, script)
    await house.control.request(home.ask("look", staged=staged))
    await drive_one(house, id_of("look"), asyncio.Event())
    return await house.store.journal.load(id_of("look"))


def statuses(state: RunState) -> list[ResultStatus | None]:
    return [call.result.status if call.result else None for call in state.calls.values()]


@pytest.mark.parametrize(
    ("level", "found"),
    [("read-only", [DENIED, DENIED]), ("workspace-write", [OK, DENIED]), ("full", [OK, OK])],
)
async def test_the_level_says_which_memory_a_run_writes(home: Home, level: str, found: list[ResultStatus]) -> None:
    async with home.house() as house:
        state = await ran(home, house, f'automation = "{level}"\n')
    assert statuses(state) == found
    assert [(place / "MEMORY.md").exists() for place in (here(home), everywhere(home))] == [one is OK for one in found]


async def test_a_write_is_shown_and_taken_back_in_both_memories(home: Home) -> None:
    here(home).mkdir(parents=True)
    (here(home) / "MEMORY.md").write_text("# Ours\n")
    async with home.house() as house:
        state = await ran(home, house, 'automation = "full"\n')
        call = state.calls[CallId("1.1")]
        assert call.result
        assert [plan.change for plan in call.planned] == list(call.result.changes)

        diff = await house.control.checkpoints.diff(state)
        assert "+++ b/.kova/memory/MEMORY.md" in diff
        assert "+Use tabs." in diff
        assert "+Answer in German." in diff

        done = await house.control.checkpoints.undo(state)
    assert (len(done.restored), done.refused) == (2, ())
    assert (here(home) / "MEMORY.md").read_text() == "# Ours\n"
    assert not (everywhere(home) / "MEMORY.md").exists()


async def test_a_staged_run_writes_neither_memory(home: Home) -> None:
    async with home.house() as house:
        state = await ran(home, house, 'automation = "full"\n', staged=True)
    assert statuses(state) == [OK, ResultStatus.ERROR]
    assert "is staged" in state.calls[CallId("1.2")].result.text  # type: ignore[union-attr]  # it has one
    assert not here(home).exists()
    assert not everywhere(home).exists()


@pytest.mark.parametrize(
    ("memory", "offered"), [('["workspace"]', 3), ('["global", "job"]', 3), ('["job"]', 0), ("[]", 0)]
)
async def test_a_model_is_told_of_the_tools_where_its_job_has_notes(home: Home, memory: str, offered: int) -> None:
    async with home.house() as house:
        state = await ran(home, house, f"context = {{ memory = {memory} }}\n", READS)
    assert state.context
    assert sum(tool.name.startswith("memory_") for tool in state.context.tools) == offered


async def test_a_run_that_only_reads_finds_the_notes_of_both(home: Home) -> None:
    for place, text in ((here(home), "Use tabs.\n"), (everywhere(home), "Answer in German.\n")):
        place.mkdir(parents=True)
        (place / "MEMORY.md").write_text(text)
    async with home.house() as house:
        state = await ran(home, house, "", READS)
    read, searched = (call.result.text for call in state.calls.values() if call.result)
    assert read == "Use tabs.\n"
    assert sorted(searched.splitlines()) == [
        "global/MEMORY.md:1: Answer in German.",
        "workspace/MEMORY.md:1: Use tabs.",
    ]


@pytest.mark.parametrize("isolation", ["copy", "worktree"])
async def test_a_run_apart_remembers_what_is_not_committed_and_its_notes_are_applied(
    home: Home, isolation: str
) -> None:
    here(home).mkdir(parents=True)
    (here(home) / "MEMORY.md").write_text("# Ours\n")
    if isolation == "worktree":
        (home.workspace / ".gitignore").write_text(".kova/\n")
        git(home.workspace, "init", "--quiet")
        git(home.workspace, "add", ".gitignore")
        git(home.workspace, "commit", "--quiet", "-m", "First")
    async with home.house() as house:
        state = await ran(home, house, f'automation = "workspace-write"\nisolation = "{isolation}"\n')
        assert state.finished
        assert state.finished.kept.endswith("1 changed file")
        assert (here(home) / "MEMORY.md").read_text() == "# Ours\n"

        applied = await house.control.checkpoints.apply(state, control=False, check=False)
    assert (applied.files, applied.refused) == ((".kova/memory/MEMORY.md",), ())
    text = (here(home) / "MEMORY.md").read_text()
    assert text.startswith("# Ours\n\n<!-- ")
    assert text.endswith(" -->\nUse tabs.\n")
    assert sorted(path.name for path in here(home).iterdir()) == ["MEMORY.md"]


async def test_a_secret_is_never_kept(home: Home) -> None:
    secret = Home(home.path, {"KEY_OF_OURS": "s3cr3t-of-ours-1234567890"})
    script = KEEPS.replace("Use tabs.", "The key is s3cr3t-of-ours-1234567890.")
    async with secret.house() as house:
        state = await ran(secret, house, 'automation = "full"\nenv = { KEY = { env = "KEY_OF_OURS" } }\n', script)
    assert statuses(state)[0] is ResultStatus.ERROR
    assert not any(b"s3cr3t" in path.read_bytes() for path in here(home).rglob("*") if path.is_file())
