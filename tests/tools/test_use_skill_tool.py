"""Loading a skill gives its instructions, its folder and what lies there; it reads nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kova_auto.core.approval.levels import Effect
from kova_auto.core.errors import ToolError, ToolFailedError
from kova_auto.core.ids import blob_hash
from kova_auto.core.skill_facts import OfferedSkill, UsedSkill
from kova_auto.core.tool import PathFact, Scene, Zone
from kova_auto.knowledge.skills import parse_skill
from kova_auto.tools.read import ReadArguments, ReadTool
from kova_auto.tools.roots import Roots
from kova_auto.tools.toolbox import LocalToolbox
from kova_auto.tools.use_skill import UseSkillArguments, UseSkillTool
from tests.tools.tool_scenes import ALLOWED, a_call, a_scene, no_blob, play, played, put, some_roots

HEAD = "---\nname: {name}\ndescription: Does one thing.\n{more}---\n"


@pytest.fixture
def roots() -> Iterator[Roots]:
    known = some_roots()
    yield known
    known.close()


def write(folder: Path, *, more: str = "", body: str = "Do it.\n") -> Path:
    put(folder / "SKILL.md", (HEAD.format(name=folder.name, more=more) + body).encode())
    return folder


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "W").mkdir()
    return tmp_path.resolve()


def scene_with(top: Path, *folders: Path) -> Scene:
    offered = tuple(OfferedSkill(name=folder.name, folder=str(folder)) for folder in folders)
    return replace(a_scene(top / "W"), skills=offered)


def tool(roots: Roots) -> UseSkillTool:
    return UseSkillTool(roots, parse_skill)


async def test_the_model_is_told_instructions_folder_and_files(top: Path, roots: Roots) -> None:
    folder = write(top / "W/.kova/skills/notes", more="compatibility: Needs git.\n", body="See `references/a.md`.\n")
    for name in ("references/a.md", "scripts/run.py", "scripts/deep/x.sh", "reference.md"):
        put(folder / name, b"x")
    for name in (".hidden", "node_modules/m.js", "scripts/__pycache__/run.pyc"):
        put(folder / name, b"x")
    (folder / "out.md").symlink_to(top)
    done = await play(tool(roots), scene_with(top, folder), name="notes")

    assert "The skill notes, from .kova/skills/notes/SKILL.md." in done.text
    assert "Paths in it begin at its folder, .kova/skills/notes:" in done.text
    assert "\nSee `references/a.md`.\n>>> " in done.text
    listed = done.text.partition("Files in its folder:\n")[2].partition("\n\n")[0].splitlines()
    assert listed == ["- reference.md", "- references/a.md", "- scripts/deep/x.sh", "- scripts/run.py"]
    assert "\n\nIt needs: Needs git.\n\n<<< " in done.text


async def test_what_it_has_loaded_is_on_record(top: Path, roots: Roots) -> None:
    folder = write(top / "W/.kova/skills/notes", more="allowed-tools: Read Bash(git:*)\n")
    done = await play(tool(roots), scene_with(top, folder), name="notes")
    tools = ("read", "bash", "task_output", "task_stop")

    assert done.result.skill == UsedSkill(name="notes", folder=str(folder), tools=tools)
    assert done.result.reads == {f"{folder}/SKILL.md": blob_hash((folder / "SKILL.md").read_bytes())}
    assert done.result.taints == ""
    assert "no others are allowed, but those of other skills that you load: read, bash, task_output" in done.text


async def test_a_skill_without_a_list_says_nothing_about_tools(top: Path, roots: Roots) -> None:
    folder = write(top / "W/.kova/skills/notes")
    done = await play(tool(roots), scene_with(top, folder), name="notes")

    assert done.result.skill == UsedSkill(name="notes", folder=str(folder))
    assert "\n\nThere are no other files in its folder.\n\n<<< " in done.text


async def test_the_folder_stands_where_instructions_write_for_it(top: Path, roots: Roots) -> None:
    body = "Run `python ${CLAUDE_SKILL_DIR}/scripts/a.py`, or {baseDir}/b.sh\n"
    folder = write(top / "home/.kova/skills/notes", body=body)
    done = await play(tool(roots), scene_with(top, folder), name="notes")

    assert f"Run `python {folder}/scripts/a.py`, or {folder}/b.sh\n" in done.text


async def test_a_skill_of_the_users_counts_as_readable_with_all_that_is_in_it(top: Path, roots: Roots) -> None:
    folder = write(top / "home/.kova/skills/notes")
    put(folder / "references/a.md", b"More.")
    scene, read = scene_with(top, folder), ReadTool(roots, no_blob)
    skill = await tool(roots).facts(a_call("use_skill"), UseSkillArguments(name="notes"), scene)
    path = str(folder / "references/a.md")
    file = await read.facts(a_call("read"), ReadArguments(file_path=path), scene)

    assert (skill.effect, skill.paths) == (
        Effect.READ,
        (PathFact(f"{folder}/SKILL.md", Zone.READ_ROOT, writes=False),),
    )
    assert file.paths == (PathFact(path, Zone.READ_ROOT, writes=False),)
    assert "More." in (await play(read, scene, file_path=path)).text


async def test_what_lies_beside_a_skill_of_the_users_is_elsewhere(top: Path, roots: Roots) -> None:
    folder, other = write(top / "home/.kova/skills/notes"), write(top / "home/.kova/skills/other")
    read = ReadTool(roots, no_blob)
    args = ReadArguments(file_path=str(other / "SKILL.md"))
    facts = await read.facts(a_call("read"), args, scene_with(top, folder))

    assert [path.zone for path in facts.paths] == [Zone.ELSEWHERE]


async def test_no_link_leads_out_of_a_skill_of_the_users(top: Path, roots: Roots) -> None:
    folder = write(top / "home/.kova/skills/notes")
    put(top / "home/private.md", b"Mine.")
    (folder / "sly.md").symlink_to("../../../private.md")
    with pytest.raises(ToolFailedError, match="symbolic link that is not followed"):
        await play(ReadTool(roots, no_blob), scene_with(top, folder), file_path=f"{folder}/sly.md")


async def test_a_skill_that_was_not_offered_is_not_loaded_and_the_others_are_named(top: Path, roots: Roots) -> None:
    folder = write(top / "W/.kova/skills/notes")
    write(top / "W/.kova/skills/hidden")
    for name in ("hidden", "../hidden", "NOTES"):
        with pytest.raises(ToolFailedError, match="there are: notes"):
            await tool(roots).facts(a_call("use_skill"), UseSkillArguments(name=name), scene_with(top, folder))


async def test_a_skill_that_was_broken_or_removed_since_is_named(top: Path, roots: Roots) -> None:
    folder = write(top / "W/.kova/skills/notes")
    scene = scene_with(top, folder)
    put(folder / "SKILL.md", b"# No front matter\n")
    with pytest.raises(ToolError, match=r"the skill notes cannot be used: .*SKILL\.md:1: wanted front matter"):
        await play(tool(roots), scene, name="notes")
    (folder / "SKILL.md").unlink()
    with pytest.raises(ToolError, match=r"notes/SKILL\.md"):
        await play(tool(roots), scene, name="notes")


async def test_a_long_skill_is_shown_in_part_and_the_rest_is_kept(top: Path, roots: Roots) -> None:
    folder = write(top / "W/.kova/skills/notes", body="A line of it.\n" * 10_000)
    toolbox = LocalToolbox((tool(roots),), redact=lambda text: text, holds_secret=lambda _: False)
    done = await played(toolbox.execute(a_call("use_skill", name="notes"), ALLOWED, scene_with(top, folder)))

    assert done.result.rest is not None
    assert len(done.text) < 66_000
    assert done.result.skill is not None
    assert 'read it with file_path="blob:' in done.text


def test_it_is_offered_where_there_are_skills_for_the_run(top: Path, roots: Roots) -> None:
    assert not tool(roots).offered(scene_with(top))
    assert tool(roots).offered(scene_with(top, top / "W/.kova/skills/notes"))
