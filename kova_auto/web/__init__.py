"""Listen for requests from outside: one listener of its own, off unless the settings say where."""
