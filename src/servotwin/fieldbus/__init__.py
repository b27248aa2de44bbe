"""Real wires: drives as slaves on a fieldbus, and what a controller needs to command drives over one."""
