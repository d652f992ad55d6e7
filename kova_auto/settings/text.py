"""Read the text files that people write for us."""

from __future__ import annotations

from pathlib import Path

from kova_auto.core.errors import ConfigError

MAX_BYTES = 1 << 20


def read_text(path: Path) -> str:
    """Return the text of a regular file in UTF-8, at most 1 MiB, without a byte order mark.

    Raises:
        ConfigError: There is no such text.
    """
    try:
        if not path.is_file():
            found = "a directory" if path.is_dir() else "nothing"
            raise _wrong(path, f"wanted a text file, found {found}")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as exc:
        raise _wrong(path, f"wanted a file that can be read: {exc.strerror or exc}") from exc
    if len(data) > MAX_BYTES:
        raise _wrong(path, "wanted at most 1 MiB of text, found more")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as exc:
        raise _wrong(path, f"wanted text in UTF-8, found byte {exc.object[exc.start]:#04x} at {exc.start}") from exc


def absolute(path: str | Path, base: Path) -> Path:
    """Return a path as a person wrote it in a file, `~` included, made absolute from `base` and canonical."""
    try:
        return (base / Path(path).expanduser()).resolve()
    except (RuntimeError, OSError, ValueError) as exc:  # no such user; a loop of links; a NUL
        msg = f"wanted a path, found {str(path)!r}: {exc}"
        raise ConfigError(msg) from exc


def _wrong(path: Path, message: str) -> ConfigError:
    return ConfigError(message, path=str(path))
