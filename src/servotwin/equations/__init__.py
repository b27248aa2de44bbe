"""The algorithms on symbols: an expression graph and the programs derived on it."""
