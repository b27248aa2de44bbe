"""What the command line can do, as functions of ``st`` with results: the commands parse text, call these and print."""
