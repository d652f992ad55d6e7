"""A small model in this process: honest, bounded, and for trying things out."""
