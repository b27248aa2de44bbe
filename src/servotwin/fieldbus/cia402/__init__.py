"""The drive profile CiA 402: states, transitions, modes, and the port to the axis behind a drive."""
