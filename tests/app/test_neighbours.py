from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.app.neighbours import Neighbours


def jobs_in(top: Path, **files: str) -> Path:
    jobs = top / "jobs"
    jobs.mkdir(exist_ok=True)
    for name, text in files.items():
        (jobs / f"{name}.toml").write_text(text)
    return jobs


def test_the_workspaces_are_those_that_the_job_files_mean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    (tmp_path / "elsewhere").mkdir()
    linked = tmp_path / "elsewhere/linked.toml"
    linked.write_text('prompt = "x"\nworkspace = "w"\n')
    jobs = jobs_in(
        tmp_path,
        absolute='workspace = "/data/a"',
        home='workspace = "~/b"',
        relative='workspace = "../c"',
        again='workspace = "../c/"',
        unsaid='prompt = "x"',
        odd="workspace = 5",
    )
    (jobs / "other.toml").symlink_to(linked)
    (jobs / "a.script.toml").write_text('workspace = "/no/job"')
    top = tmp_path.resolve()

    assert set(Neighbours(jobs).workspaces()) == {
        Path("/data/a"), top / "me/b", top / "c", top / "jobs", top / "elsewhere/w"
    }  # fmt: skip


@pytest.mark.parametrize("name", ["/data/b", "~nobody-of-that-name/x", "a\\u0000b"])
def test_a_broken_file_still_names_its_workspace(tmp_path: Path, name: str) -> None:
    jobs = jobs_in(tmp_path, a='workspace = "/data/a"', b=f'workspace = "{name}"\nprompt = [')
    neighbours = Neighbours(jobs)
    first = neighbours.workspaces()
    jobs_in(tmp_path, a="prompt = [\n")

    assert Path("/data/a") in first
    assert neighbours.workspaces() == first
    assert len(first) == 2


def test_a_file_is_read_again_when_it_has_changed_and_forgotten_when_it_is_gone(tmp_path: Path) -> None:
    neighbours = Neighbours(jobs_in(tmp_path, a='workspace = "/data/a"'))
    before = neighbours.workspaces()
    jobs = jobs_in(tmp_path, a='workspace = "/data/other"')
    after = neighbours.workspaces()
    (jobs / "a.toml").unlink()

    assert (before, after, neighbours.workspaces()) == ((Path("/data/a"),), (Path("/data/other"),), ())


def test_a_directory_that_is_gone_hides_what_was_known(tmp_path: Path) -> None:
    neighbours = Neighbours(jobs_in(tmp_path, a='workspace = "/data/a"'))
    before = neighbours.workspaces()
    (tmp_path / "jobs").rename(tmp_path / "moved")

    assert (before, neighbours.workspaces()) == ((Path("/data/a"),), (Path("/data/a"),))
    assert Neighbours(tmp_path / "none").workspaces() == ()
