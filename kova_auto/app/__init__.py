"""Build everything once; the only place where adapters are constructed."""
