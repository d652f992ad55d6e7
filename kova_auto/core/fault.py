"""What can be wrong with a call of a model: a closed set, and what each of them means for asking again."""

from __future__ import annotations

from enum import StrEnum


class Fault(StrEnum):
    """Class one failed call of a model."""

    RATE_LIMITED = "rate_limited"  # asked too often: it passes
    OVERLOADED = "overloaded"  # the provider has no capacity now
    SERVER = "server"  # the provider failed
    NETWORK = "network"  # no connection, or it was lost
    TIMEOUT = "timeout"  # nothing new in time
    TRUNCATED = "truncated"  # the stream ended without its end
    MALFORMED = "malformed"  # what came is not of the protocol
    AUTH = "auth"  # the key is missing, wrong, or may not do this
    SPENT = "spent"  # a quota or a spend limit at the provider
    NOT_FOUND = "not_found"  # no such model or address
    INVALID = "invalid"  # the request itself is refused
    OVERFLOW = "overflow"  # the request is larger than the model's window
    SETTINGS = "settings"  # the provider is not set up, or its secret cannot be had
    SCRIPT = "script"  # the script holds no turn that fits


TRANSIENT = frozenset(
    {
        Fault.RATE_LIMITED,
        Fault.OVERLOADED,
        Fault.SERVER,
        Fault.NETWORK,
        Fault.TIMEOUT,
        Fault.TRUNCATED,
        Fault.MALFORMED,
    }
)
"""Those that may be gone when the same request is made again."""

BUSY = frozenset({Fault.RATE_LIMITED, Fault.OVERLOADED})
"""Those with which a provider says itself that it wants to be asked later."""

LASTING = frozenset({Fault.AUTH, Fault.SPENT})
"""Those that a person must mend, and that every further run would meet again."""
