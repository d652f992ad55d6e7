"""Tell endpoints what they are owed, until the receiver says it has it."""
