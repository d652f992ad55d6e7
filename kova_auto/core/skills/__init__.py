"""Skills: folders with instructions for one kind of work, in the open format, and what becomes of them in a run."""
