"""What a person writes about a robot: YAML with units, DH tables, URDF; read, composed, checked, in SI.

``load.read_description`` is the way in. Nothing is imported here, because
the frame arithmetic in ``frames`` is used where no description is read.
"""
