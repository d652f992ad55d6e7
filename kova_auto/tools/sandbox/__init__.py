"""Confine commands: what a command may reach is decided here, and proved before it is relied upon.

`select` chooses, `selftest` proves, `bwrap` and `landlock` confine. Nothing here ever runs a refused command without
its confinement.
"""
