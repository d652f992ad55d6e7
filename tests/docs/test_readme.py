"""The README's two commands: the first one's run is really so, and the second is what CI runs."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kova_auto.scheduling.jobfiles import load_job
from tests.docs.pages import ROOT, Block, blocks
from tests.docs.reader import Reader
from tests.docs.terminal import environment

PAGE = "README.md"


def shell_blocks() -> list[Block]:
    return [block for block in blocks(PAGE) if block.language == "bash"]


def a_clone(home: Path) -> Path:
    """Return a repository with what the example job looks at."""
    clone = home / "clone"
    clone.mkdir()
    for name in ("README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, clone / name)
    shutil.copytree(ROOT / "jobs", clone / "jobs")
    git = ["git", "-c", "user.name=Someone", "-c", "user.email=someone@example.org"]
    for words in ("init --quiet", "add .", "commit --quiet --message Begin"):
        subprocess.run([*git, *words.split()], cwd=clone, env=environment(home), check=True)
    return clone


def test_the_first_command_shows_what_the_readme_shows(home: Path) -> None:
    first, _ = shell_blocks()
    output = next(block for block in blocks(PAGE) if block.mark == "output")
    typed = first.text.rpartition(" && ")[2].replace(".venv/bin/", "")
    with Reader(home, cwd=a_clone(home)) as reader:
        reader.follow(Block(PAGE, first.line, "bash", typed, "run"))
        reader.follow(output)


def test_each_command_is_one_line_that_makes_its_own_environment() -> None:
    lines = [block.text.strip() for block in shell_blocks()]
    assert [line.startswith("python3 -m venv .venv && .venv/bin/pip install ") for line in lines] == [True, True]
    assert [line.count("\n") for line in lines] == [0, 0]


def test_ci_takes_the_test_command_from_the_readme() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    pattern = re.search(r"grep -E '(.+)' README\.md", script)
    assert pattern is not None
    assert [line for line in (ROOT / PAGE).read_text().splitlines() if re.search(pattern[1], line)] == [
        shell_blocks()[1].text.strip()
    ]


def test_the_job_that_the_readme_shows_is_sound(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))
    (home / "src" / "app").mkdir(parents=True)
    shown = next(block for block in blocks(PAGE) if block.mark == "job")
    path = home / "nightly.toml"
    path.write_text(shown.text)
    assert (load_job(path).workspace, load_job(path).models) == (f"{home}/src/app", ("openai/gpt-5",))
