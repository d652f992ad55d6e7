"""The skills of a workspace are read as the read tool reads: inside, as text, and never a secret."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kova_auto.core.skills.skill import Layer, SkillFile
from kova_auto.core.skills.stray import Found, Stray
from kova_auto.tools.skills import workspace_skills
from tests.tools.tool_scenes import a_ground, put, some_roots

SKILL = b"---\nname: x\ndescription: Does one thing.\n---\nDo it.\n"


def found(top: Path, *, secret: tuple[Path, ...] = ()) -> list[Found]:
    roots = some_roots(secret=secret)
    try:
        return list(workspace_skills(roots, a_ground(top / "W")))
    finally:
        roots.close()


def the_one(top: Path, *, secret: tuple[Path, ...] = ()) -> SkillFile:
    [file] = found(top, secret=secret)
    assert isinstance(file, SkillFile)
    return file


@pytest.fixture
def top(tmp_path: Path) -> Path:
    put(tmp_path / "W/src/a.py", b"")
    put(tmp_path / "out/evil/SKILL.md", SKILL)
    return tmp_path.resolve()


def test_there_need_not_be_any(top: Path) -> None:
    assert found(top) == []


def test_the_places_come_in_their_order(top: Path) -> None:
    for place in (".claude/skills/a", ".agents/skills/b", ".kova/skills/d", ".kova/skills/c"):
        put(top / "W" / place / "SKILL.md", SKILL)
    shown = [one.shown for one in found(top) if isinstance(one, SkillFile)]

    assert shown == [
        ".kova/skills/c/SKILL.md",
        ".kova/skills/d/SKILL.md",
        ".agents/skills/b/SKILL.md",
        ".claude/skills/a/SKILL.md",
    ]


def test_a_file_is_read_whole_with_where_it_lies(top: Path) -> None:
    put(top / "W/.agents/skills/x/SKILL.md", b"\xef\xbb\xbf" + SKILL)
    folder = f"{top}/W/.agents/skills/x"

    assert the_one(top) == SkillFile(Layer.WORKSPACE, ".agents/skills", "x", folder, text=SKILL.decode())


def test_a_link_within_the_workspace_is_followed_to_what_it_means(top: Path) -> None:
    put(top / "W/.agents/skills/x/SKILL.md", SKILL)
    (top / "W/.claude").mkdir()
    (top / "W/.claude/skills").symlink_to("../.agents/skills")
    near, linked = found(top)

    assert isinstance(near, SkillFile)
    assert isinstance(linked, SkillFile)
    assert linked.folder == near.folder


@pytest.mark.parametrize("place", [".kova/skills", ".kova/skills/evil", ".kova/skills/evil/SKILL.md"])
@pytest.mark.parametrize("is_absolute", [False, True])
def test_no_link_leads_out_of_the_workspace(place: str, is_absolute: bool, top: Path) -> None:
    path, target = top / "W" / place, top / "out" / place.removeprefix(".kova/skills").lstrip("/")
    path.parent.mkdir(parents=True)
    path.symlink_to(target if is_absolute else os.path.relpath(target, path.parent))
    [one] = found(top)

    assert not isinstance(one, Stray)
    why = one if isinstance(one, str) else one.problem
    assert "passes through a symbolic link that is not followed" in why
    assert isinstance(one, str) or not one.text
    if isinstance(one, SkillFile):
        assert why.endswith(f"{top}/out/evil/SKILL.md: copy it there, or link to it from ~/.kova/skills")


def test_what_lies_among_secrets_is_not_read(top: Path) -> None:
    put(top / "W/.kova/skills/x/SKILL.md", SKILL)
    file = the_one(top, secret=(top / "W/.kova",))

    assert file.text == ""
    assert "is a place of secrets" in file.problem


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"---\nname: x\ncaf\xe9\n", "wanted text in UTF-8, found byte 0xe9 in line 3"),
        (b"---\0\n", "wanted text, found a NUL in it"),
        (b"x" * 300_000, "wanted at most 256 KiB, found more; move details to files beside it"),
    ],
)
def test_what_is_no_text_of_that_size_is_named(data: bytes, why: str, top: Path) -> None:
    put(top / "W/.kova/skills/x/SKILL.md", data)

    assert the_one(top).problem == why


def test_a_folder_that_is_no_skill_is_named(top: Path) -> None:
    put(top / "W/.kova/skills/deep/inner/SKILL.md", SKILL)
    put(top / "W/.kova/skills/kit/notes.md", SKILL)
    put(top / "W/.kova/skills/shared/a.py", b"")
    put(top / "W/.kova/skills/README.md", b"")
    (top / "W/.kova/skills/lost").mkdir()
    (top / "W/.kova/skills/lost/SKILL.md").symlink_to("nowhere")

    assert found(top) == [
        Stray(".kova/skills/deep is no skill: it holds skills, as inner; move them up to .kova/skills"),
        Stray(".kova/skills/kit is no skill: wanted a SKILL.md in it, found notes.md; rename it, if it is that"),
        Stray(".kova/skills/lost is no skill: its SKILL.md is a link that leads nowhere"),
    ]


def test_nothing_waits_for_a_pipe_in_its_place(top: Path) -> None:
    (top / "W/.kova/skills/x").mkdir(parents=True)
    os.mkfifo(top / "W/.kova/skills/x/SKILL.md")

    assert "wanted a file" in the_one(top).problem


def test_a_place_holds_at_most_sixty_four(top: Path) -> None:
    for number in range(66):
        put(top / f"W/.kova/skills/skill-{number:02}/SKILL.md", SKILL)
    put(top / "W/.agents/skills/x/SKILL.md", SKILL)
    files = found(top)

    assert files[64] == ".kova/skills has more than 64 skills; 2 are not read"
    assert isinstance(files[65], SkillFile)
    assert len(files) == 66
