"""Let a person edit a text in an editor of their own; what was written is never lost."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kova_auto.core.errors import ConfigError, KovaError
from kova_auto.settings.environment import Environment


@contextmanager
def edited(text: str, environ: Environment) -> Iterator[str]:
    """Give a text as an editor has left it; where what is done with it fails, a file with it stays.

    Raises:
        ConfigError: There is no editor, it fails, or the text cannot be used; then the message names that file.
    """
    command = environ.get("VISUAL") or environ.get("EDITOR") or ""
    if not command.strip():
        message = "wanted an editor, found neither VISUAL nor EDITOR in the environment"
        raise ConfigError(message, hint="set one, or pass - and give the note on standard input")
    with tempfile.NamedTemporaryFile("w", suffix=".md", prefix="kova-auto-", encoding="utf-8", delete=False) as file:
        file.write(text)
    path = Path(file.name)
    try:
        _open(command, path)
        yield path.read_text(encoding="utf-8")
    except (KovaError, UnicodeDecodeError) as exc:
        if path.read_bytes() == text.encode():
            path.unlink()
            raise
        message = f"{exc}; what you wrote is in {path}"
        raise ConfigError(message) from exc
    path.unlink()


def _open(command: str, path: Path) -> None:
    try:
        code = subprocess.run([*shlex.split(command), str(path)], check=False).returncode  # noqa: S603  # the user's own
    except (OSError, ValueError) as exc:
        message = f"the editor {command!r} cannot be started: {exc}"
        raise ConfigError(message, hint="VISUAL and EDITOR name it") from exc
    if code != 0:
        message = f"the editor {command!r} ended with {code}; nothing was changed"
        raise ConfigError(message)
