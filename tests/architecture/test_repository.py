"""Nothing in the repository depends on the machine it was written on."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest

from tests.architecture.sources import ROOT, place, tracked

REGISTRIES = (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"), ("debian", "org"))
ENVIRONMENT = {
    "kova_auto/settings/environment.py",
    "kova_auto/tools/sandbox/selftest.py",  # of the process that tries to break out
}


def texts() -> Iterator[tuple[str, str]]:
    """Yield the place and the content of every tracked file that is text."""
    for path in tracked():
        data = path.read_bytes()
        if b"\0" not in data:
            yield place(path), data.decode("utf-8", "replace")  # what is to be read wrongly is a sample, too


def test_the_repository_can_be_listed() -> None:
    assert "pyproject.toml" in {where for where, _ in texts()}


@pytest.mark.parametrize("host", [".".join(parts) for parts in REGISTRIES])
def test_no_package_registry_is_named(host: str) -> None:
    assert [where for where, text in texts() if host in text] == []


def test_no_path_of_this_machine_is_named() -> None:
    here = {str(ROOT)} | ({sys.prefix} if sys.prefix != sys.base_prefix else set())
    words = [re.compile(rf"(?<![\w.~-]){re.escape(path)}(?![\w.-])") for path in here]

    assert [where for where, text in texts() if any(word.search(text) for word in words)] == []


def test_the_environment_is_read_in_one_place() -> None:
    readers = re.compile(r"\bos\.(environb?|getenvb?)\b|\bfrom os import [^\n]*\b(environb?|getenvb?)\b")
    found = {where for where, text in texts() if where.startswith("kova_auto/") and readers.search(text)}

    assert found == ENVIRONMENT


def test_only_one_module_reads_the_clock() -> None:
    clocks = re.compile(r"\bdatetime\.now\(|\butcnow\(|\btime\.time\(|\bdate\.today\(")
    found = {where for where, text in texts() if where.startswith("kova_auto/") and clocks.search(text)}

    assert found == {"kova_auto/clock.py"}
