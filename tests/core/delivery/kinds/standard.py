"""Read messages of Standard Webhooks: a program reads them."""

from __future__ import annotations

from tests.core.delivery.kind import Kind

KIND = Kind(shows_command=False, options=({"detail": "full"}, {"detail": "thin"}))
