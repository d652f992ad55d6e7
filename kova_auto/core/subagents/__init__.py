"""Subagents: what defines one, and which of them a run may dispatch."""
