"""What a controller computes from its own model and its signals: gains, loops, laws."""
