"""Sizing: what a duty asks of motors, gears and supply, and which of a catalogue can give it."""
