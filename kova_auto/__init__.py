"""Run agent jobs on a schedule while nobody is watching, and post what came of them."""

__version__ = "0.1.0"
