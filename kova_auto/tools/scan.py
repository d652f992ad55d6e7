"""A program of its own: searches a text line by line, where ripgrep is missing.

It is started by `tools/search.py` and imports nothing of ours, so that a pattern that takes for ever can be ended by
ending the process. Arguments: `i` or `-` for the case, how many lines at most, the pattern, the file. Of each line
that matches it writes what ripgrep would: its number and a colon.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Search, and say as an exit code whether anything was found."""
    case, most, pattern, file = arguments
    search = re.compile(pattern, re.IGNORECASE if case == "i" else 0).search
    left = int(most)
    for number, line in enumerate(Path(file).read_bytes().decode().removesuffix("\n").split("\n"), start=1):
        if search(line):
            sys.stdout.write(f"{number}:\n")
            sys.stdout.flush()
            left -= 1
            if not left:
                break
    return 1 if left == int(most) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
