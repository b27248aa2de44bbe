"""Equations of motion as a person writes them: closed forms with angle sums and named constants."""
