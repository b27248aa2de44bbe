"""Kinematic calibration: parameters from measured poses, what they identify, and poses to measure."""
