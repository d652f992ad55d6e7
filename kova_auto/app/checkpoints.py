"""Show and take back what a run wrote, from the contents that its journal keeps."""

from __future__ import annotations
