"""What the user holds: a study, what it answers, and how it is driven."""
