"""Print `.ci/requirements.txt`, or with the argument `peers` its sister: one version of everything, with its hashes.

There is a hash of each wheel that some machine needs. What is wanted stands in `pyproject.toml`; the oldest Python
decides the versions, the others must be able to use them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

PYTHONS = ("3.11.2", "3.12", "3.13", "3.14")
MACHINES = ("x86_64", "aarch64")
GLIBCS = ("manylinux_2_28", "manylinux_2_17", "manylinux2014", "manylinux_2_5")
HEADERS = {
    "requirements": """\
# Everything that the checks need, dependencies included: wheels for CPython 3.11 to 3.14 on x86_64 and aarch64.
# Made from pyproject.toml; to make it anew: python .ci/lock.py > lock && mv lock .ci/requirements.txt
""",
    "peers": """\
# Servers by others, which the slow tests ask. They are kept apart: nothing of ours imports them.
# Made from pyproject.toml; to make it anew: python .ci/lock.py peers > lock && mv lock .ci/peers.txt
""",
}


def wanted(which: str) -> list[str]:
    """Return what `pyproject.toml` names, and what building an editable install takes."""
    project = tomllib.loads(Path(__file__).parent.with_name("pyproject.toml").read_text(encoding="utf-8"))
    if which == "peers":
        return list(project["dependency-groups"]["peers"])
    extras = project["project"]["optional-dependencies"]
    return [
        *project["project"]["dependencies"],
        *(requirement for name in ("local", "postgres", "prices") for requirement in extras.get(name, ())),
        *project["dependency-groups"]["dev"],
        *project["build-system"]["requires"],
        "editables",
    ]


def resolve(requirements: list[str], python: str, machine: str) -> list[dict[str, Any]]:
    """Return the wheels that pip would install there."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.json")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--only-binary=:all:", f"--python-version={python}", f"--target={scratch}", f"--report={report}"]
        command += [f"--platform={glibc}_{machine}" for glibc in GLIBCS]
        subprocess.run([*command, *requirements], check=True)
        wheels: list[dict[str, Any]] = json.loads(report.read_bytes())["install"]
        return wheels


def pin_of(about: dict[str, Any]) -> str:
    """Return a wheel's name and version as a requirement."""
    return f"{about['name'].lower().replace('_', '-')}=={about['version']}"


def main() -> None:
    """Resolve for every Python and machine, and print the union."""
    which = sys.argv[1] if sys.argv[1:] else "requirements"
    pins: list[str] = wanted(which)
    hashes: dict[str, set[str]] = defaultdict(set)
    for python in PYTHONS:
        for machine in MACHINES:
            for wheel in resolve(pins, python, machine):
                archive = wheel["download_info"]["archive_info"]
                hashes[pin_of(wheel["metadata"])].add(archive["hashes"]["sha256"])
            pins = sorted(hashes)  # From here on the versions are given.
    lines = (" \\\n    ".join([pin, *(f"--hash=sha256:{one}" for one in sorted(hashes[pin]))]) for pin in pins)
    sys.stdout.write("\n".join([HEADERS[which], *lines, ""]))


if __name__ == "__main__":
    main()
