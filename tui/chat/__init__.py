"""A conversation: turns, sending, resuming."""
