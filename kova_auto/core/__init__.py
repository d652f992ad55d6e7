"""Decide everything, touch nothing: no I/O, no clock, no randomness."""
