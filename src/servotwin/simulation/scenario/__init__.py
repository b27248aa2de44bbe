"""What is simulated: scenarios, their checks, scripts of inputs, laws of the user."""
