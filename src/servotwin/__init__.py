"""ServoTwin: a robot described once; its equations, drives, control and answers."""
