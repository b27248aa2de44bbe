"""What algorithms read: a frozen tree of bodies, its frames, couplings, loop closures and rotors."""
