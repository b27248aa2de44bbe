"""Before a run: what it will take, and what is wrong with it."""
