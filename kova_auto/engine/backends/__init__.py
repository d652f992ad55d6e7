"""Call advance at least once on a live worker, in one process or in many."""
