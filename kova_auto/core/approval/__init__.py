"""Decide whether a tool call may run."""
