"""Read what stands before the body of a Markdown file: YAML between two lines of three dashes.

Who wrote the file is not trusted: size and depth are bounded, and nothing in it can refer to something else. A key
that stands twice is an error. Only whole numbers, `true`, `false` and `null` become values; a date or a version stays
text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from kova_auto.core.errors import ConfigError

FENCE: Final = "---"
MAX_FRONT_CHARS: Final = 16 * 1024
MAX_WHOLE_CHARS: Final = 128 * 1024
QUOTE: Final = "put the value in quotes"

_ENTRY = re.compile(r"^([A-Za-z_][\w-]*):[ \t]+(\S.*?)[ \t]*$")
_UNQUOTED: Final = "wanted a value in quotes, found one that YAML reads otherwise"
_TAB: Final = "wanted spaces before the text, found a tab"
_INDENT = re.compile(r"^[ \t]*\t[ \t]*")


class Matter(NamedTuple):
    r"""Hold what a file says.

    Attributes:
        front: What the keys mean: text, int, bool, None, lists and mappings of these, by text.
        body: All that follows, its line ends as `\n`.
        lines: Where each key stands in the file, 1-based; a key within another as `metadata.author`.
    """

    front: Mapping[str, object]
    body: str
    lines: Mapping[str, int]


class Mended(NamedTuple):
    """Hold a file that had to be read otherwise than YAML says.

    Attributes:
        remarks: What is wrong with it, each with its line; empty where nothing is.
    """

    matter: Matter
    remarks: tuple[ConfigError, ...]


def split(text: str, *, path: str = "") -> Matter:
    """Return front matter and body of a file.

    Args:
        text: The whole file.
        path: How errors name it.

    Raises:
        ConfigError: There is no front matter, or it is no YAML that may be read; with its line.
    """
    front, body = _cut(text, path)
    return _matter(front, body, path)


def split_mended(text: str, *, path: str = "") -> Mended:
    """Return front matter and body even where a value needs quotes, or tabs indent: people publish both.

    Raises:
        ConfigError: As `split` does, where that is not what is wrong.
    """
    front, body = _cut(text, path)
    try:
        return Mended(_matter(front, body, path), ())
    except ConfigError as exc:
        lines, remarks = _mend(front.split("\n"), path)
        if not remarks:
            raise
        try:
            return Mended(_matter("\n".join(lines), body, path), remarks)
        except ConfigError:
            raise exc from None


def whole(text: str, *, path: str = "") -> Matter:
    """Return what a file says that is YAML alone; its body is empty.

    Raises:
        ConfigError: It is no YAML that may be read; with its line.
    """
    if len(text) > MAX_WHOLE_CHARS:
        message = f"wanted at most {MAX_WHOLE_CHARS} characters, found {len(text)}"
        raise ConfigError(message, path=path)
    return _matter(text.removeprefix("\ufeff").replace("\r\n", "\n"), "", path, first=1)


def _cut(text: str, path: str) -> tuple[str, str]:
    """Return the YAML, whose first line is the file's second, and the body."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != FENCE:
        message = f"wanted front matter, found no {FENCE} in the first line"
        raise ConfigError(message, path=path, line=1, hint=f"begin with {FENCE}, the keys, and {FENCE} again")
    end = next((at for at, line in enumerate(lines) if at and line.rstrip() == FENCE), None)
    if end is None:
        message = f"wanted a line of {FENCE} that ends the front matter, found none"
        raise ConfigError(message, path=path, line=len(lines), hint="write it below the last key")
    front = "\n".join(lines[1:end])
    if len(front) > MAX_FRONT_CHARS:
        message = f"wanted front matter of at most {MAX_FRONT_CHARS} characters, found {len(front)}"
        raise ConfigError(message, path=path, line=1)
    return front, "\n".join(lines[end + 1 :])


def _matter(front: str, body: str, path: str, *, first: int = 2) -> Matter:
    from kova_auto.knowledge.yaml import YamlProblem, read_mapping

    try:
        values, lines = read_mapping(front, first=first)
    except YamlProblem as exc:
        raise ConfigError(exc.message, path=path, line=exc.line, key=exc.key, hint=exc.hint) from exc
    return Matter(values, body, lines)


def _mend(lines: list[str], path: str) -> tuple[list[str], tuple[ConfigError, ...]]:
    """Quote values of one line that YAML would take apart, and indent with spaces."""
    mended, remarks = list[str](), list[ConfigError]()
    for at, line in enumerate(lines):
        below = lines[at + 1] if at + 1 < len(lines) else ""
        entry = None if below.startswith((" ", "\t")) else _ENTRY.match(line)
        if entry and not _is_sound(line):
            quoted = entry[2].replace("'", "''")
            mended.append(f"{entry[1]}: '{quoted}'")
            remarks.append(_remark(_UNQUOTED, at, path, entry[1]))
        elif indent := _INDENT.match(line):
            mended.append(indent[0].replace("\t", "  ") + line[indent.end() :])
            remarks.append(_remark(_TAB, at, path))
        else:
            mended.append(line)
    return mended, tuple(remarks)


def _is_sound(line: str) -> bool:
    """Say whether a line is YAML by itself."""
    from kova_auto.knowledge.yaml import YamlProblem, read_mapping

    try:
        read_mapping(line)
    except YamlProblem:
        return False
    return True


def _remark(message: str, at: int, path: str, key: str = "") -> ConfigError:
    return ConfigError(message, path=path, line=at + 2, key=key, hint=QUOTE if key else "indent with spaces")
