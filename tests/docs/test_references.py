"""Every command, option, link and path that a page names is there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kova_auto.cli.main import app
from kova_auto.cli.registry import COMMANDS
from tests.docs.pages import ROOT, blocks, headings, links, pages, spans

ENTRIES = {entry.name: entry for entry in COMMANDS}
PLACEHOLDER = re.compile(r"[\[{]?[A-Z]+…?[\]}]?")


def typed(page: str) -> Iterator[list[str]]:
    """Yield the words of each `kova-auto` command on a page, those that only stand in a sentence too."""
    shell = [block.text for block in blocks(page) if block.language == "bash"]
    for text in [*shell, *spans(page)]:
        for line in re.findall(r"(?:^|[\s(]|\.venv/bin/)kova-auto (?!kova-auto)([^\n;|&>#')]+)", text):
            yield shlex.split(line)


@cache
def help_of(*words: str) -> str:
    """Return the help of a command; empty for one that is not there."""
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, [*words, "--help"], prog_name="kova-auto")
    return result.stdout if result.exit_code == 0 else ""


@cache
def is_group(name: str) -> bool:
    commands = import_module(ENTRIES[name].module).app.registered_commands
    return isinstance(commands, list) and len(commands) > 1


def complaint(words: list[str]) -> str:
    """Return what is wrong with a command line; empty for one that could be typed."""
    name, rest = words[0], words[1:]
    if name.startswith("--"):
        return "" if name in help_of() else f"no option {name}"
    if name not in ENTRIES:
        return f"no command {name}"
    path = [name]
    if is_group(name) and rest and not PLACEHOLDER.fullmatch(rest[0]):
        path.append(rest[0])
    shown = help_of(*path)
    if not shown:
        return f"no command {' '.join(path)}"
    options = [word.partition("=")[0] for word in rest if word.startswith("-")]
    return ", ".join(f"{' '.join(path)} has no {option}" for option in options if not _has(shown, option))


def _has(shown: str, option: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", shown) is not None


def test_the_check_of_commands_finds_what_is_wrong() -> None:
    lines = ["run JOB --listen", "run JOB --attend", "rule list", "runs explain last", "runs list --job=x", "--help"]
    assert [complaint(line.split()) for line in lines] == [
        "",
        "run has no --attend",
        "no command rule",
        "no command runs explain",
        "",
        "",
    ]


@pytest.mark.parametrize("page", pages())
def test_every_command_on_a_page_can_be_typed(page: str) -> None:
    assert [f"{' '.join(words)}: {wrong}" for words in typed(page) if words and (wrong := complaint(words))] == []


@pytest.mark.parametrize("page", pages())
def test_every_link_leads_somewhere(page: str) -> None:
    folder = (ROOT / page).parent
    local = [link.partition("#") for link in links(page) if "://" not in link]
    assert [path for path, _, _ in local if path and not (folder / path).exists()] == []
    named = [(path or Path(page).name, anchor) for path, _, anchor in local if anchor]
    assert [(path, anchor) for path, anchor in named if anchor not in anchors(folder / path)] == []


def anchors(path: Path) -> set[str]:
    titles = headings(str(path.resolve().relative_to(ROOT)))
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", pages())
def test_every_path_of_this_repository_is_there(page: str) -> None:
    named = [span for span in spans(page) if re.fullmatch(r"(kova_auto|tests|systemd|docs|jobs|\.ci)/[\w./-]+", span)]
    assert [span for span in named if not (ROOT / span).exists()] == []


def test_every_room_is_on_the_page_that_lists_them() -> None:
    packages = {str(path.parent.relative_to(ROOT)) for path in (ROOT / "kova_auto").glob("**/__init__.py")}
    listed = set(spans("docs/architecture.md"))
    top = {room for room in packages if room.count("/") == 1 or room.startswith("kova_auto/core/")}
    assert sorted(top - listed - {"kova_auto/core/delivery/formats"}) == []


@pytest.mark.parametrize("page", pages())
def test_no_line_of_prose_is_too_long_to_read(page: str) -> None:
    lines = (ROOT / page).read_text().splitlines()
    fenced = {number for block in blocks(page) for number in range(block.line, block.line + block.text.count("\n") + 2)}
    longest = [number for number, line in enumerate(lines, 1) if len(line) > 120 and not line.startswith("|")]
    assert [number for number in longest if number not in fenced] == []
