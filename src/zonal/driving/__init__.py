"""From a study to its instrument and back: ask, measure, tell, here or on many machines."""
