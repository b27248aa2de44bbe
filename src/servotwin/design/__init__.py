"""Answers to a designer's questions: tuning, sizing."""
