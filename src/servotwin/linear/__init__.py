"""Linear systems: modes, ranks, responses, sampling and feedback design; NumPy and SciPy alone."""
