"""Show a run as the loop it was; a fold of its facts, like its status, and nothing was written for it."""
