"""Settings, events, state and decisions: one round, the history, the file."""
