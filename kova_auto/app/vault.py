"""Know the secrets of this service: fetch each when it is needed, and take all of them out of text.

A secret is remembered from the moment it is fetched, so that whatever it went into can be redacted.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import Lock

from kova_auto.core.errors import ConfigError, JobFileError
from kova_auto.core.job import Job
from kova_auto.core.redact import Redactor
from kova_auto.core.secret import SecretRef
from kova_auto.settings.model import Settings
from kova_auto.settings.secrets import read_secret


class Vault:
    """Hold what was fetched so far."""

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        """Fetch every secret of the settings that can be had now; the others are reported when they are needed."""
        self._environ, self._base = environ, settings.path.parent
        self._known: list[tuple[str, str]] = []
        self._redactor = Redactor({})
        self._lock = Lock()
        self.learn(reference for _, reference in settings.secrets)

    def learn(self, references: Iterable[SecretRef]) -> None:
        """Fetch every secret that can be had now, so that it is known from now on."""
        for reference in references:
            with contextlib.suppress(ConfigError):
                self.value(reference)

    def vet(self, job: Job) -> None:
        """Learn the secrets that a job's file names, and refuse a job whose name holds a secret.

        Raises:
            JobFileError: The name would be in every message, row and line of the log.
        """
        self.learn(job.secrets)
        if self.holds(job.name):
            message = "wanted a name without a secret in it: a job's name is shown everywhere"
            raise JobFileError(message, path=job.path, hint="rename the file")

    def value(self, reference: SecretRef, base: Path | None = None) -> str:
        """Return a secret.

        Args:
            reference: Where it is.
            base: Directory at which a relative file begins; None for the settings' own.

        Raises:
            ConfigError: There is none, or it is empty.
        """
        secret = read_secret(reference, self._environ, base=base or self._base)
        self.remember(reference.source, secret)
        return secret

    def remember(self, name: str, secret: str) -> None:
        """Redact a secret from now on; what it was before it was changed is redacted too."""
        with self._lock:
            if (name.replace(" ", ":"), secret) not in self._known:
                self._known.append((name.replace(" ", ":"), secret))
                self._redactor = Redactor(self._known)

    def redact(self, text: str) -> str:
        """Take every known secret out of a text, and what has the well-known shape of a key."""
        return self._redactor.redact(text) if text else ""

    def guard(self, text: str) -> str:
        """Take every known secret out of a text, and nothing else: the last look before it is written."""
        return self._redactor.redact_known(text)

    def holds(self, text: str) -> bool:
        """Say whether a text holds a known secret."""
        return self.guard(text) != text


class RedactingFilter(logging.Filter):
    """Take secrets out of every record before it is written to a log."""

    def __init__(self, vault: Vault) -> None:
        """Ask `vault` at the moment of writing."""
        super().__init__()
        self._vault = vault

    def filter(self, record: logging.LogRecord) -> bool:
        """Replace the message by its redacted form; always lets it through."""
        record.msg, record.args = self._vault.redact(record.getMessage()), None
        if record.exc_info and not record.exc_text:
            record.exc_text = self._vault.redact(logging.Formatter().formatException(record.exc_info))
        return True
