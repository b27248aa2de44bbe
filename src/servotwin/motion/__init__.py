"""Where the axes shall be at every instant: velocity profiles and moves from point to point."""
