r"""The functions of a motion between two points, on graph nodes: dynamics at a node, what ties two nodes together.

Between two nodes the acceleration of the joints and the currents are straight lines over time:

.. math:: \dot q_{k+1} = \dot q_k + \tfrac h2 (\ddot q_k + \ddot q_{k+1}), \qquad
          q_{k+1} = q_k + h \dot q_k + \tfrac{h^2}{6} (2 \ddot q_k + \ddot q_{k+1})            (eq:spline-defect)

At a node the currents are those that the motion needs, :math:`K i = \tau_m(q, \dot q, \ddot q)`, by inverse dynamics
(eq:motor-torque). Theory: docs/theory/optimal-motion.md.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from servotwin.dynamics.kinematics import body_poses
from servotwin.dynamics.vector import Scalar
from servotwin.equations.derivation import Derivation
from servotwin.equations.graph import Expr
from servotwin.equations.programs import frame_jacobian, frame_pose, torque
from servotwin.motion.optimal.block_nlp import BlockFunction
from servotwin.motion.optimal.hydraulic_energy import mean_supply_power


@dataclass(frozen=True)
class Form:
    """What decides about the functions besides numbers: which rows there are, by joint, motor or coordinate."""

    n: int
    m: int
    feed: tuple[str, ...]  # of each motor: 'dc', 'pmsm', 'valve', or '' without a limit of voltage
    steady: tuple[int, ...] = ()  # motors whose voltage without inductance is bounded at nodes
    inductive: tuple[int, ...] = ()  # motors whose mean voltage between nodes is bounded
    effort: tuple[int, ...] = ()  # joints with a limit of torque
    motor_speed: tuple[int, ...] = ()  # motors whose speed no single joint bounds
    quantities: int = 0
    tool_speed: bool = False
    tool_acceleration: bool = False
    coordinates: tuple[int, ...] = ()  # of the tool point that are bounded
    keep_out: tuple[tuple[int, ...], ...] = ()  # half-spaces of each region, coded 2 * axis + (1: above)
    speed: tuple[int, ...] = ()  # joints with a limit of speed
    jerk: tuple[int, ...] = ()
    heated: tuple[int, ...] = ()  # motors whose winding temperature is a variable
    bus: bool = False
    valves: tuple[int, ...] = ()  # motors with a servovalve
    pump: bool = False  # whether the flow of its pump is bounded
    frame: str | None = None

    @property
    def name(self) -> str:
        """All of it in one word, for the key of compiled code; a frame counts by its place in the tree."""
        parts = asdict(self)
        parts["frame"] = self.frame is not None
        return json.dumps(parts)

    @property
    def width(self) -> int:
        """Variables of a node: q, qd, qdd, currents."""
        return 3 * self.n + self.m


Rise = dict[int, Scalar]  # of windings over their surroundings [K], by motor
# Arguments of the polar form whose values are the control points of both halves of an interval.
BUS_POINTS = ((0.0, 0.0, 0.5), (0.0, 0.5, 0.5), (0.5, 0.5, 0.5), (0.5, 0.5, 1.0), (0.5, 1.0, 1.0))


class Node:
    """The variables of one node, scaled, and the quantities they stand for."""

    def __init__(self, d: Derivation, form: Form, tag: str) -> None:
        n, m = form.n, form.m
        self.z = d.inputs(f"z{tag}", form.width)
        self.q = scaled(d, "oZsq", self.z[:n])
        self.v = scaled(d, "oZsv", self.z[n : 2 * n])
        self.a = scaled(d, "oZsa", self.z[2 * n : 3 * n])
        self.i = scaled(d, "oZsi", self.z[3 * n : 3 * n + m])


def scaled(d: Derivation, name: str, z: Sequence[Expr]) -> list[Expr]:
    """Physical values of scaled variables."""
    return [d.graph.lift(d.number(f"{name}{k}") * x) for k, x in enumerate(z)]


def numbers_of(d: Derivation, name: str, count: int) -> list[Scalar]:
    """A vector of parameters."""
    return [d.number(f"{name}{k}") for k in range(count)]


def node_function(d: Derivation, form: Form) -> BlockFunction:
    """Dynamics and all limits of a single instant."""
    node = Node(d, form, "")
    hot, rise = rises(d, form)
    lead, signs = d.inputs("lead", 1)[0], d.inputs("sign", form.m)
    chain = d.chain(d.expand(node.q, offset=True))
    tau = joint_torques(d, chain, node)
    needed = motor_torques(d, form, node, tau, lead, signs)
    rows: list[Any] = [
        node.z[3 * form.n + j]
        - (needed[j] - d.number(f"oOff{j}")) / (d.number(f"oK{j}") * d.number(f"oZsi{j}"))
        for j in range(form.m)
    ]
    rows += [tau[j] / d.number(f"oTau{j}") for j in form.effort]
    rows += [combined(d, f"oN{j}_", node.v) / d.number(f"oWm{j}") for j in form.motor_speed]
    rows += [combined(d, f"oA{k}_", node.q) for k in range(form.quantities)]
    rows += [
        voltage_row(d, form, node.v, node.i, rise, j, steady_slope(d, node, rise, j)) for j in form.steady
    ]
    rows += valve_rows(d, form.valves, [combined(d, f"oN{j}_", node.v) for j in form.valves], node.i, signs)
    if form.pump:
        rows.append(pump_flow(d, form, node.v))
    if form.bus:
        rows.append(bus_power(d, form, node.v, node.i, rise) / d.number("oP"))
    if form.frame is not None:
        rows += tool_rows(d, form, node, chain)
    return BlockFunction(d, [*node.z, *hot], [lead, *signs], 0.0, rows)


def rises(d: Derivation, form: Form) -> tuple[list[Expr], Rise]:
    """Variables of the mean rises of heated windings, as parts of the largest, and the rises [K]."""
    hot = d.inputs("hot", len(form.heated))
    return hot, {j: d.number(f"oTh{j}") * z for j, z in zip(form.heated, hot, strict=True)}


def combined(d: Derivation, name: str, x: Sequence[Scalar]) -> Scalar:
    """A linear combination with the parameters name0, name1, ..."""
    total: Scalar = 0.0
    for k, value in enumerate(x):
        total = total + d.number(f"{name}{k}") * value
    return total


def joint_torques(d: Derivation, chain: Any, node: Node) -> list[Scalar]:
    """Inverse dynamics of arm and rotors."""
    tau = torque(d, chain, node.v, node.a, spins=True)
    for i in range(len(tau)):
        for j in range(len(tau)):
            tau[i] = tau[i] + d.number(f"Jr{i}_{j}") * node.a[j]
    return tau


def motor_torques(
    d: Derivation, form: Form, node: Node, tau: Sequence[Scalar], lead: Scalar, signs: Sequence[Scalar]
) -> list[Scalar]:
    r"""Air-gap torques (eq:motor-torque) with the sign of the speed in friction and gear losses.

    .. math:: \operatorname{sgn}\omega = s + (1 - s^2) \frac{\omega}{\sqrt{\omega^2 + \epsilon^2}}      (eq:smooth-sign)

    ``signs``: s of each motor, 1 or -1 where it is known which way it turns, 0 where it is not. A shaft at rest at the
    begin or end of a motion turns the next instant: ``lead`` [s] says how far away that is.
    """
    graph, out = d.graph, []
    for j in range(form.m):
        total: Scalar = 0.0
        for k in range(form.n):
            total = total + d.number(f"oM{k}_{j}") * tau[k]
        w, wd = combined(d, f"oN{j}_", node.v), combined(d, f"oN{j}_", node.a)
        viscous, coulomb, loss = (d.number(f"{name}{j}") for name in ("oFv", "oFc", "oLoss"))
        dry = any(type(x) is Expr or x != 0.0 for x in (coulomb, loss))
        way: Scalar = 0.0
        if dry:
            turning, eps = w + lead * wd, d.number(f"oEps{j}")
            square = graph.lift(turning * turning + eps * eps)
            s = signs[j]
            way = s + (1.0 - s * s) * turning / graph.sqrt(square)  # eq:smooth-sign
        if type(loss) is Expr or loss != 0.0:
            own = d.number(f"oJm{j}") * wd
            passed, soft = total - own, d.number(f"oSoft{j}")
            size = graph.sqrt(graph.lift(passed * passed + soft * soft))
            total = own + d.number(f"oGain{j}") * passed + way * loss * size  # eq:gear-efficiency
        out.append(total + viscous * w + coulomb * way)
    return out


def tool_rows(d: Derivation, form: Form, node: Node, chain: Any) -> list[Any]:
    """Speed, acceleration and place of the tool point."""
    assert form.frame is not None
    graph, poses = d.graph, body_poses(chain)
    p = [graph.lift(x) for x in frame_pose(d, poses, form.frame).p]
    rows: list[Any] = []
    if form.tool_speed or form.tool_acceleration:
        J = frame_jacobian(d, chain, poses, form.frame)[:3]
        speed = [graph.lift(sum((c * v for c, v in zip(row, node.v, strict=True)), 0.0)) for row in J]
        if form.tool_speed:
            rows.append(sum((x * x for x in speed), 0.0) / (d.number("oVt") * d.number("oVt")))
        if form.tool_acceleration:
            n = form.n
            seeds: dict[int, Any] = {}
            for k in range(n):
                seeds[node.z[k].id] = node.v[k] / d.number(f"oZsq{k}")
                seeds[node.z[n + k].id] = node.a[k] / d.number(f"oZsv{k}")
            rate = graph.derivative(speed, seeds)
            rows.append(sum((x * x for x in rate), 0.0) / (d.number("oAt") * d.number("oAt")))
    rows += [p[axis] for axis in form.coordinates]
    for k, region in enumerate(form.keep_out):
        rows.append(outside(d, [side(d, p, code, f"oB{k}_{j}") for j, code in enumerate(region)]))
    return rows


def side(d: Derivation, p: Sequence[Expr], code: int, name: str) -> Scalar:
    """How far the tool point is beyond a face of a region [m]; positive outside."""
    axis, above = divmod(code, 2)
    return p[axis] - d.number(name) if above else d.number(name) - p[axis]


def outside(d: Derivation, sides: Sequence[Scalar]) -> Scalar:
    r"""How far a point is outside of a region, the largest of its sides, smooth and never too large.

    .. math:: \max(x, y) \ge \tfrac12 \bigl(x + y + \sqrt{(x - y)^2 + \epsilon^2} - \epsilon\bigr)      (eq:keep-out)
    """
    graph, eps = d.graph, d.number("oRound")
    most = sides[0]
    for x in sides[1:]:
        gap = most - x
        most = 0.5 * (most + x + graph.sqrt(graph.lift(gap * gap + eps * eps)) - eps)  # eq:keep-out
    return most


def link_function(d: Derivation, form: Form) -> BlockFunction:
    """What ties two nodes together: motion, voltages, heat; and the cost of the time between them."""
    one, two = Node(d, form, "a"), Node(d, form, "b")
    z_time = d.inputs("T", 1)[0]
    hot, rise = rises(d, form)
    share, part, signs = d.inputs("share", 1)[0], d.inputs("part", 1)[0], d.inputs("sign", form.m)
    T = d.graph.lift(d.number("oZT") * z_time)
    h = T * share
    rows: list[Any] = motion_defects(d, form, one, two, h, share)
    rows += [(one.v[j] + 0.5 * h * one.a[j]) / d.number(f"oV{j}") for j in form.speed]
    control = [v + 0.5 * h * a for v, a in zip(one.v, one.a, strict=True)]
    rows += [combined(d, f"oN{j}_", control) / d.number(f"oWm{j}") for j in form.motor_speed]
    rows += [(two.a[j] - one.a[j]) / (h * d.number(f"oJ{j}")) for j in form.jerk]
    middle = middle_speeds(form, one, two, h), [0.5 * (x + y) for x, y in zip(one.i, two.i, strict=True)]
    there = (
        speeds_at(form, one, two, h, part),
        [x + part * (y - x) for x, y in zip(one.i, two.i, strict=True)],
    )
    for j in form.inductive:
        rows.append(voltage_row(d, form, *there, rise, j, (two.i[j] - one.i[j]) / h))
    pressed = [(two.i[j] - one.i[j]) / (h * d.number(f"oOil{j}")) for j in form.valves]
    flowing = [combined(d, f"oN{j}_", middle[0]) + x for j, x in zip(form.valves, pressed, strict=True)]
    rows += valve_rows(d, form.valves, flowing, middle[1], signs)
    if form.bus:
        control = [v + 0.5 * h * a for v, a in zip(one.v, one.a, strict=True)]
        speeds = [[combined(d, f"oN{j}_", v) for v in (one.v, control, two.v)] for j in range(form.m)]
        rows += [
            power / d.number("oP")
            for power in power_points(d, electric_motors(form), speeds, one.i, two.i, rise)
        ]
    square = z_time * z_time
    cost = d.number("oWt") * z_time * share + d.number("oWr") * share * square * square * squares(
        d, form, one, two
    )
    cost = cost + energy_cost(d, form, one, two, h, rise)
    return BlockFunction(d, [*one.z, *two.z, z_time, *hot], [share, part, *signs], cost, rows)


def motion_defects(d: Derivation, form: Form, one: Node, two: Node, h: Any, share: Any) -> list[Any]:
    """eq:spline-defect, as parts of a usual step."""
    speed, place = [], []
    step = d.number("oZT") * share
    for k in range(form.n):
        change = two.v[k] - one.v[k] - 0.5 * h * (one.a[k] + two.a[k])
        speed.append(change / (step * d.number(f"oZsa{k}")))
        travel = two.q[k] - one.q[k] - h * (one.v[k] + h * (2.0 * one.a[k] + two.a[k]) / 6.0)
        place.append(travel / (step * d.number(f"oZsv{k}")))
    return place + speed


def power_points(
    d: Derivation,
    motors: Sequence[int],
    w: Sequence[Sequence[Any]],
    one: Sequence[Any],
    two: Sequence[Any],
    rise: Rise,
) -> list[Any]:
    r"""Control points [W] of the bus power between two nodes: their range contains all of it.

    With currents that are straight lines and speeds that are parabolas it is a cubic, whose polar form is

    .. math:: p(a, b, c) = \sum_j \frac{c_j R_j}3 (i_a i_b + i_b i_c + i_a i_c)
              + \frac{K_j}3 (i_a \omega_{bc} + i_b \omega_{ac} + i_c \omega_{ab})              (eq:bus-points)

    ``w``: the control points (3) of the speed of each motor; ``one``, ``two``: its currents at both nodes.
    """
    return [
        sum((_power_form(d, j, w[j], one[j], two[j], rise, at) for j in motors), 0.0) for at in BUS_POINTS
    ]


def _power_form(
    d: Derivation, j: int, w: Sequence[Any], one: Any, two: Any, rise: Rise, at: tuple[float, float, float]
) -> Any:
    """What one motor adds to eq:bus-points at the arguments a, b, c."""
    i = [(1.0 - x) * one + x * two for x in at]
    pairs = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
    square, product = 0.0, 0.0
    for k, m, n in pairs:
        a, b = at[m], at[n]
        speed = (1.0 - a) * (1.0 - b) * w[0] + (a + b - 2.0 * a * b) * w[1] + a * b * w[2]
        square, product = square + i[k] * i[m], product + i[k] * speed
    loss = d.number(f"oPh{j}") * resistance(d, j, rise)
    return (loss * square + d.number(f"oK{j}") * product) / 3.0  # eq:bus-points


def resistance(d: Derivation, j: int, rise: Rise) -> Scalar:
    """Of winding and bridge [ohm] (eq:resistance-drift); as stated where the temperature is no variable."""
    R = d.number(f"oR{j}")
    if j in rise:
        R = R * (1.0 + d.number(f"oAl{j}") * rise[j])
    return R + d.number(f"oRb{j}")


def middle_speeds(form: Form, one: Node, two: Node, h: Any) -> list[Any]:
    """Speeds of the joints half-way between two nodes."""
    return [0.5 * (one.v[k] + two.v[k]) + h * (one.a[k] - two.a[k]) / 8.0 for k in range(form.n)]


def speeds_at(form: Form, one: Node, two: Node, h: Any, part: Any) -> list[Any]:
    """Speeds of the joints after a ``part`` of the interval between two nodes."""
    late = 0.5 * part
    return [one.v[k] + h * part * ((1.0 - late) * one.a[k] + late * two.a[k]) for k in range(form.n)]


def steady_slope(d: Derivation, node: Node, rise: Rise, j: int) -> Any:
    r"""Slope [A/s] of a current whose voltage stays as it is while the motor turns faster.

    .. math:: \frac{di}{dt} \approx -\frac{K_b}{R} \dot\omega                                   (eq:steady-slope)
    """
    return -d.number(f"oKb{j}") * combined(d, f"oN{j}_", node.a) / resistance(d, j, rise)  # eq:steady-slope


def voltage_row(
    d: Derivation, form: Form, v: Sequence[Any], i: Sequence[Any], rise: Rise, j: int, slope: Any
) -> Any:
    """A DC motor's voltage, a synchronous motor's squared amplitude, as parts of what the bridge has.

    ``slope`` [A/s] of the current (eq:dc-motor, eq:pmsm).
    """
    w, U = combined(d, f"oN{j}_", v), d.number(f"oU{j}")
    u = resistance(d, j, rise) * i[j] + d.number(f"oKb{j}") * w + d.number(f"oL{j}") * slope
    if form.feed[j] == "dc":
        return u / U
    across = d.number(f"oX{j}") * w * i[j]
    return (u * u + across * across) / (U * U)


def one_way(d: Derivation, j: int, w: Any) -> tuple[Any, Any]:
    """The speeds forward and backward, each zero the other way, rounded off to the safe side."""
    eps = d.number(f"oVe{j}")
    root = d.graph.sqrt(d.graph.lift(w * w + eps * eps))
    return 0.5 * (root + w), 0.5 * (root - w)


def moving(d: Derivation, j: int, w: Any, sign: Any) -> Any:
    """One where w is a speed forward, zero at rest and backward: by its known ``sign`` 1 or -1, for 0 rounded off."""
    eps = d.number(f"oVs{j}")
    beyond = w - 3.0 * eps
    smooth = 0.5 + 0.5 * beyond / d.graph.sqrt(d.graph.lift(beyond * beyond + eps * eps))
    return 0.5 * sign * (1.0 + sign) + (1.0 - sign * sign) * smooth


def valve_rows(
    d: Derivation, valves: Sequence[int], speeds: Sequence[Any], i: Sequence[Any], signs: Sequence[Any]
) -> list[Any]:
    """Force and drag of fully open servovalves as parts of the forces of the supply, all forward, then all backward."""
    forward, backward = [], []
    for j, w in zip(valves, speeds, strict=True):
        force, drag = i[j] + d.number(f"oOff{j}"), d.number(f"oVc{j}")
        ahead, back = one_way(d, j, w)
        less = (
            d.number(f"oVr{j}") * moving(d, j, -w, -signs[j]),
            d.number(f"oVp{j}") * moving(d, j, w, signs[j]),
        )  # eq:valve-braking
        forward.append((drag * ahead * ahead + force + less[0]) / d.number(f"oVf{j}"))  # eq:valve-limit
        backward.append((drag * back * back - force + less[1]) / d.number(f"oVb{j}"))
    return forward + backward


def pump_flow(d: Derivation, form: Form, v: Sequence[Any]) -> Any:
    """Flow that all valves take from the supply, as part of what its pump gives."""
    total: Scalar = 0.0
    for j in form.valves:
        ahead, back = one_way(d, j, combined(d, f"oN{j}_", v))
        total = total + d.number(f"oAa{j}") * ahead + d.number(f"oAb{j}") * back
    return total / d.number("oPump")


def bus_power(d: Derivation, form: Form, v: Sequence[Any], i: Sequence[Any], rise: Rise) -> Any:
    """Power that all motors take from the intermediate circuit [W]: copper loss and mechanical power."""
    total: Scalar = 0.0
    for j in electric_motors(form):
        w = combined(d, f"oN{j}_", v)
        loss = d.number(f"oPh{j}") * resistance(d, j, rise) * i[j] * i[j]
        total = total + loss + d.number(f"oK{j}") * w * i[j]
    return total


def electric_motors(form: Form) -> list[int]:
    """All motors but those with a servovalve."""
    return [j for j in range(form.m) if form.feed[j] != "valve"]


def square_mean(x: Any, y: Any) -> Any:
    """Mean of the square of a straight line from x to y."""
    return (x * x + x * y + y * y) / 3.0


def squares(d: Derivation, form: Form, one: Node, two: Node) -> Any:
    """Weighted mean of all squared accelerations as parts of their scales: decides where time alone does not."""
    total = d.graph.zero
    for k in range(form.n):
        at = 2 * form.n + k
        total = total + d.number(f"oWa{k}") * square_mean(one.z[at], two.z[at])
    return total / float(form.n)


def energy_cost(d: Derivation, form: Form, one: Node, two: Node, h: Any, rise: Rise) -> Any:
    r"""Weighted copper loss and mechanical work of the motors between two nodes, and what valves take of the supply.

    .. math:: E = \int \sum_j c_j R_j i_j^2 + K_j i_j \omega_j \, dt                          (eq:electrical-energy)

    The current is a straight line and the speed a parabola, so Simpson's rule is exact.
    """
    copper, work = d.number("oWc"), d.number("oWw")
    total: Scalar = 0.0
    for j in electric_motors(form):
        R = resistance(d, j, rise)
        total = total + copper * d.number(f"oPh{j}") * R * square_mean(one.i[j], two.i[j])
        w = [combined(d, f"oN{j}_", end.v) for end in (one, two)]
        middle = combined(d, f"oN{j}_", middle_speeds(form, one, two, h))
        product = one.i[j] * w[0] + 2.0 * (one.i[j] + two.i[j]) * middle + two.i[j] * w[1]
        total = total + work * d.number(f"oK{j}") * product / 6.0
    for j in [j for j in range(form.m) if form.feed[j] == "valve"]:
        speeds = [combined(d, f"oN{j}_", v) for v in (one.v, middle_speeds(form, one, two, h), two.v)]
        total = total + work * mean_supply_power(d, j, speeds)
    return h * total  # eq:electrical-energy
