"""Studies: many independent computations on plain data, in this process, on all cores, or on a cluster."""
