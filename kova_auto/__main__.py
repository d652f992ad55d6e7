"""Run the command line: `kova-auto`, or `python -m kova_auto`."""

from __future__ import annotations

from kova_auto.cli.main import app


def main() -> None:
    """Run the command that the command line names, and exit with its code."""
    app(prog_name="kova-auto")


if __name__ == "__main__":
    main()
