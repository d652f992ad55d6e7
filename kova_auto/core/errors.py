"""Errors: surprises, each saying which thing, where, and whether to try again.

A denial is a `Verdict`, a limit an `Outcome`, waiting a `Step`: none of these is raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from kova_auto.core.fault import Fault

if TYPE_CHECKING:
    from kova_auto.core.message import Usage
    from kova_auto.core.wording import Sent


class KovaError(Exception):
    """Carry one sentence for a person, and say whether the same thing may work later."""

    retryable: ClassVar[bool] = False


class ConfigError(KovaError):
    """Name something that a person must edit, with its place."""

    def __init__(
        self,
        message: str,
        *,
        path: str = "",
        line: int | None = None,
        key: str = "",
        hint: str = "",
        others: Sequence[ConfigError] = (),
    ) -> None:
        """Keep the place apart from the sentence.

        Args:
            message: What was wanted and what was found.
            path: The file, empty where there is none.
            line: 1-based line in `path`, if known.
            key: Dotted key, as `schedule.cron`.
            hint: What to do about it.
            others: Further problems of the same file; each is another line of this error's text.
        """
        self.message, self.path, self.line, self.key, self.hint = message, path, line, key, hint
        self.others = tuple(others)
        super().__init__("\n".join(problem.sentence for problem in self.problems))

    @property
    def sentence(self) -> str:
        """Return this problem alone: its place, what is wrong, and the hint."""
        place = self.path + (f":{self.line}" if self.path and self.line else "")
        text = ": ".join(part for part in (place, self.key, self.message) if part)
        return f"{text} ({self.hint})" if self.hint else text

    @property
    def problems(self) -> tuple[ConfigError, ...]:
        """Return everything that is wrong with the file, this problem first."""
        return (self, *self.others)


class JobFileError(ConfigError):
    """Say what is wrong with a job file, and where."""


class SettingsError(ConfigError):
    """Say what is wrong with the settings, and where."""


class UnknownEndpointError(ConfigError):
    """Say that the settings have no endpoint of this name."""


class ModelError(KovaError):
    """Say that a model did not answer as asked."""

    usual: ClassVar[Fault] = Fault.INVALID

    def __init__(
        self,
        message: str,
        *,
        fault: Fault | None = None,
        retry_after_s: float | None = None,
        status: int | None = None,
        request_id: str = "",
    ) -> None:
        """Keep what is known of the failure.

        Args:
            message: One sentence for a person, without secrets.
            fault: Its class; None for the usual one of this kind of error.
            retry_after_s: When the provider wants to be asked again, in seconds; None where it said nothing.
            status: Of its HTTP answer.
            request_id: What it calls the request.
        """
        super().__init__(message)
        self.fault = fault or self.usual
        self.retry_after_s, self.status, self.request_id = retry_after_s, status, request_id
        self.spent: Usage | None = None
        """What was used until it failed, where the provider had said it: failed calls are billed too."""
        self.sent: tuple[Sent, ...] = ()
        """The bodies that were sent, each with its wording."""


class ModelUnavailableError(ModelError):
    """Say that the provider could not be reached, is overloaded, or broke off: asking again may help."""

    retryable = True
    usual = Fault.SERVER


class ModelRefusedError(ModelError):
    """Say that the provider refused the request and will refuse it again."""


class ContextOverflowError(ModelError):
    """Say that the request is larger than the model's window."""

    usual = Fault.OVERFLOW


class ScriptMismatchError(ModelError):
    """Say that a script holds no turn that fits this conversation."""

    usual = Fault.SCRIPT


class ToolError(KovaError):
    """Become a result that the model can read; never leaves `perform`."""


class ToolArgumentsError(ToolError):
    """Say which argument does not fit the tool's schema."""


class ToolTimeoutError(ToolError):
    """Say that a tool ran out of time."""

    retryable = True


class ToolFailedError(ToolError):
    """Say why a tool could not do what was asked."""


class DeliveryError(KovaError):
    """Say that an endpoint was not told."""


class EndpointUnreachableError(DeliveryError):
    """Say that an endpoint could not be reached."""

    retryable = True


class EndpointRefusedError(DeliveryError):
    """Say that an endpoint answered, and the answer was no."""


class JournalError(KovaError):
    """Say that a fact could not be written or read."""


class JournalBusyError(JournalError):
    """Say that the database did not answer in time."""

    retryable = True


class IllegalEventError(JournalError):
    """Say that an event cannot follow what the journal already holds."""


class UnknownEventError(JournalError):
    """Say that the journal holds an event written by a newer version."""


class UnknownRunError(JournalError):
    """Say that the journal holds no run of this id."""


class FencedError(JournalError):
    """Say that another worker has taken the run since; this one must stop."""


class DatabaseInUseError(JournalError):
    """Say that another process owns the database."""
