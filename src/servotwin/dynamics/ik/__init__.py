"""Inverse kinematics: closed forms with all branches, and a numeric search within joint limits."""

from __future__ import annotations

from servotwin.dynamics.ik.delta import delta_fkine, delta_tree_positions
from servotwin.dynamics.ik.numeric import ikine_numeric
from servotwin.dynamics.ik.solve import InverseKinematics, ikine, ikine_all

__all__ = ["InverseKinematics", "delta_fkine", "delta_tree_positions", "ikine", "ikine_all", "ikine_numeric"]
