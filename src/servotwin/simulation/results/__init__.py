"""What a run gives back: signals, summary, logs, files."""
