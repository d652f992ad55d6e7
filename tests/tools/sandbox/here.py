"""Marks for tests that need what not every machine has."""

from __future__ import annotations

import pytest

from kova_auto.tools.sandbox.plan import Method
from tests.tools.sandbox.tries import methods_here

with_bwrap = pytest.mark.skipif(Method.BWRAP not in methods_here(), reason="bubblewrap is not installed")
