"""One round: settings, events, state, and what calls decide."""
