"""Speak to models, one file per wire protocol."""
