"""What a run changed in a workspace of its own is brought into the real one: everything, or nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kova_auto.core.errors import ToolFailedError
from kova_auto.tools.isolation.applying import Held, Plan
from kova_auto.tools.isolation.tree import SMALL_BYTES
from tests.tools.isolation.grounds import Grounds, put


@pytest.fixture
def grounds(tmp_path: Path) -> Grounds:
    return Grounds.begun(tmp_path, a_txt="a", b_txt="b", src__c_txt="c", src__deep__d_txt="d")


def test_files_links_modes_and_deletions_are_brought_over(grounds: Grounds) -> None:
    (grounds.own / "a.txt").write_text("changed")
    (grounds.own / "b.txt").chmod(0o755)
    (grounds.own / "src" / "deep" / "d.txt").unlink()
    (grounds.own / "src" / "deep").rmdir()
    put(grounds.own, "new/place/e.bin", "e" * (3 * SMALL_BYTES))
    (grounds.own / "new" / "link").symlink_to("/etc")
    grounds.applied()

    assert grounds.shown() == {
        "a.txt": "changed",
        "b.txt": "b",
        "new/link": "-> /etc",
        "new/place/e.bin": "e" * (3 * SMALL_BYTES),
        "src/c.txt": "c",
    }
    assert (grounds.real / "b.txt").stat().st_mode & 0o777 == 0o755
    assert not (grounds.real / "src" / "deep").exists()
    assert list(grounds.real.rglob(".kova-auto-*")) == []


def test_applying_again_finds_everything_as_it_is(grounds: Grounds) -> None:
    (grounds.own / "a.txt").write_text("changed")
    (grounds.own / "b.txt").unlink()
    grounds.applied()

    assert grounds.planned() == Plan(same=("a.txt", "b.txt"))


def test_what_was_applied_by_half_is_finished(grounds: Grounds) -> None:
    for name in ("a.txt", "b.txt"):
        (grounds.own / name).write_text("changed")
    grounds.applied(grounds.changes()[:1])
    grounds.applied()

    assert (grounds.shown()["a.txt"], grounds.shown()["b.txt"]) == ("changed", "changed")


def test_each_file_that_has_changed_meanwhile_is_named_and_the_plan_is_refused(grounds: Grounds) -> None:
    for name in ("a.txt", "b.txt", "src/c.txt"):
        (grounds.own / name).write_text("of the run")
    put(grounds.own, "new.txt", "of the run")
    (grounds.own / "src" / "deep" / "d.txt").unlink()
    (grounds.real / "a.txt").write_text("of a person")
    (grounds.real / "b.txt").unlink()
    (grounds.real / "src" / "deep" / "d.txt").chmod(0o700)
    put(grounds.real, "new.txt", "of a person")
    (grounds.real / "src" / "c.txt").unlink()
    (grounds.real / "src" / "c.txt").symlink_to("/etc/passwd")

    assert grounds.planned().refused == (
        "a.txt has changed in the workspace since the run began",
        "b.txt is not in the workspace any more",
        "new.txt is in the workspace by now",
        "src/c.txt has changed in the workspace since the run began",
        "src/deep/d.txt has changed in the workspace since the run began",
    )


def test_other_bits_than_to_execute_stand_in_no_ones_way_and_are_kept(grounds: Grounds) -> None:
    (grounds.own / "a.txt").write_text("changed")
    (grounds.real / "a.txt").chmod(0o600)
    grounds.applied()

    assert (grounds.real / "a.txt").stat().st_mode & 0o777 == 0o600


def test_no_link_in_the_workspace_is_followed(grounds: Grounds, tmp_path: Path) -> None:
    outside = put(tmp_path, "outside/c.txt", "c").parent
    (grounds.own / "src" / "c.txt").write_text("of the run")
    (grounds.real / "src").rename(tmp_path / "moved")
    (grounds.real / "src").symlink_to(outside)

    assert grounds.planned().refused == ("src/c.txt passes through a symbolic link",)
    with pytest.raises(ToolFailedError, match="passes through a symbolic link"):
        grounds.applied(grounds.changes())
    assert (outside / "c.txt").read_text() == "c"


def test_a_link_that_is_planted_at_the_last_moment_is_not_written_through(grounds: Grounds, tmp_path: Path) -> None:
    outside = put(tmp_path, "outside.txt", "a")
    (grounds.own / "a.txt").write_text("of the run")
    planned = grounds.planned()
    (grounds.real / "a.txt").unlink()
    (grounds.real / "a.txt").symlink_to(outside)

    with pytest.raises(ToolFailedError, match=r"a\.txt was changed by somebody else just now"):
        grounds.applied(planned.todo)
    assert outside.read_text() == "a"


@pytest.mark.parametrize(
    "name", [".vscode/tasks.json", "AGENTS.md", ".kova/permissions.json", ".github/workflows/ci.yml", "sub/.envrc"]
)
def test_control_files_are_written_only_where_a_person_says_so(grounds: Grounds, name: str) -> None:
    put(grounds.own, name, "steers")
    (grounds.own / "a.txt").write_text("changed")

    assert grounds.planned().refused == (f"{name} is a control file, which is written with --control alone",)
    assert [change.path for change in grounds.planned(control=True).todo] == sorted([name, "a.txt"])


def test_job_files_steer_and_secrets_are_never_written(grounds: Grounds) -> None:
    put(grounds.own, "jobs/night.toml", "steers")
    put(grounds.own, "keys/id", "secret")
    held = Held(secret=(grounds.real / "keys",), job_dirs=(grounds.real / "jobs",))

    assert grounds.planned(held=held).refused == (
        "jobs/night.toml is a control file, which is written with --control alone",
        "keys/id lies in a place of secrets or settings, which is never written",
    )
    assert grounds.planned(held=held, control=True).refused == (
        "keys/id lies in a place of secrets or settings, which is never written",
    )


def test_what_git_keeps_for_itself_is_never_brought_over(grounds: Grounds) -> None:
    put(grounds.own, ".git/hooks/post-checkout", "evil")
    put(grounds.own, "sub/.git/config", "evil")

    assert grounds.planned(control=True) == Plan()


def test_a_file_takes_the_place_of_a_directory_and_the_other_way_round(grounds: Grounds) -> None:
    (grounds.own / "a.txt").unlink()
    put(grounds.own, "a.txt/inside", "a directory now")
    (grounds.own / "src" / "deep" / "d.txt").unlink()
    (grounds.own / "src" / "deep").rmdir()
    put(grounds.own, "src/deep", "a file now")
    grounds.applied()

    assert grounds.shown() == {
        "a.txt/inside": "a directory now",
        "b.txt": "b",
        "src/c.txt": "c",
        "src/deep": "a file now",
    }
    assert grounds.planned().todo == ()


def test_a_directory_with_anything_else_in_it_stays(grounds: Grounds) -> None:
    (grounds.own / "src" / "deep" / "d.txt").unlink()
    (grounds.own / "src" / "deep").rmdir()
    put(grounds.real, "src/deep/of-a-person", "x")
    grounds.applied()

    assert "src/deep/of-a-person" in grounds.shown()


def test_odd_names_are_brought_over_and_shown_escaped(grounds: Grounds) -> None:
    name = os.fsdecode(b"odd\xff\\ name\n")
    put(grounds.own, name, "odd")
    put(grounds.real, name, "other")

    assert grounds.planned().refused == ("odd\\xff\\ name\\n is in the workspace by now",)
    (grounds.real / name).unlink()
    grounds.applied()
    assert (grounds.real / name).read_text() == "odd"


def test_a_content_that_changes_while_it_is_brought_over_is_refused(grounds: Grounds) -> None:
    (grounds.own / "a.txt").write_text("looked at")
    planned = grounds.planned()
    (grounds.own / "a.txt").write_text("by now")

    with pytest.raises(ToolFailedError, match="was changed by somebody else just now"):
        grounds.applied(planned.todo)
    assert grounds.shown()["a.txt"] == "a"
    assert list(grounds.real.rglob(".kova-auto-*")) == []


def test_notes_are_no_control_files_and_what_lies_beside_them_is(grounds: Grounds) -> None:
    put(grounds.own, ".kova/memory/MEMORY.md", "note")
    put(grounds.own, ".kova/memory/daily/x.md", "note")
    assert [change.path for change in grounds.planned().todo] == [".kova/memory/MEMORY.md", ".kova/memory/daily/x.md"]

    for name in (".kova/memory/run.sh", ".kova/skills/x.md", "sub/.kova/memory/x.md"):
        put(grounds.own, name, "steers")
    refused = grounds.planned().refused
    assert [one.split(" ")[0] for one in refused] == [
        ".kova/memory/run.sh",
        ".kova/skills/x.md",
        "sub/.kova/memory/x.md",
    ]
