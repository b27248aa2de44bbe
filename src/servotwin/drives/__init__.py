"""Motors, gears, friction, power stage and sensors, as functions that compiled simulation loops inline."""
