"""Read a bash command as bash would, or refuse it; match it against rules; say what may be remembered of it."""
