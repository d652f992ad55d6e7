"""Replace `${NAME}` and `${NAME:-default}` in a server's configuration by values that it may have.

What other clients write for the same is read, too: `${env:NAME}`. What they ask a person for is not there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from kova_auto.core.errors import ConfigError

_REFERENCE = re.compile(r"\$\{((?:[a-z]+:(?=[A-Za-z_]))?[^}:]*)(?::-([^}]*))?\}")
_ENV, _INPUT = "env:", "input:"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PLAIN: Final = frozenset({"HOME", "USER", "LOGNAME", "PATH", "PWD", "TMPDIR", "LANG", "TZ", "SHELL"})
"""Names of variables that hold no secret: what they hold is not taken out of text."""


def expanded(text: str, value_of: Callable[[str], str | None], refused: str) -> str:
    """Return a text with its references replaced, once: what is put in is not read again.

    Args:
        text: As a file has it.
        value_of: Returns the value of a variable that may be read; None where there is none, or it may not be.
        refused: What there is to do about such a one, for a person.

    Raises:
        ConfigError: A variable has no value and no default, or `${` is no reference.
    """

    def put(found: re.Match[str]) -> str:
        name, default = found[1].removeprefix(_ENV), found[2]
        if name.startswith(_INPUT):
            message = f"{found[0]} asks a person, and nobody is there to be asked"
            raise ConfigError(message, hint=f"write ${{NAME}}: {refused}")
        if not _NAME.fullmatch(name):
            message = f"wanted ${{NAME}} or ${{NAME:-default}}, found {found[0]!r}"
            raise ConfigError(message)
        value = value_of(name) or default
        if value is None:
            message = f"${{{name}}} has no value here"
            raise ConfigError(message, hint=refused)
        return value

    return _REFERENCE.sub(put, text)
