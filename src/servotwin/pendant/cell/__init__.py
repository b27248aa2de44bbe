"""Main controller and plant in a process of their own, in real time; the only place that decides about motion."""
