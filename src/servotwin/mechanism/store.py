"""A mechanism as a table of contents and raw numbers, to be kept on disk without loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.mechanism.model import (
    Coupling,
    CutKind,
    Frame,
    FrameQuantities,
    Limits,
    LoopClosure,
    Mechanism,
    Quantities,
    Rotors,
)

QUANTITIES = ("A", "b", "low", "high")
LIMITS = ("q_min", "q_max", "qd_max", "qdd_max", "tau_max")


def pack(mechanism: Mechanism) -> tuple[dict[str, Any], bytes]:
    """Layout (plain JSON values) and the bytes of all arrays; of the drawing behind those of what was built."""
    layout, numbers = _pack_one(mechanism)
    if mechanism.nominal is not None:
        layout["nominal"], drawn = _pack_one(mechanism.nominal)
        layout["nominal_at"] = len(numbers)
        numbers += drawn
    return layout, numbers


def unpack(layout: dict[str, Any], numbers: bytes) -> Mechanism:
    """The mechanism that ``pack`` was given; raises ValueError or KeyError on anything else."""
    if "nominal" not in layout:
        return _unpack_one(layout, numbers)
    at = int(layout["nominal_at"])
    nominal = _unpack_one(layout["nominal"], numbers[at:])
    return _unpack_one(layout, numbers[:at]).with_(nominal=nominal)


def _pack_one(mechanism: Mechanism) -> tuple[dict[str, Any], bytes]:
    m = mechanism
    arrays = {
        "parent": m.parent,
        "prismatic": m.prismatic,
        "X_tree": m.X_tree,
        "phi": m.phi,
        "gravity": m.gravity,
        "G": m.coupling.G,
        "q0": m.coupling.q0,
        "N": m.rotors.N,
        "J_m": m.rotors.J_m,
        "f_m": m.rotors.f_m,
        "tau_c": m.rotors.tau_c,
        "rotor_body": m.rotors.body,
        "rotor_axis": m.rotors.axis,
        **{f"quantity_{name}": getattr(m.quantities, name) for name in QUANTITIES},
        "frame_quantity_range": np.stack([m.frame_quantities.low, m.frame_quantities.high]),
        "q_home": m.q_home,
        "phi_base": m.phi_base,
        "passive_home": m.passive_home,
        "frames": np.array([f.X_body_frame for f in m.frames]).reshape(-1, 4, 4),
        **{name: getattr(m.limits, name) for name in LIMITS},
    }
    layout = {
        "name": m.name,
        "tree_joint_names": m.tree_joint_names,
        "joint_names": m.joint_names,
        "passive_names": m.passive_names,
        "tool": m.tool,
        "family": m.family,
        "rotor_names": m.rotors.names,
        "rotor_kinds": m.rotors.kinds,
        "quantities": [m.quantities.names, m.quantities.lengths],
        "frame_quantities": _frame_quantities_data(m.frame_quantities),
        "frames": [(f.name, f.body) for f in m.frames],
        "loops": [(loop.name, loop.kind.value, loop.frame_a, loop.frame_b) for loop in m.loops],
        "arrays": {name: (str(a.dtype), a.shape) for name, a in arrays.items()},
    }
    return layout, b"".join(np.ascontiguousarray(a).tobytes() for a in arrays.values())


def _unpack_one(layout: dict[str, Any], numbers: bytes) -> Mechanism:
    arrays: dict[str, Any] = {}
    at = 0
    for name, (kind, shape) in layout["arrays"].items():
        dtype = np.dtype(kind)
        size = int(np.prod(shape)) * dtype.itemsize
        arrays[name] = np.frombuffer(numbers[at : at + size], dtype=dtype).reshape(shape)
        at += size
    if at != len(numbers):
        raise ValueError("the numbers do not fit the layout")
    poses = arrays["frames"]
    return Mechanism(
        name=layout["name"],
        tree_joint_names=tuple(layout["tree_joint_names"]),
        parent=arrays["parent"],
        prismatic=arrays["prismatic"],
        X_tree=arrays["X_tree"],
        phi=arrays["phi"],
        frames=tuple(Frame(name, body, X) for (name, body), X in zip(layout["frames"], poses, strict=True)),
        tool=layout["tool"],
        gravity=arrays["gravity"],
        joint_names=tuple(layout["joint_names"]),
        coupling=Coupling(arrays["G"], arrays["q0"]),
        limits=Limits(*(arrays[name] for name in LIMITS)),
        rotors=Rotors(
            tuple(layout["rotor_names"]),
            arrays["N"],
            arrays["J_m"],
            arrays["f_m"],
            arrays["tau_c"],
            tuple(layout["rotor_kinds"]),
            arrays["rotor_body"],
            arrays["rotor_axis"],
        ),
        loops=tuple(LoopClosure(n, CutKind(kind), a, b) for n, kind, a, b in layout["loops"]),
        passive_names=tuple(layout["passive_names"]),
        q_home=arrays["q_home"],
        passive_home=arrays["passive_home"],
        quantities=_quantities(layout, arrays),
        frame_quantities=_frame_quantities(layout["frame_quantities"], arrays["frame_quantity_range"]),
        phi_base=arrays["phi_base"],
        family=layout["family"],
    )


def _quantities(layout: dict[str, Any], arrays: dict[str, Any]) -> Quantities:
    names, lengths = layout["quantities"]
    A, b, low, high = (arrays[f"quantity_{name}"] for name in QUANTITIES)
    return Quantities(tuple(names), A, b, low, high, tuple(lengths))


def _frame_quantities_data(z: FrameQuantities) -> list[Any]:
    return [z.names, z.frames, z.axes, z.radius]


def _frame_quantities(data: list[Any], ranges: Any) -> FrameQuantities:
    names, frames, axes, radius = data
    return FrameQuantities(
        tuple(names), tuple(map(tuple, frames)), tuple(map(tuple, axes)), tuple(radius), ranges[0], ranges[1]
    )
