"""Motions that are optimal for time, energy or a mixture of both, within what motors and supply can give."""
