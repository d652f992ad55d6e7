"""Decide where a request may go, and what is said there; `kova_auto.net` does the talking."""
