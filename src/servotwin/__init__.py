"""ServoTwin: a robot described once; its equations, compiled dynamics, drives, control and design answers.

>>> import servotwin as st
>>> robot = st.load_robot("gsis-scara")
>>> robot.joint_names
('A', 'B', 'Z', 'W')
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from servotwin.errors import (
    InputError,
    KinematicsError,
    RobotWarning,
    ServotwinError,
    ShapeError,
    UnreachableError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from servotwin.robot.derive import RobotEquations, derive
    from servotwin.robot.load import load_robot
    from servotwin.robot.robot import Hybrid, Robot

__version__ = "0.1.0"
__all__ = [
    "Hybrid",
    "InputError",
    "KinematicsError",
    "Robot",
    "RobotEquations",
    "RobotWarning",
    "ServotwinError",
    "ShapeError",
    "UnreachableError",
    "UnsupportedError",
    "__version__",
    "derive",
    "load_robot",
]

_HOMES = {
    "Hybrid": "servotwin.robot.robot",
    "Robot": "servotwin.robot.robot",
    "RobotEquations": "servotwin.robot.derive",
    "derive": "servotwin.robot.derive",
    "load_robot": "servotwin.robot.load",
}


def __getattr__(name: str) -> Any:
    """Public names are imported at first use, so that the package itself loads at once."""
    if name in _HOMES:
        import importlib

        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'servotwin' has no attribute '{name}'")
