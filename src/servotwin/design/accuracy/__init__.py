"""How accurate a robot will be: the quantities of ISO 9283, their causes, and what tolerances do to them."""
