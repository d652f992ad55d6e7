"""Speak OpenAI's Chat Completions and the dialects of those who copied it."""
