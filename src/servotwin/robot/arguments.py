"""What a caller hands over, checked and explained: arrays, frames, wrenches, the pattern of hybrid problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from servotwin.description.display import of_joint
from servotwin.errors import ShapeError
from servotwin.mechanism.model import Array, BoolArray

PER_JOINT = {  # unit of a quantity at a revolute and at a prismatic joint
    "q": ("rad", "m"),
    "qd": ("rad/s", "m/s"),
    "qdd": ("rad/s2", "m/s2"),
    "tau": ("N m", "N"),
}


def real_array(name: str, value: ArrayLike) -> Array:
    """Any array of real numbers."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise ShapeError(f"{name} is ragged; expected an array of real numbers") from None
    if array.dtype.kind not in "biuf":
        raise ShapeError(f"{name} has elements of type {array.dtype}; expected real numbers")
    return np.asarray(array, dtype=np.float64)


def joint_array(name: str, value: ArrayLike, joints: Sequence[str], sliding: Sequence[bool]) -> Array:
    """An array (..., n) with one value per joint."""
    array = real_array(name, value)
    if array.ndim == 0 or array.shape[-1] != len(joints):
        units = PER_JOINT.get(name, ("", ""))
        listed = ", ".join(f"{joint} [{units[slide]}]" for joint, slide in zip(joints, sliding, strict=True))
        raise ShapeError(f"{name} has shape {array.shape}; expected (..., {len(joints)}): {listed}")
    return array


def position_text(q: Array, joints: Sequence[str], sliding: Sequence[bool]) -> str:
    """Joint positions [rad, m] as people read them.

    >>> position_text(np.array([np.pi / 2, 0.05]), ("A", "Z"), (False, True))
    'A 90 deg, Z 50 mm'
    """
    shown = zip(joints, q, sliding, strict=True)
    return ", ".join(f"{name} {of_joint(slides).text(value, '.6g')}" for name, value, slides in shown)


def explain(
    error: Exception, joints: Sequence[str], sliding: Sequence[bool], arguments: Mapping[str, ArrayLike]
) -> NoReturn:
    """Say which argument does not fit; an error that has another reason passes unchanged."""
    shapes = {name: joint_array(name, value, joints, sliding).shape for name, value in arguments.items()}
    try:
        np.broadcast_shapes(*(shape[:-1] for shape in shapes.values()))
    except ValueError:
        text = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ShapeError(f"the leading axes do not fit together: {text}") from None
    raise error


def wrench_array(frame: str, value: Any, lead: tuple[int, ...]) -> Array:
    """A wrench (..., 6) whose leading axes fit those of q."""
    wrench = real_array(f"f_ext at '{frame}'", value)
    if wrench.ndim == 0 or wrench.shape[-1] != 6:
        shape = wrench.shape
        raise ShapeError(f"f_ext at '{frame}' has shape {shape}; expected (..., 6): force [N], moment [N m]")
    try:
        np.broadcast_shapes(lead, wrench.shape[:-1])
    except ValueError:
        raise ShapeError(
            f"the leading axes do not fit together: q {(*lead, 'n')}, f_ext at '{frame}' {wrench.shape}"
        ) from None
    return wrench


def given_torques(given: Any, joints: Sequence[str]) -> BoolArray:
    """True where the torque is given; ``given`` has one of 'tau' and 'qdd' for every joint."""
    words = list(given) if isinstance(given, list | tuple | np.ndarray) else []
    if len(words) != len(joints) or not set(words) <= {"tau", "qdd"}:
        raise ShapeError(
            f"given is {given!r}; expected {len(joints)} words 'tau' or 'qdd', one per joint ({', '.join(joints)})"
        )
    return np.array([word == "tau" for word in words], dtype=np.bool_)
