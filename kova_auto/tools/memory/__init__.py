"""What outlives a run: notes, written with their versions, read and searched."""
