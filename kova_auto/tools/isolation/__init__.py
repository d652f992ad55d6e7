"""Workspaces of a run's own: made, compared with what they were made of, brought back, and removed."""
