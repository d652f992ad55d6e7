"""Read CloudEvents: a program reads them, in either mode."""

from __future__ import annotations

from tests.core.delivery.kind import Kind

_SOURCE = "urn:uuid:6b29fc40-ca47-5067-b31d-00dd010662da"

KIND = Kind(shows_command=False, options=({"source": _SOURCE, "detail": "full"}, {"source": _SOURCE, "detail": "thin"}))
