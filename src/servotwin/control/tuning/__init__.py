"""Gains and margins of the servo loops, and what is wrong with them."""
