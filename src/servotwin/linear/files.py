"""A linear system as files that MATLAB and GNU Octave read."""

from __future__ import annotations

import io
import re

import numpy as np

from servotwin.linear.system import Array, LinearSystem, Quantity

HEADER = "MATLAB 5.0 MAT-file, written by ServoTwin"  # in place of one with the time: the same system is the same file


def mat_bytes(system: LinearSystem) -> bytes:
    """A MAT file (level 5): A, B, C, D, Ts (0 for continuous time), x0, u0 and names and units as cell arrays."""
    from scipy.io import savemat

    data = {name: getattr(system, name) for name in "ABCD"}
    data |= {"Ts": system.period or 0.0, "x0": system.x0[:, None], "u0": system.u0[:, None]}
    for kind in ("states", "inputs", "outputs"):
        quantities = getattr(system, kind)
        data[f"{kind[:-1]}_names"] = np.array([q.name for q in quantities], dtype=object)[:, None]
        data[f"{kind[:-1]}_units"] = np.array([q.unit for q in quantities], dtype=object)[:, None]
    buffer = io.BytesIO()
    savemat(buffer, data, format="5", oned_as="column")
    return HEADER.ljust(116).encode() + buffer.getvalue()[116:]


def matlab_text(system: LinearSystem) -> str:
    """A script that defines A, B, C, D, Ts, x0, u0 and names; numbers with all their digits."""
    period = "continuous time" if system.period is None else f"sampled every {system.period:g} s"
    lines = [
        f"% {_comment(system.name)}: linear system about x0, u0, {period}; SI units",
        *(f"% state {k}: {_comment(q.name)} [{_comment(q.unit)}]" for k, q in enumerate(system.states, 1)),
    ]
    lines += [f"{name} = {_matrix(getattr(system, name))};" for name in "ABCD"]
    lines += [f"Ts = {system.period or 0.0!r};", f"x0 = {_matrix(system.x0[:, None])};"]
    lines += [f"u0 = {_matrix(system.u0[:, None])};"]
    for kind in ("states", "inputs", "outputs"):
        lines.append(f"{kind[:-1]}_names = {_names(getattr(system, kind))};")
    lines.append("% with the Control System Toolbox, or Octave's package control:")
    lines.append(
        "% sys = ss(A, B, C, D, Ts, 'StateName', state_names, 'InputName', input_names, 'OutputName', output_names);"
    )
    return "\n".join(lines) + "\n"


def _matrix(values: Array) -> str:
    if not values.size:
        return f"zeros({values.shape[0]}, {values.shape[1]})"
    return "[" + ";\n     ".join(", ".join(repr(float(v) + 0.0) for v in row) for row in values) + "]"


def _names(quantities: tuple[Quantity, ...]) -> str:
    return "{" + ", ".join("'" + _comment(q.name).replace("'", "''") + "'" for q in quantities) + "}"


def _comment(text: str) -> str:
    """Text that ends no line and starts no statement."""
    return re.sub(r"[^\x20-\x7e]", "_", text)
