"""What the final answer must be, and whether it is that."""
