"""Load job files and open a run for every instant that falls due."""
