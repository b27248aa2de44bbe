"""Job programs: language, taught points, checker and interpreter. Reference: docs/job-language.md."""
