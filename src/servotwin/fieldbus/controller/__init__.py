"""The PC controller: the main controller of a robot, whose commands go to drives on a bus."""
