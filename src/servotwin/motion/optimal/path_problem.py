r"""The functions of an optimal motion along a given path q(s), on graph nodes.

The variables of a node are the speed y and the acceleration r of the path parameter, the time to the next node and the
currents; the numbers of arm and path at the node are data. Between nodes r is a straight line over time:

.. math:: K i = A r + B y^2 + G + f_v W y + f_c, \qquad
          y_{k+1} = y_k + \tfrac{\Delta t}2 (r_k + r_{k+1}), \qquad
          \Delta s = y_k \Delta t + \tfrac{\Delta t^2}6 (2 r_k + r_{k+1})                        (eq:path-program)

with A = N^-T M q', B = N^-T (M q'' + C(q, q') q'), G = N^-T g(q) and W = N q'. Theory: docs/theory/optimal-motion.md.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from servotwin.dynamics.vector import Scalar
from servotwin.equations.derivation import Derivation
from servotwin.equations.graph import Expr
from servotwin.motion.optimal.block_nlp import BlockFunction
from servotwin.motion.optimal.heat_problem import copper_share
from servotwin.motion.optimal.path_valves import valve_link_rows, valve_node_rows, valve_power
from servotwin.motion.optimal.point_problem import power_points, square_mean

MOTOR_DATA = (
    6  # numbers of a motor at a node: A, B, G less its own inertia, W, N q'', and its way, the sign of W
)
FIRST_CURRENT = 3  # place of the currents among the variables of a node
ROW_DATA = 3  # numbers of a row that is linear in r and y^2


@dataclass(frozen=True)
class PathForm:
    """What decides about the functions besides numbers."""

    m: int
    feed: tuple[str, ...]
    steady: tuple[int, ...] = ()
    inductive: tuple[int, ...] = ()
    rows: int = 0  # linear in r and y^2: torques and accelerations of joints
    tool: bool = False  # acceleration of the tool point
    lossy: tuple[int, ...] = ()  # motors with a gear that loses power
    heated: tuple[int, ...] = ()
    bus: bool = False
    jerk: int = 0  # joints with a limit of jerk
    valves: tuple[int, ...] = ()  # motors with a servovalve whose flow is bounded
    pump: bool = False  # whether the flow of its pump is bounded

    @property
    def name(self) -> str:
        """All of it in one word, for the key of compiled code."""
        return json.dumps(asdict(self))

    @property
    def width(self) -> int:
        """Variables of a node: y, r, the time to the next one, currents."""
        return FIRST_CURRENT + self.m

    @property
    def data(self) -> int:
        """Numbers of a node."""
        return MOTOR_DATA * self.m + ROW_DATA * self.rows + (6 if self.tool else 0)


class PathNode:
    """Scaled variables of one node, and what they stand for."""

    def __init__(self, d: Derivation, form: PathForm, tag: str) -> None:
        self.z = d.inputs(f"z{tag}", form.width)
        self.y = d.graph.lift(d.number("oZy") * self.z[0])
        self.r = d.graph.lift(d.number("oZr") * self.z[1])
        self.dt = d.graph.lift(d.number("oZt") * self.z[2])
        currents = self.z[FIRST_CURRENT:]
        self.i = [d.graph.lift(d.number(f"oZsi{j}") * z) for j, z in enumerate(currents)]


def rises(d: Derivation, form: PathForm) -> tuple[list[Expr], dict[int, Scalar]]:
    """Variables of the mean rises of heated windings, and the rises [K]."""
    hot = d.inputs("hot", len(form.heated))
    return hot, {j: d.number(f"oTh{j}") * z for j, z in zip(form.heated, hot, strict=True)}


def path_node_function(d: Derivation, form: PathForm) -> BlockFunction:
    """Dynamics and limits at one point of the path."""
    node = PathNode(d, form, "")
    hot, rise = rises(d, form)
    data = d.inputs("data", form.data)
    square = node.y * node.y
    rows: list[Any] = []
    speeds, rates = [], []
    for j in range(form.m):
        A, B, G, W, turn, way = data[MOTOR_DATA * j : MOTOR_DATA * (j + 1)]
        speeds.append(W * node.y)
        rates.append(W * node.r + turn * square)
        passed, own = A * node.r + B * square + G, d.number(f"oJm{j}") * rates[j]
        if j in form.lossy:
            passed = lossy(d, j, passed, way)
        needed = passed + own + d.number(f"oFv{j}") * speeds[j] + d.number(f"oFc{j}") * way
        if form.feed[j] == "valve":
            needed = needed - d.number(f"oOff{j}")
        rows.append(
            node.z[FIRST_CURRENT + j] - needed / (d.number(f"oK{j}") * d.number(f"oZsi{j}"))
        )  # eq:path-program
    at = MOTOR_DATA * form.m
    for k in range(form.rows):
        a, b, g = data[at + ROW_DATA * k : at + ROW_DATA * (k + 1)]
        rows.append(a * node.r + b * square + g)
    for j in form.steady:
        slope = -d.number(f"oKb{j}") * rates[j] / resistance(d, j, rise)  # eq:steady-slope
        rows.append(steady_voltage(d, form, j, speeds[j], node.i[j], rise, slope))
    rows += valve_node_rows(d, form, speeds, node.i)
    if form.bus:
        rows.append(power(d, form, speeds, node.i, rise) / d.number("oP"))
    if form.tool:
        v, bend = data[-6:-3], data[-3:]
        parts = [x * node.r + c * square for x, c in zip(v, bend, strict=True)]
        rows.append(sum((x * x for x in parts), 0.0) / (d.number("oAt") * d.number("oAt")))
    return BlockFunction(d, [*node.z, *hot], data, 0.0, rows)


def lossy(d: Derivation, j: int, passed: Any, way: Any) -> Any:
    """What passes through a gear and its loss (eq:gear-efficiency); ``way``: how the motor turns."""
    soft = d.number(f"oSoft{j}")
    size = d.graph.sqrt(d.graph.lift(passed * passed + soft * soft))
    return d.number(f"oGain{j}") * passed + way * d.number(f"oLoss{j}") * size


def resistance(d: Derivation, j: int, rise: dict[int, Scalar]) -> Scalar:
    """Of winding and bridge [ohm] (eq:resistance-drift)."""
    R = d.number(f"oR{j}")
    return (R * (1.0 + d.number(f"oAl{j}") * rise[j]) if j in rise else R) + d.number(f"oRb{j}")


def steady_voltage(
    d: Derivation, form: PathForm, j: int, w: Any, i: Any, rise: dict[int, Scalar], slope: Any
) -> Any:
    """A DC motor's voltage, a synchronous motor's squared amplitude, as parts of what the bridge has."""
    u = resistance(d, j, rise) * i + d.number(f"oKb{j}") * w + d.number(f"oL{j}") * slope
    U = d.number(f"oU{j}")
    if form.feed[j] == "dc":
        return u / U
    across = d.number(f"oX{j}") * w * i
    return (u * u + across * across) / (U * U)


def power(d: Derivation, form: PathForm, w: Sequence[Any], i: Sequence[Any], rise: dict[int, Scalar]) -> Any:
    """Power that all motors take from the intermediate circuit [W]."""
    total: Scalar = 0.0
    for j in [j for j in range(form.m) if form.feed[j] != "valve"]:
        loss = d.number(f"oPh{j}") * resistance(d, j, rise) * i[j] * i[j]
        total = total + loss + d.number(f"oK{j}") * w[j] * i[j]
    return total


def path_link_function(d: Derivation, form: PathForm) -> BlockFunction:
    """What ties two points of the path together, and the cost of the time between them."""
    one, two = PathNode(d, form, "a"), PathNode(d, form, "b")
    hot, rise = rises(d, form)
    data = d.inputs("data", 1 + 2 * form.m + 4 * form.jerk)
    step = data[0]
    W = data[1 : 1 + form.m], data[1 + form.m : 1 + 2 * form.m]
    dt = one.dt
    way = one.y * dt + dt * dt * (2.0 * one.r + two.r) / 6.0
    change_y = two.y - one.y - 0.5 * dt * (one.r + two.r)
    rows: list[Any] = [(way - step) / step, change_y / d.number("oZy")]  # eq:path-program
    for j in form.inductive:
        w = 0.5 * (W[0][j] * one.y + W[1][j] * two.y)
        slope = (two.i[j] - one.i[j]) / dt
        rows.append(steady_voltage(d, form, j, w, 0.5 * (one.i[j] + two.i[j]), rise, slope))
    for k in range(form.jerk):
        bend = data[1 + 2 * form.m + 4 * k :][:4]  # q' and q'' at both points, over the limit
        before = bend[0] * one.r + bend[1] * one.y * one.y
        after = bend[2] * two.r + bend[3] * two.y * two.y
        rows.append((after - before) / dt)
    if form.bus:
        rows += [p / d.number("oP") for p in link_powers(d, form, one, two, W, rise)]
    ends = [[W[k][j] * end.y for j in range(form.m)] for k, end in enumerate((one, two))]
    rows += valve_link_rows(d, form, ends, (one.i, two.i), dt)
    cost = d.number("oWt") * dt / d.number("oZT") + dt * energy_rate(d, form, one, two, W, rise)
    cost = cost + dt * d.number("oWw") * valve_power(d, form, ends)
    change = two.z[1] - one.z[1]  # only the sum of both accelerations moves the path: they must not ring
    cost = cost + d.number("oWr") * dt / d.number("oZT") * change * change
    return BlockFunction(d, [*one.z, *two.z, *hot], data, cost, rows)


def link_powers(
    d: Derivation, form: PathForm, one: PathNode, two: PathNode, W: Any, rise: dict[int, Scalar]
) -> list[Any]:
    """Control points of the bus power between two points (eq:bus-points); speeds of motors are parabolas."""
    y_middle = 0.5 * (one.y + two.y) + one.dt * (one.r - two.r) / 8.0
    speeds = []
    for a, b in zip(*W, strict=True):
        ends = a * one.y, b * two.y
        speeds.append((ends[0], (a + b) * y_middle - 0.5 * (ends[0] + ends[1]), ends[1]))
    motors = [j for j in range(form.m) if form.feed[j] != "valve"]
    return power_points(d, motors, speeds, one.i, two.i, rise)


def energy_rate(
    d: Derivation, form: PathForm, one: PathNode, two: PathNode, W: Any, rise: dict[int, Scalar]
) -> Any:
    """Weighted mean copper loss and mechanical power between two points."""
    copper, work = d.number("oWc"), d.number("oWw")
    total: Scalar = 0.0
    for j in [j for j in range(form.m) if form.feed[j] != "valve"]:
        square = (one.i[j] * one.i[j] + one.i[j] * two.i[j] + two.i[j] * two.i[j]) / 3.0
        total = total + copper * d.number(f"oPh{j}") * resistance(d, j, rise) * square
        a, b = W[0][j] * one.y, W[1][j] * two.y
        mean = (2.0 * one.i[j] * a + one.i[j] * b + two.i[j] * a + 2.0 * two.i[j] * b) / 6.0
        total = total + work * d.number(f"oK{j}") * mean
    return total


def path_heat_function(d: Derivation, form: PathForm) -> BlockFunction:
    """eq:cycle-heat between two points of the path."""
    count = len(form.heated)
    z_time = d.inputs("dt", 1)[0]
    one, two, hot = (d.inputs(name, count) for name in ("ia", "ib", "hot"))
    dt = d.number("oZt") * z_time / d.number("oZT")
    rows = []
    for k, j in enumerate(form.heated):
        scale = d.number(f"oZsi{j}")
        square = scale * scale * square_mean(one[k], two[k])
        rows.append(dt * (hot[k] - copper_share(d, j, hot[k], square)))  # eq:cycle-heat
    return BlockFunction(d, [z_time, *one, *two, *hot], [], 0.0, rows)
