"""Cycles with deadlines: compiled code that waits for the monotonic clock, and what is measured about it."""
