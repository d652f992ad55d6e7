"""One file for each kind of sender: what it signs, and where it says what happened."""
