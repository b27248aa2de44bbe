"""Hardware in the loop: joints of a simulated arm whose shafts are real, or a twin of the rig that carries them."""
