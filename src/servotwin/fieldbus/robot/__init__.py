"""The robot of a description behind its drives: servo unit, power stage, motors, gears and the coupled arm."""
