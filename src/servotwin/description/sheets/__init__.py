"""Data sheets of motors and gears: as makers print them, converted once to SI and to our own conventions."""
