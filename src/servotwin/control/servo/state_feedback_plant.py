"""The plant behind a state feedback: arm, gears, valves and oil about a pose, behind current loops, sampled."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.sparse.csgraph import connected_components

from servotwin.control.servo.axis_data import controller_of
from servotwin.control.servo.valve_loop import head_factor
from servotwin.description.controller_parts import Controller
from servotwin.description.drive_data import drives_of
from servotwin.description.hydraulic_data import hydraulic_axis, valve_data
from servotwin.description.schema import RobotDescription
from servotwin.equations.state_space import Shaft
from servotwin.errors import InputError, UnsupportedError
from servotwin.linear.sampling import delayed, sampled, sampled_cost
from servotwin.linear.scaling import passing_units
from servotwin.linear.system import Array, LinearSystem, Quantity
from servotwin.robot.state_space import StateSpace

LARGEST_CONDITION = 1e13  # of a valve axis: beyond, some of its states never settle
WORKING = 0.5  # of its largest speed: where the current per speed of a valve is taken that is fed forward
MOST_GAIN = 2.5  # current per speed at null over that at work: beyond, a law designed at null swings outside


@dataclass(frozen=True)
class Push:
    """What moves the axes: inertia at every motor, current per speed of every valve."""

    J: Array
    F: Array  # [A s/m]
    valves: NDArray[np.bool_]

    def at(self, w: float) -> Array:
        """Torque or valve current per deviation at a bandwidth (eq:feedback-weights, eq:valve-weights)."""
        return np.where(self.valves, self.F * w, self.J * w**2)


def input_ranges(description: RobotDescription) -> Array:
    """Largest torque of every motor [N m], rated current of every valve [A]; infinite without a limit."""
    found = []
    for drive in drives_of(description):
        if drive.actuator.valve:
            found.append(hydraulic_axis(description, drive).rated_current)
        else:
            limit = drive.ratings.current_limit
            found.append(drive.torque_constant * limit if limit is not None else np.inf)
    return np.array(found)


def plausible_errors(push: Push, ranges: Array, w_b: float, w_max: Array) -> Array:
    r"""Deviation of every motor that its loop can answer [rad, m]: the unit in which deviations are weighed.

    .. math:: e_j = \min\Bigl(\frac{u_{max,j}}{P_j(\omega_b)},\; \frac{\omega_{max,j}}{\omega_b}\Bigr)
              (eq:plausible-error)

    u_max: its input's range; P: what the loop asks for per deviation (eq:feedback-weights, eq:valve-weights);
    omega_max: its largest speed. Beyond it the one or the other is at its limit (rule of Bryson and Ho).
    """
    return np.asarray(np.minimum(ranges / push.at(w_b), w_max / w_b))  # eq:plausible-error


def as_driven(model: StateSpace, compensation: float) -> StateSpace:
    """The model with its valves as their drivers make them: without the part of an overlap that these jump over."""
    if not compensation or not any(_overlap(shaft) for shaft in model.shafts):
        return model
    shafts = []
    for shaft in model.shafts:
        if _overlap(shaft):
            axis, supply = shaft.data
            data = axis.behind_jump(compensation), supply
            shaft = replace(shaft, data=data, numbers=dict(shaft.equations.numbers(data, 0.0)))
        shafts.append(shaft)
    return replace(model, shafts=tuple(shafts), _kernels={})


def _overlap(shaft: Shaft) -> float:
    """Overlap of its valve in strokes; 0 without one."""
    return max(-shaft.data[0].underlap, 0.0) if shaft.equations.start is not None else 0.0


@dataclass(frozen=True)
class ValveForward:
    """What a law feeds forward to the valves (eq:valve-forward), arrays over the motors; 0 of others.

    ``F``: current per speed forward and backward [A s/m] (2, m), without load where the load pressure is counted;
    ``heads``: pressures that drive the piston, their mean, forward and backward [Pa] (3, m), 0 where it is not.
    """

    F: Array
    heads: Array


def valve_forward(
    model: StateSpace, about: LinearSystem, F: Array, w_max: Array, description: RobotDescription
) -> ValveForward:
    r"""Current per speed of every valve where it works, both ways.

    .. math:: F_\pm = \frac{|i(\pm\omega) - i(0)|}{\omega}                                    (eq:working-current)

    i: current that moves the piston evenly (eq:operating-point) under the load of the pose, at half of its largest
    speed, or slower where the load allows less. ``F`` of the linear model, at null, is half as much with underlap and
    a multiple of it with overlap: a valve of which a law designed at null would ask too much is refused.
    """
    out, heads = np.array([F, F]), np.zeros((3, len(F)))
    counted = controller_of(description).valve.linearised
    for j, (shaft, drive) in enumerate(zip(model.shafts, drives_of(description), strict=True)):
        if shaft.equations.start is None:
            continue
        found = _working_currents(model, about, j, WORKING * float(w_max[j]))  # none: too slow a valve
        out[:, j] = F[j] if found is None else found
        if _overlap(shaft) and abs(F[j]) > MOST_GAIN * abs(out[:, j].mean()):
            raise UnsupportedError(
                f"state feedback: within the overlap of the valve of {shaft.name} a speed takes "
                f"{F[j] / out[:, j].mean():.3g} times the current that it takes outside, and a linear law cannot do "
                f"both; expected overlap_compensation near 1, or at most {MOST_GAIN:g} times"
            )
        if counted and found is not None:
            data = valve_data(description, drive)
            heads[:, j] = data.head, *data.heads
            p_load = _force(shaft, about) / data.axis.mean_area
            for k, way in enumerate((1.0, -1.0)):
                out[k, j] /= head_factor(data.head, *data.heads, way, p_load)
    return ValveForward(out, heads)


def _force(shaft: Shaft, about: LinearSystem) -> float:
    """Force of the piston about which the model is linear [N]."""
    names, n = [quantity.name for quantity in about.states], shaft.numbers
    p_a, p_b = (about.x0[names.index(f"{shaft.name}.pressure_{side}")] for side in "ab")
    return float(n["area_a"] * p_a - n["area_b"] * p_b)


def _working_currents(model: StateSpace, about: LinearSystem, j: int, w: float) -> tuple[float, float] | None:
    shaft, theta = model.shafts[j], float(model.angles[j] @ about.x0)
    start, force = shaft.equations.start, _force(shaft, about)
    if start is None:
        return None
    for speed in (w, w / 2, w / 4, w / 8):
        try:
            i, rest, back = (
                start(shaft.data, theta, v, force + shaft.viscous * v)[1][0] for v in (speed, 0.0, -speed)
            )
        except InputError:
            continue
        return float((i - rest) / speed), float((rest - back) / speed)  # eq:working-current
    return None


def currents_per_speed(model: StateSpace, about: LinearSystem, valves: tuple[bool, ...]) -> Array:
    """F of every valve [A s/m]: from its linear model, once spool and pressures have settled; 0 of others."""
    out = np.zeros(len(valves))
    for j in (k for k, valve in enumerate(valves) if valve):
        moving = axis_places(model, j)[1:]  # all but the position
        block = about.A[np.ix_(moving, moving)]
        units = passing_units(block, about.B[moving, j : j + 1], np.eye(1, len(moving)))
        scaled = block * units / units[:, None]
        closed = np.linalg.cond(scaled) > LARGEST_CONDITION
        settled = np.zeros(1) if closed else units * np.linalg.solve(scaled, -about.B[moving, j] / units)
        gain = next(ratio for ratio in model.shafts[j].ratios if ratio) * settled[0]
        if not abs(gain) > 0.0:
            raise UnsupportedError(
                f"state feedback: no current of the valve of {model.shafts[j].name} moves it at rest; expected a valve "
                "with less overlap, or with null_leakage"
            )
        out[j] = 1.0 / gain
    return out


def axis_places(model: StateSpace, j: int) -> list[int]:
    """Places of position, speed and actuator states of a motor that moves one joint by itself through a stiff gear."""
    shaft, n = model.shafts[j], model.robot.n
    joints = [i for i, ratio in enumerate(shaft.ratios) if ratio]
    if len(joints) != 1 or shaft.elastic:
        raise UnsupportedError(
            f"state feedback of the servovalve of {shaft.name}; expected one that moves one joint through a stiff gear"
        )
    names = [quantity.name for quantity in model.states]
    own = [names.index(f"{shaft.name}.{name}") for name, _ in shaft.equations.states]
    return [joints[0], n + joints[0], *own]


def separate_axes(model: StateSpace, about: LinearSystem, J: Array) -> LinearSystem:
    """Every axis by itself at its motor, the others held: one mass, two with a gear between them, or valve and oil."""
    A, B, C, names = [], [], [], []
    for j, (shaft, inertia) in enumerate(zip(model.shafts, J, strict=True)):
        f, J_m = shaft.viscous, shaft.rotor_inertia
        if shaft.equations.start is not None:
            places = axis_places(model, j)
            ratio = next(ratio for ratio in shaft.ratios if ratio)
            unit = np.array([ratio, ratio, *np.ones(len(places) - 2)])
            block = about.A[np.ix_(places, places)] * unit[:, None] / unit
            areas = np.array([shaft.numbers["area_a"], -shaft.numbers["area_b"]])
            block[1] = [0.0, -f / inertia, 0.0, 0.0, *(areas / inertia)]  # with the other joints held
            A.append(block)
            B.append(about.B[places, j : j + 1])
            C.append(np.eye(1, len(places)))
            words = [("position", shaft.unit), ("speed", f"{shaft.unit}/s"), *shaft.equations.states]
            names += [Quantity(f"{shaft.name}.{word}", unit) for word, unit in words]
            continue
        if not shaft.elastic:
            A.append(np.array([[0.0, 1.0], [0.0, -f / inertia]]))
            B.append(np.array([[0.0], [1.0 / inertia]]))
            C.append(np.array([[1.0, 0.0]]))
            names += [Quantity(f"{shaft.name}.angle", "rad"), Quantity(f"{shaft.name}.speed", "rad/s")]
            continue
        k, c, J_l = shaft.stiffness, shaft.damping, max(inertia - J_m, 1e-3 * J_m)
        # load angle and speed at the motor's side, twist, motor speed (eq:gear-torsion)
        A.append(
            np.array(
                [
                    [0.0, 1.0, 0.0, 0.0],
                    [0.0, -c / J_l, k / J_l, c / J_l],
                    [0.0, -1.0, 0.0, 1.0],
                    [0.0, c / J_m, -k / J_m, -(c + f) / J_m],
                ]
            )
        )
        B.append(np.array([[0.0], [0.0], [0.0], [1.0 / J_m]]))
        C.append(np.array([[1.0, 0.0, 1.0, 0.0]]))
        words = [("load_angle", "rad"), ("load_speed", "rad/s"), ("twist", "rad"), ("motor_speed", "rad/s")]
        names += [Quantity(f"{shaft.name}.{word}", unit) for word, unit in words]
    outputs = tuple(Quantity(f"{shaft.name}.encoder", shaft.unit) for shaft in model.shafts)
    m = len(model.shafts)
    return LinearSystem(
        block_diag(*A), block_diag(*B), block_diag(*C), np.zeros((m, m)), tuple(names), model.inputs, outputs
    )


@dataclass(frozen=True)
class Driven:
    """The arm behind its current loops: as it is, and sampled at the axis period, late if the axis controller is."""

    whole: LinearSystem
    sampled: LinearSystem
    delay: int

    @classmethod
    def of(cls, arm: LinearSystem, control: Controller, valves: tuple[bool, ...]) -> Driven:
        """The currents of valves have no loop of their own."""
        n, w_c = arm.order, control.current_bandwidth
        driven = [j for j, valve in enumerate(valves) if not valve]
        k = len(driven)
        A = np.block([[arm.A, arm.B[:, driven]], [np.zeros((k, n)), -w_c * np.eye(k)]])
        B = np.vstack([arm.B * np.array(valves), np.zeros((k, len(valves)))])
        B[n + np.arange(k), driven] = w_c
        torques = tuple(Quantity(f"{arm.inputs[j].name}_now", arm.inputs[j].unit) for j in driven)
        lagged = replace(
            arm,
            A=A,
            B=B,
            C=np.hstack([arm.C, np.zeros((len(arm.C), k))]),
            states=(*arm.states, *torques),
            x0=np.zeros(0),
            u0=np.zeros(0),
        )
        late = delayed(sampled(lagged, control.axis_period), control.axis_delay)
        return cls(lagged, late, control.axis_delay)

    def cost(self, Q: Array) -> tuple[Array, Array, Array]:
        """Weights of the sampled state, of state times input and of the input, for x^T Q x in truth."""
        T, n, m = self.sampled.period or 1.0, self.whole.order, self.whole.B.shape[1]
        held = sampled_cost(self.whole, Q, T)
        if not self.delay:
            return held[:n, :n], held[:n, n:], held[n:, n:]
        late = np.zeros((self.sampled.order, self.sampled.order))
        late[: n + m, : n + m] = held  # the input that acts is a state
        return late, np.zeros((self.sampled.order, m)), np.zeros((m, m))

    def parts(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Sampled states and inputs of every part of the plant that is coupled with no other."""
        n, m = self.whole.B.shape
        tied = np.zeros((n + 2 * m, n + 2 * m), dtype=bool)
        tied[:n, :n], tied[:n, n : n + m] = self.whole.A != 0.0, self.whole.B != 0.0
        tied[n + m :, :n] = self.whole.C != 0.0
        tied[n + np.arange(m), n + m + np.arange(m)] = True  # the output of a motor and its input
        count, of = connected_components(tied, directed=False)
        out = []
        for k in range(count):
            inputs = np.flatnonzero(of[n : n + m] == k)
            waiting = [n + m * late + inputs for late in range(self.delay)]
            out.append((np.concatenate([np.flatnonzero(of[:n] == k), *waiting]), inputs))
        return [part for part in out if len(part[1])]

    @property
    def coupling(self) -> Array:
        """1 where an input and a sampled state, or an integral behind them, belong to one part of the plant, else 0."""
        s, m = self.sampled.B.shape
        out = np.zeros((m, s + m))
        for states, inputs in self.parts():
            out[np.ix_(inputs, np.concatenate([states, s + inputs]))] = 1.0
        return out

    @property
    def units(self) -> Array:
        """Units of the sampled states in which they are of one size."""
        n, out = self.whole.order, np.ones(self.sampled.order)
        for states, inputs in self.parts():
            own = states[states < n]
            A, B, C = (
                self.whole.A[np.ix_(own, own)],
                self.whole.B[np.ix_(own, inputs)],
                self.whole.C[np.ix_(inputs, own)],
            )
            out[own] = passing_units(A, B, C)
        return out
