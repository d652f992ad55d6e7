"""Run the command line: `kova-auto`, or `python -m kova_auto`."""

from __future__ import annotations

import gc
from importlib import import_module

from kova_auto.settings.environment import forgo_plugins


def main() -> None:
    """Run the command that the command line names, and exit with its code."""
    gc.disable()  # while modules are imported nothing becomes garbage; the frame enables it before the command runs
    forgo_plugins()
    try:
        import_module("kova_auto.cli.main").app(prog_name="kova-auto")
    finally:
        gc.freeze()  # the process ends: its last collection would walk through all that was imported, for nothing


if __name__ == "__main__":
    main()
