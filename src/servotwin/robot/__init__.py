"""The robot as a person uses it."""
