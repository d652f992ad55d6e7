"""Run the peers of a harness and ourselves against its one mock model, in one run, and print what each turn costs.

    python -m tests.benchmarks.peers.compare HARNESS --venvs DIR [--turns N] [--conc C] [--only NAME ...]

HARNESS is the peers' script. Its server answers us as it answers them; only the tool that it calls is ours, `read`,
where that is offered. Of us there are two for each protocol: the journal's commits wait for the disk (`full`, as is the
default), or leave that to the system (`normal`).
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, cast

OURS = ("openai-chat", "anthropic-messages", "openai-responses")
QUIET = {"OTEL_SDK_DISABLED": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONDONTWRITEBYTECODE": ""}
COLUMNS = ("cpu_per_calib", "cpu_ms_med", "calib_ms", "wall_ms_med", "rss_mb", "conc", "conc_cpu_s", "kb_per_turn")
LONGEST_S = 900


class Harness(Protocol):
    """Be what we use of the peers' script."""

    PEERS: dict[str, tuple[str, list[str]]]
    ASYNC: set[str]
    _decide: Callable[[dict[str, Any], str], tuple[str, str, object]]
    _serve: Callable[[int], Coroutine[Any, Any, None]]


def load(path: Path) -> Harness:
    """Return the harness as a module."""
    spec = importlib.util.spec_from_file_location("peers_harness", path)
    if spec is None or spec.loader is None:
        msg = f"{path} is no Python file"
        raise SystemExit(msg)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast("Harness", module)


def serve(harness: Harness) -> None:
    """Serve the harness's mock model, calling `read` where somebody offers it."""
    decide = harness._decide

    def ours_too(body: dict[str, Any], flavour: str) -> tuple[str, str, object]:
        tools = body.get("tools") or []
        names = {tool.get("name") or (tool.get("function") or {}).get("name") for tool in tools}
        if "read" not in names:
            return decide(body, flavour)
        kind, said, _ = decide({**body, "tools": []}, flavour)
        return ("call", "read", {"file_path": "notes.txt"}) if kind == "call" else (kind, said, None)

    harness._decide = ours_too
    asyncio.run(harness._serve(0))


@contextmanager
def served(path: Path) -> Iterator[int]:
    """Give the port of a server in a process of its own."""
    command = [sys.executable, "-m", "tests.benchmarks.peers.compare", str(path), "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield int(server.stdout.readline().split()[1])
        finally:
            server.terminate()


def measured(command: list[str], name: str) -> dict[str, object]:
    """Return the line of JSON that a measurement prints, or what went wrong."""
    command = ["env", *(f"{key}={value}" for key, value in QUIET.items()), *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_S, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else {"peer": name, "error": done.stderr.strip().splitlines()[-1:]}


def commands(harness: Harness, given: argparse.Namespace, port: int) -> Iterator[tuple[str, list[str]]]:
    """Yield a name and a command for each that takes part, ourselves first."""
    common = ["--port", str(port), "--turns", str(given.turns), "--conc"]
    for protocol in OURS:
        ours = [sys.executable, "-m", "tests.benchmarks.peers.kova_peer", "--protocol", protocol]
        for synchronous in ("full", "normal"):
            yield f"kova-{protocol}-{synchronous}", [*ours, "--synchronous", synchronous, *common, str(given.conc)]
    for name, (venv, _) in harness.PEERS.items():
        python = given.venvs / venv / "bin" / "python"
        conc = given.conc if name in harness.ASYNC else 0
        if python.exists():
            yield name, [str(python), str(given.harness), "run", "--peer", name, *common, str(conc)]


def main() -> None:
    """Read the command line, run everybody in turn, print a table and the lines of JSON."""
    parser = argparse.ArgumentParser(description="Compare our turn with the peers'.")
    parser.add_argument("harness", type=Path)
    parser.add_argument("--venvs", type=Path, default=Path("peers-venvs"))
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--conc", type=int, default=0)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--serve", action="store_true")
    given = parser.parse_args()
    harness = load(given.harness)
    if given.serve:
        serve(harness)
        return
    print(f"{'peer':32}" + "".join(f"{column:>14}" for column in COLUMNS))
    found = []
    with served(given.harness) as port:
        for name, command in commands(harness, given, port):
            if given.only and name not in given.only:
                continue
            found.append(measured(command, name))
            print(f"{name:32}" + "".join(f"{found[-1].get(column, '-'):>14}" for column in COLUMNS), flush=True)
    for line in found:
        print(json.dumps(line))


if __name__ == "__main__":
    main()
