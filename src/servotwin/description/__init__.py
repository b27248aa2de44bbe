"""What a person writes about a robot: YAML with units, DH tables, URDF; read, composed, checked, in SI."""

from servotwin.description.load import catalogue_names, read_description
from servotwin.description.schema import RobotDescription

__all__ = ["RobotDescription", "catalogue_names", "read_description"]
