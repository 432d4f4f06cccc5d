"""Beliefs turn rewards into the mean and standard deviation of every tracked footprint."""
