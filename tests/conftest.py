"""Fixtures for every test: only what must be closed."""

from __future__ import annotations

pytest_plugins = ("tests.postgres",)
