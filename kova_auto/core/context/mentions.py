"""Find the files that a prompt mentions: `@src/a.py`, `@src/a.py:10-40`, `@docs/`, `@"a b.md"`, `@src/**/*.py`.

What only looks like it stays text: an address, a decorator, the name of a package, whatever stands in backticks.
Whether such a file is there is not known here. A mention that can hardly be anything else is `sure`: where there is no
such file, that is said; any other is taken for text then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MOST_MENTIONS: Final = 50
"""So many of one prompt are looked at."""

_CODE: Final = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`", re.DOTALL)
_AT: Final = re.compile(
    r"""(?<![A-Za-z0-9_.@/\\`<>$%+=&-])@
    (?: "(?P<quoted>[^"\n]+)" (?P<range> :\d+(?:-\d+)? | \#L\d+(?:-L?\d+)? )?
      | (?P<bare> (?!@) [^\s"'`<>|\u201c\u201d\u3000-\u301f\uff01-\uff0f\uff1a-\uff20]+ ) )""",
    re.VERBOSE,
)
_RANGE: Final = re.compile(r"(?::(\d+)(?:-(\d+))?|#L(\d+)(?:-L?(\d+))?)\Z")
_CLOSING: Final = {")": "(", "]": "[", "}": "{"}
_ENDINGS: Final = """
bash c cc cfg cjs conf cpp cs css csv cts diff env gif go gradle graphql h hpp html ini ipynb java jpeg jpg js json
jsonl jsx kt less lock log lua md mjs mts patch pdf php pl png proto ps1 py pyi r rb rs rst scala scss sh sql svelte svg
swift tf toml ts tsv tsx txt vue webp xml yaml yml zig
"""
_KNOWN: Final = frozenset(_ENDINGS.split())
"""Endings by which a name without a slash is known for a file: `@app.route` is none."""


@dataclass(frozen=True, slots=True)
class Mention:
    """Hold one mention.

    Attributes:
        text: As it is written, `@` included.
        first: Line, from 1; None for the whole file.
        last: The last line; included.
        sure: It can hardly be anything but a file.
    """

    text: str
    path: str
    first: int | None = None
    last: int | None = None
    sure: bool = False

    @property
    def is_pattern(self) -> bool:
        """Say whether it may mean several files."""
        return any(sign in self.path for sign in "*?[{")


def mentions(prompt: str) -> tuple[Mention, ...]:
    """Return what a prompt mentions, each once, in its order.

    Args:
        prompt: As the author of the job wrote it, its inputs not yet put in: no value of an input is ever a mention.
    """
    found: dict[tuple[str, int | None, int | None], Mention] = {}
    for mention in _all(_CODE.sub(lambda code: " " * len(code.group()), prompt)):
        found.setdefault((mention.path, mention.first, mention.last), mention)
    return tuple(found.values())


def _all(text: str) -> Iterator[Mention]:
    for match in _AT.finditer(text):
        if (quoted := match["quoted"]) is not None:
            yield _ranged(f'"{quoted}"', quoted, match["range"] or "", sure=True)
        elif (bare := _trimmed(match["bare"])) and "{{" not in bare:
            range_ = _RANGE.search(bare)
            path = bare[: range_.start()] if range_ else bare
            if path:
                yield _ranged(path, path, range_.group() if range_ else "", sure=_is_sure(path))


def _ranged(written: str, path: str, lines: str, *, sure: bool) -> Mention:
    if not (match := _RANGE.match(lines)):
        return Mention(f"@{written}", path, sure=sure)
    first, last = (int(number) if number else None for number in (match[1] or match[3], match[2] or match[4]))
    return Mention(f"@{written}{lines}", path, first, first if last is None else last, sure=True)


def _trimmed(word: str) -> str:
    """Return a word without what the sentence around it has put there; empty for what is called, as `@cache(`."""
    word = _until_comma(word)
    while word:
        last = word[-1]
        opening = _CLOSING.get(last)
        if last in ".,;:!?…" or (opening and word.count(opening) < word.count(last)):
            word = word[:-1]
        else:
            break
    return "" if word.count("(") > word.count(")") else word


def _until_comma(word: str) -> str:
    """Return a word up to its first comma or semicolon that stands in no braces."""
    depth = 0
    for at, char in enumerate(word):
        depth += (char == "{") - (char == "}")
        if char in ",;" and depth <= 0:
            return word[:at]
    return word


def _is_sure(path: str) -> bool:
    if path.startswith(("/", "./", "../", "~/")) or path.endswith("/"):
        return True
    name = path.rpartition("/")[2]
    stem, dot, ending = name.rpartition(".")
    if "/" not in path:
        return bool(dot and (stem or ending)) and ending.lower() in _KNOWN
    return bool(dot and stem and ending) or any(sign in path for sign in "*?")
