"""The fast method: currents and arm over a window of the PWM pattern at once."""
