"""Where log records go: of a command its warnings, of the service everything, in the form its supervisor likes."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, Final

from kova_auto.cli.output import complain
from kova_auto.settings.environment import Environment

if TYPE_CHECKING:
    from kova_auto.app.house import House
    from kova_auto.app.replaying import Player

LEVELS: Final = ("debug", "info", "warning", "error")
OURS: Final = "kova_auto"
_OTHERS: Final = ("httpx", "httpcore", "apscheduler", "asyncio", "alembic", "sqlalchemy")
_STANDARD_ERROR: Final = 2
_PRIORITIES: Final = {logging.CRITICAL: 2, logging.ERROR: 3, logging.WARNING: 4, logging.INFO: 6, logging.DEBUG: 7}


class Complaints(logging.Handler):
    """Say each record as a command says what is wrong."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write it to standard error."""
        complain(self.format(record), record.levelname.lower())


class JournalFormatter(logging.Formatter):
    """Put the priority that systemd's journal reads before each line; the time it knows by itself."""

    def __init__(self) -> None:
        """Say who speaks, and what."""
        super().__init__("%(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's lines."""
        priority = _PRIORITIES.get(record.levelno, 6)
        return "\n".join(f"<{priority}>{line}" for line in super().format(record).splitlines())


def log_warnings() -> None:
    """Show warnings of a command; what deliveries do is shown by who follows them."""
    logger = logging.getLogger(OURS)
    if not any(isinstance(handler, Complaints) for handler in logger.handlers):
        logger.addHandler(Complaints(logging.WARNING))
    logging.getLogger(f"{OURS}.delivery").setLevel(logging.ERROR)


def log_service(level: str, environ: Environment) -> None:
    """Write everything to standard error from now on."""
    handler = logging.StreamHandler(sys.stderr)
    plain = logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s", "%Y-%m-%d %H:%M:%S")
    handler.setFormatter(JournalFormatter() if goes_to_journal(environ) else plain)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.captureWarnings(capture=True)
    for name in _OTHERS:
        logging.getLogger(name).setLevel(logging.WARNING)


def goes_to_journal(environ: Environment) -> bool:
    """Say whether standard error is the stream that systemd connected to its journal."""
    named = environ.get("JOURNAL_STREAM")
    if not named:
        return False
    status = os.fstat(_STANDARD_ERROR)
    return named == f"{status.st_dev}:{status.st_ino}"


def keep_secrets(knows: House | Player | None) -> None:
    """Take the secrets that a house, or a player of recordings, knows out of every record from now on."""
    if knows is None:
        return
    from kova_auto.app.vault import RedactingFilter

    for name in ("", OURS):
        for handler in logging.getLogger(name).handlers:
            handler.addFilter(RedactingFilter(knows.vault))
