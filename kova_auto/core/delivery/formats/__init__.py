"""Render one neutral document for each kind of consumer, one file each."""
