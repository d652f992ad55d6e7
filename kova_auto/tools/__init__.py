"""Do to the world what a model asked for, within bounds."""
