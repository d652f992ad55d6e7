"""The name under which a played script stands where others have a provider."""

from __future__ import annotations

from typing import Final

SCRIPTED: Final = "scripted"
