"""The algorithms of kinematics and dynamics, over any scalar or over arrays."""
