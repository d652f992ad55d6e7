"""Anthropic Messages, and what other servers make of it."""
