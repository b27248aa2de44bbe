"""The reachable set of a robot: its boundary, what limits it, and maps over it."""
