"""What people touch in a browser: the viewer of a robot and the teach pendant."""
