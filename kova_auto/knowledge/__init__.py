"""What lies beside the user's work and outlives a run: what people and this machine allowed for good."""
