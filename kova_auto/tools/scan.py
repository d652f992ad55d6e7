"""A program of its own: searches open files line by line, where ripgrep is missing.

It is started by `tools/search.py` and imports nothing of ours, so that a pattern that takes for ever can be ended by
ending the process. Arguments: `i` or `-` for the case, how many lines of each file at most, the pattern, the files.
Each line that matches is written as ripgrep would: the file, NUL, the line's number, a colon.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Search, and say as an exit code whether anything was found."""
    case, most, pattern, *files = arguments
    search = re.compile(pattern, re.IGNORECASE if case == "i" else 0).search
    found = False
    for file in files:
        left = int(most)
        for number, line in enumerate(_lines(file), start=1):
            if left and search(line):
                sys.stdout.write(f"{file}\0{number}:\n")
                found, left = True, left - 1
        sys.stdout.flush()
    return 0 if found else 1


def _lines(file: str) -> list[str]:
    text = Path(file).read_bytes().decode()
    return text.removesuffix("\n").split("\n") if text else []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
