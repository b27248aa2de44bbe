"""Arm, drives and controller together in time."""
