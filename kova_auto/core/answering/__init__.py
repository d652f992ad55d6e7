"""Decide who may answer for a call from outside: signed links, and the buttons of a chat; nothing here listens."""
