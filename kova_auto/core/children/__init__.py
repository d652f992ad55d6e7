"""The children of a run: what it waits for, what it is told of them."""
