"""Skills taken as others publish them load, or fail with one sentence that says which file, which line, what to do."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.skills.check import KEYS
from kova_auto.core.skills.precedence import Broken
from kova_auto.core.skills.skill import MOST_BYTES, MOST_IN_FOLDER, Layer, Skill, SkillFile
from kova_auto.core.skills.stray import Stray
from kova_auto.knowledge.skills import parse_skill, plugin_skills, user_skills
from tests.knowledge.skill_shapes import BROKEN, FOLDERS, REMARKED, SOUND

PLAIN = "---\nname: {name}\ndescription: Does one thing.\n---\n\nDo it.\n"


def a_skill(folder: Path, text: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(text or PLAIN.format(name=folder.name))
    return folder


def found_in(home: Path) -> dict[str, Skill | Broken]:
    """Return what is found in a user's home, by folder."""
    files = [one for one in user_skills(home) if isinstance(one, SkillFile)]
    return {file.name: parse_skill(file) for file in files}


def the_one(home: Path) -> Skill | Broken:
    [found] = found_in(home).values()
    return found


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.fixture
def published(home: Path) -> dict[str, Skill | Broken]:
    """Return the folders as others published them, laid into a home."""
    shutil.copytree(FOLDERS, home / ".kova/skills")
    return found_in(home)


def test_every_folder_is_expected_to_load_or_to_fail(published: dict[str, Skill | Broken]) -> None:
    assert sorted(published) == sorted([*SOUND, *REMARKED, *BROKEN])


@pytest.mark.parametrize("folder", [*SOUND, *REMARKED])
def test_what_can_be_used_loads_and_says_what_is_amiss(folder: str, published: dict[str, Skill | Broken]) -> None:
    skill = published[folder]

    assert isinstance(skill, Skill), skill
    assert [(one.line, one.key, one.message) for one in skill.remarks] == list(REMARKED.get(folder, ()))
    assert skill.description


@pytest.mark.parametrize("folder", BROKEN)
def test_what_cannot_be_used_fails_with_file_line_and_what_to_do(
    folder: str, published: dict[str, Skill | Broken], home: Path
) -> None:
    broken, (line, sentence) = published[folder], BROKEN[folder]

    assert isinstance(broken, Broken)
    place = re.escape(f"{home}/.kova/skills/{folder}/SKILL.md:{line}: {sentence}")
    assert re.fullmatch(rf"{place} \(.+\)", str(broken.error))


def test_names_descriptions_and_tools_come_out_as_they_were_meant(published: dict[str, Skill | Broken]) -> None:
    said = {folder: one for folder, one in published.items() if isinstance(one, Skill)}
    notes, forms, audit = said["release-notes"], said["fillable-forms"], said["web-audit"]

    assert (notes.license, notes.compatibility) == ("Apache-2.0", "Needs git.")
    assert dict(notes.metadata) == {"author": "example-org", "version": "1.0"}
    assert notes.allowed == ("Bash(git:*)", "Read")
    assert notes.tools == ("bash", "task_output", "task_stop", "read")
    assert (forms.tools, forms.license) == (None, "Proprietary. LICENSE.txt has complete terms")
    assert audit.allowed is not None
    assert audit.allowed[4:6] == ("Bash(npm:*)", "Bash(ddev exec npm:*)")
    assert said["folder-of-another-name"].name == "image-resize"
    assert said["pr-review"].name == "pr-review"
    assert said["no-description"].description == "Formats SQL the way the team likes it, in capitals."
    assert said["publish-site"].hidden
    assert said["publish-site"].description.endswith("Use for: releases that were asked for.")
    assert said["research-synthesis"].metadata["version"] == "1.10"
    assert (said["all-tools"].tools, said["all-tools"].hidden) == (None, False)
    assert said["site-search"].tools is None
    assert len(said["long-story"].description) == 1_024
    assert said["object-tag"].description == '!!python/object/apply:os.system ["true"]'


@pytest.mark.parametrize(("mark", "ends"), [("", "\r\n"), ("\ufeff", "\n"), ("\ufeff", "\r\n")])
def test_windows_line_ends_and_byte_order_marks_are_no_matter(mark: str, ends: str, home: Path) -> None:
    path = a_skill(home / ".agents/skills/plain") / "SKILL.md"
    path.write_bytes((mark + PLAIN.format(name="plain").replace("\n", ends)).encode())
    skill = the_one(home)

    assert isinstance(skill, Skill)
    assert (skill.name, skill.body, skill.remarks) == ("plain", "Do it.", ())


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"---\nname: x\ndescription: caf\xe9\n---\n", "wanted text in UTF-8, found byte 0xe9"),
        (b"---\nname: x\ndescription: a\0b\n---\n", "wanted text, found a NUL in it"),
        (b"---\n" + b"x" * MOST_BYTES, "wanted at most 256 KiB, found more"),
    ],
)
def test_what_is_no_text_of_that_size_is_named(data: bytes, why: str, home: Path) -> None:
    (a_skill(home / ".kova/skills/x") / "SKILL.md").write_bytes(data)
    broken = the_one(home)

    assert isinstance(broken, Broken)
    assert str(broken.error).startswith(f"{home}/.kova/skills/x/SKILL.md: {why}")


def test_a_link_of_the_users_own_leads_to_a_folder_elsewhere(home: Path) -> None:
    a_skill(home / "dotfiles/plain")
    (home / ".claude/skills").mkdir(parents=True)
    (home / ".claude/skills/plain").symlink_to(home / "dotfiles/plain")
    skill = the_one(home)

    assert isinstance(skill, Skill)
    assert (skill.file.folder, skill.file.shown) == (f"{home}/dotfiles/plain", "~/.claude/skills/plain/SKILL.md")


