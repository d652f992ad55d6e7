"""Decide what the model is shown."""
