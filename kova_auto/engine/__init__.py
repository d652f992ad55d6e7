"""Advance runs: choose the next step, perform it, append what happened."""
