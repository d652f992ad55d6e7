"""Read TOML that a person wrote, and say what is wrong with it, and where."""