def test_a_skill_may_have_the_name_of_the_folder_that_a_link_leads_to(home: Path) -> None:
    a_skill(home / "dotfiles/plain")
    (home / ".kova/skills").mkdir(parents=True)
    (home / ".kova/skills/short").symlink_to(home / "dotfiles/plain")
    skill = the_one(home)

    assert isinstance(skill, Skill)
    assert (skill.name, skill.remarks) == ("plain", ())


def test_a_folder_that_is_no_skill_is_named(home: Path) -> None:
    a_skill(home / ".kova/skills/deep/inner")
    (home / ".agents/skills/lost").mkdir(parents=True)
    (home / ".agents/skills/lost/SKILL.md").symlink_to("nowhere")

    assert list(user_skills(home)) == [
        Stray("~/.kova/skills/deep is no skill: it holds skills, as inner; move them up to ~/.kova/skills"),
        Stray("~/.agents/skills/lost is no skill: its SKILL.md is a link that leads nowhere"),
    ]


@pytest.mark.parametrize("written", ["''", "[]"])
def test_a_list_of_no_tools_is_remarked_on(written: str, home: Path) -> None:
    a_skill(home / ".kova/skills/plain", f"---\nname: plain\ndescription: x\nallowed-tools: {written}\n---\nDo it.\n")
    skill = the_one(home)

    assert isinstance(skill, Skill)
    assert (skill.tools, [remark.message for remark in skill.remarks]) == ((), ["names no tool"])


def test_no_link_leads_out_of_a_skills_folder(home: Path) -> None:
    (home / "elsewhere.md").write_text(PLAIN.format(name="sly"))
    (home / ".kova/skills/sly").mkdir(parents=True)
    (home / ".kova/skills/sly/SKILL.md").symlink_to(home / "elsewhere.md")
    broken = the_one(home)

    assert isinstance(broken, Broken)
    assert "found a link that leads out of it" in str(broken.error)


def test_the_home_itself_is_no_skill(home: Path) -> None:
    (home / "SKILL.md").write_text(PLAIN.format(name="all"))
    (home / ".kova/skills").mkdir(parents=True)
    (home / ".kova/skills/all").symlink_to(home)
    broken = the_one(home)

    assert isinstance(broken, Broken)
    assert f"wanted a folder of its own, found a link to {home}" in str(broken.error)


def test_a_file_that_everybody_may_write_is_not_read(home: Path) -> None:
    (a_skill(home / ".kova/skills/open") / "SKILL.md").chmod(0o666)
    broken = the_one(home)

    assert isinstance(broken, Broken)
    assert "wanted a file that not everybody may write" in str(broken.error)


def test_a_place_holds_at_most_sixty_four(home: Path) -> None:
    for number in range(MOST_IN_FOLDER + 2):
        a_skill(home / f".kova/skills/skill-{number:03}")
    found = list(user_skills(home))

    assert found[-1] == "~/.kova/skills has more than 64 skills; 2 are not read"
    assert len(found) == MOST_IN_FOLDER + 1


def test_folders_without_the_file_and_hidden_ones_are_none(home: Path) -> None:
    (home / ".kova/skills/notes").mkdir(parents=True)
    (home / ".kova/skills/README.md").write_text("Not a skill.")
    a_skill(home / ".kova/skills/.trash")

    assert list(user_skills(home)) == []


def test_a_plugin_brings_skills_and_nothing_leads_out_of_it(home: Path) -> None:
    a_skill(home / "plugins/acme/skills/plain")
    a_skill(home / "private/other")
    (home / "plugins/acme/skills/other").symlink_to(home / "private/other")
    other, plain = plugin_skills([("acme", home / "plugins/acme/skills")], home / "me")

    assert isinstance(plain, SkillFile)
    assert (plain.layer, plain.shown, plain.problem) == (Layer.PLUGIN, "plugin acme/plain/SKILL.md", "")
    assert isinstance(other, SkillFile)
    assert other.problem == "wanted a folder in the plugin, found a link that leads out of it"


def test_a_plugin_may_name_a_skill_itself(home: Path) -> None:
    folder = a_skill(home / "plugins/acme/audit")
    [audit] = plugin_skills([("acme", folder)], home / "me")

    assert isinstance(audit, SkillFile)
    assert (audit.name, audit.folder, audit.problem) == ("audit", str(folder), "")


VALUES = st.sampled_from(
    ["x", "X Y", "", "12", "true", "null", "[a, b]", "{a: 1}", "- a", "a: b", "'", "*", "~", "x" * 2_000]
)


@given(
    st.dictionaries(st.sampled_from([*KEYS, "version", "nmae"]), VALUES),
    st.sampled_from(["", "# Only a heading", "Do it."]),
)
def test_whatever_keys_and_values_there_are_a_skill_comes_out_or_an_error_with_its_line(
    front: dict[str, str], body: str
) -> None:
    text = "\n".join(["---", *(f"{key}: {value}" for key, value in front.items()), "---", body])
    found = parse_skill(SkillFile(Layer.USER, "~/.kova/skills", "x", "/home/me/.kova/skills/x", text=text))

    if isinstance(found, Broken):
        assert all(problem.line for problem in found.error.problems)
    else:
        assert (bool(found.name), bool(found.description), len(found.description) <= 1_024) == (True, True, True)
        assert all(remark.line for remark in found.remarks)
