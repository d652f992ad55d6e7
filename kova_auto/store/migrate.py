"""Move a database along the chain of migrations; imported only where that is needed."""

from __future__ import annotations

import logging
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection

from kova_auto.core.errors import JournalError

logger = logging.getLogger(__name__)


def config_for(connection: Connection | None = None) -> Config:
    """Return Alembic's configuration: our migrations, run over `connection`, inside its transaction."""
    config = Config()
    place = str(Path(__file__).with_name("migrations"))
    config.set_main_option("script_location", place.replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def upgrade(connection: Connection, found: str, place: str) -> None:
    """Bring older tables up to date; the caller commits.

    Raises:
        JournalError: The tables are of a newer version than this program.
    """
    config = config_for(connection)
    try:
        ScriptDirectory.from_config(config).get_revision(found)
    except CommandError as exc:
        msg = f"the database {place} was written by a newer kova-auto (revision {found}); upgrade this one"
        raise JournalError(msg) from exc
    logger.info("migrating %s from revision %s", place, found)
    command.upgrade(config, "head")
