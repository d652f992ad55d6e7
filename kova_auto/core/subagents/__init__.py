"""Subagents: what defines one, and what makes a run the child of another."""
