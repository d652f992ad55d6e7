"""Speak OpenAI's Responses, without anything being kept at the provider."""
