"""Derive the equations of a tree with a peer; run as a script: ``python -m benchmarks.peers_symbolic PEER``.

The tree comes as JSON on standard input: per joint [parent, prismatic, gamma, b, alpha, d, theta, r] as numbers
(right angles exact); masses, mass centres, inertias and lengths are symbols. Prints seconds.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def angle(module: Any, value: float) -> Any:
    """A multiple of a right angle exactly, anything else as a number."""
    quarter = round(value / 1.5707963267948966)
    if abs(value - quarter * 1.5707963267948966) < 1e-12:
        return module.pi * quarter / 2
    return module.Float(value) if hasattr(module, "Float") else value


def mechanics(rows: list[list[float]], method: str) -> None:
    """sympy.physics.mechanics: KanesMethod or LagrangesMethod."""
    import sympy as sp
    from sympy.physics import mechanics as me

    n = len(rows)
    q, u = me.dynamicsymbols(f"q:{n}"), me.dynamicsymbols(f"u:{n}")
    g = sp.symbols("g")
    base, origin = me.ReferenceFrame("N"), me.Point("O")
    origin.set_vel(base, 0)
    frames, points, bodies, loads = {-1: base}, {-1: origin}, [], []
    lagrange = method == "lagrange"
    for i, (parent, prismatic, gamma, _b, alpha, _d, theta, _r) in enumerate(rows):
        rate = q[i].diff() if lagrange else u[i]
        a, d = sp.symbols(f"a{i} d{i}")
        up, at = frames[int(parent)], points[int(parent)]
        turned = up.orientnew(f"G{i}", "Axis", [angle(sp, gamma), up.z])
        tilted = turned.orientnew(f"T{i}", "Axis", [angle(sp, alpha), turned.x])
        turn = angle(sp, theta) + (0 if prismatic else q[i])
        body = tilted.orientnew(f"B{i}", "Axis", [turn, tilted.z])
        body.set_ang_vel(tilted, 0 * tilted.z if prismatic else rate * tilted.z)
        joint = at.locatenew(f"P{i}", a * turned.x + (d + (q[i] if prismatic else 0)) * tilted.z)
        if prismatic:
            foot = at.locatenew(f"F{i}", a * turned.x)
            foot.v2pt_theory(at, base, up)
            travel = (d + q[i]) * tilted.z
            joint.set_vel(base, foot.vel(base) + rate * tilted.z + up.ang_vel_in(base).cross(travel))
        else:
            joint.v2pt_theory(at, base, up)
        m, x, y, z = sp.symbols(f"m{i} x{i} y{i} z{i}")
        center = joint.locatenew(f"C{i}", x * body.x + y * body.y + z * body.z)
        center.v2pt_theory(joint, base, body)
        tensor = me.inertia(body, *sp.symbols(f"I{i}_(:6)"))
        bodies.append(me.RigidBody(f"R{i}", center, body, m, (tensor, center)))
        loads.append((center, -m * g * base.z))
        frames[i], points[i] = body, joint
    if lagrange:
        for part, (center, _) in zip(bodies, loads, strict=True):
            part.potential_energy = part.mass * g * center.pos_from(origin).dot(base.z)
        me.LagrangesMethod(me.Lagrangian(base, *bodies), q).form_lagranges_equations()
    else:
        kane = me.KanesMethod(base, q, u, [a.diff() - b for a, b in zip(q, u, strict=True)])
        kane.kanes_equations(bodies, loads)


def with_symengine(rows: list[list[float]]) -> None:
    """Lagrange's equations by hand on symengine: energies, mass matrix, Christoffel symbols, gravity."""
    import symengine as se

    n = len(rows)
    q = se.symbols(f"q:{n}")
    placed: dict[int, Any] = {-1: se.eye(4)}
    M, V = se.zeros(n, n), se.Integer(0)
    for i, (parent, prismatic, gamma, _b, alpha, _d, theta, _r) in enumerate(rows):
        a, d, m, x, y, z = se.symbols(f"a{i} d{i} m{i} x{i} y{i} z{i}")

        def rotation(value: Any, axis: str) -> Any:
            c, s = se.cos(value), se.sin(value)
            if axis == "z":
                return se.Matrix([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
            return se.Matrix([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]])

        shift_x, shift_z = se.eye(4), se.eye(4)
        shift_x[0, 3], shift_z[2, 3] = a, d + (q[i] if prismatic else 0)
        turn = angle(se, theta) + (0 if prismatic else q[i])
        X = rotation(angle(se, gamma), "z") * shift_x * rotation(angle(se, alpha), "x")
        X = placed[int(parent)] * X * rotation(turn, "z") * shift_z
        placed[i] = X
        p = (X * se.Matrix([x, y, z, 1]))[:3, 0]
        I = se.symbols(f"I{i}_(:6)")
        tensor = se.Matrix([[I[0], I[3], I[5]], [I[3], I[1], I[4]], [I[5], I[4], I[2]]])
        R = X[:3, :3]
        J_v = se.Matrix([[p[k].diff(q[j]) for j in range(n)] for k in range(3)])
        J_w = se.zeros(3, n)
        k = i
        while k >= 0:
            if not rows[k][1]:
                for row in range(3):
                    J_w[row, k] = placed[k][row, 2]
            k = int(rows[k][0])
        turned = R.T * J_w
        M = M + m * (J_v.T * J_v) + turned.T * tensor * turned
        V = V + m * se.Symbol("g") * p[2]
    M = M.applyfunc(se.expand)
    rates = [[[M[i, j].diff(q[k]) for k in range(n)] for j in range(n)] for i in range(n)]
    for i in range(n):
        V.diff(q[i])
        for j in range(n):
            for k in range(n):
                (rates[i][j][k] + rates[i][k][j] - rates[j][k][i]) / 2


def main() -> None:
    """Read the tree, derive, print seconds."""
    rows = json.load(sys.stdin)
    start = time.perf_counter()
    if sys.argv[1] == "symengine":
        with_symengine(rows)
    else:
        mechanics(rows, sys.argv[1])
    print(time.perf_counter() - start)


if __name__ == "__main__":
    main()
