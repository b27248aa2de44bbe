"""The three loops of one axis run in time: step responses, and the map over one beat of all clocks.

The second way beside ``loops``: nothing is closed or lifted by formula here, the
controllers act one sample after the other, the outer ones first where their
samples coincide. It decides the stability of the position loop without
approximation, and tests hold the margins of ``loops`` to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from servotwin.control.tuning.filters import Biquad, chained
from servotwin.control.tuning.gains import Gains
from servotwin.control.tuning.sampled import (
    ANGLE,
    CURRENT,
    SPEED,
    Array,
    AxisModel,
    Sampled,
    Timing,
    sampled_axis,
)
from servotwin.control.tuning.valve import ValveModel, sampled_valve
from servotwin.errors import InputError

LEVELS = ("current", "speed", "position")
ENOUGH = 1e100  # times the step
MOST_PERIODS = 1_000_000  # of the current loop in a step response


@dataclass(frozen=True)
class AxisRun:
    """Linear maps of one axis: what each controller's sample does to the state, and a current period."""

    tick_axis: Array
    tick_speed: Array
    tick_current: Array  # the current controller's sample, and the axis until its next one
    timing: Timing
    reference: dict[str, int]  # state that holds the reference of the loop

    def beat(self) -> Array:
        """The map over the time after which the clocks of speed and position loop meet again."""
        timing = self.timing
        end = math.lcm(timing.speed_ns, timing.axis_ns)
        ticks = sorted({*range(0, end, timing.speed_ns), *range(0, end, timing.axis_ns)})
        total = np.eye(len(self.tick_current))
        with np.errstate(all="ignore"):  # a loop that explodes may overflow
            for now, following in pairwise([*ticks, end]):
                alone = (
                    following - now
                ) // timing.current_ns - 1  # current periods in which no other loop acts
                rest = np.linalg.matrix_power(self.tick_current, alone)
                total = rest @ self._sample(now, LEVELS[2]) @ total
        return total

    def _sample(self, now: int, level: str) -> Array:
        """The map over the current period that starts at ``now`` [ns], loops up to ``level`` closed."""
        step = np.eye(len(self.tick_current))
        if level == LEVELS[2] and now % self.timing.axis_ns == 0:
            step = self.tick_axis
        if level != LEVELS[0] and now % self.timing.speed_ns == 0:
            step = self.tick_speed @ step
        return np.asarray(self.tick_current @ step)

    def step_response(self, level: str, duration: float) -> tuple[Array, Array]:
        """Times (k,) [s] and current, speed or angle (k,) after a unit step of the loop's reference at 0.

        A loop that has grown to ``ENOUGH`` stays there: its numbers would soon overflow and say no more.
        """
        output = {"current": CURRENT, "speed": SPEED, "position": ANGLE}[level]
        state = np.zeros(len(self.tick_current))
        state[self.reference[level]] = 1.0
        count = math.ceil(duration / self.timing.T_current)
        if count > MOST_PERIODS:
            raise InputError(
                f"a step response of {duration:.3g} s has {count} current periods; expected at most {MOST_PERIODS}: "
                f"a longer current_period, or a larger bandwidth of the {level} loop"
            )
        values = np.zeros(count + 1)
        maps: dict[tuple[bool, bool], Array] = {}
        for k in range(count):
            now = k * self.timing.current_ns
            kind = now % self.timing.axis_ns == 0, now % self.timing.speed_ns == 0
            if kind not in maps:
                maps[kind] = self._sample(now, level)
            state = maps[kind] @ state
            values[k + 1] = state[output]
            if np.abs(state).max() > ENOUGH:
                values[k + 2 :] = state[output]
                break
        times = np.arange(count + 1, dtype=np.float64) * self.timing.T_current
        return times.astype(np.float64), values


def axis_run(model: AxisModel | ValveModel, gains: Gains, timing: Timing) -> AxisRun:
    """The maps of an axis with its gains and clocks."""
    plant = _plant(model, timing.T_current)
    n = len(plant.A)
    names = ["current_sum", "angle_before", "speed_filtered", "i_ref", "speed_sum", "w_ref", "axis_sum"]
    names += [f"u_{k}" for k in range(timing.current_delay)]
    names += [f"i_{k}" for k in range(timing.speed_delay)] + [f"w_{k}" for k in range(timing.axis_delay)]
    names += [f"filter_{k}" for k in range(2 * len(timing.torque_filters))]
    at = {name: n + k for k, name in enumerate([*names, "theta_ref"])}
    unit = np.eye(n + len(at))

    def controller(
        error: Array,
        total: str,
        K_p: float,
        K_i: float,
        T: float,
        wait: str,
        delay: int,
        ahead: Array | float = 0.0,
        filters: Sequence[Biquad] = (),
    ) -> tuple[Array, dict[int, Array]]:
        """Command that acts now, with ``ahead`` in it, and what else the sample changes (eq:sampled-pi)."""
        command = K_p * error + K_i * unit[at[total]] + ahead
        rows = {at[total]: unit[at[total]] + T * error}
        if filters:
            A, B, C, D = chained(filters)
            memory = [unit[at[f"filter_{k}"]] for k in range(len(A))]
            rows |= {at[f"filter_{k}"]: A[k] @ memory + B[k] * command for k in range(len(A))}
            command = C @ memory + D * command
        line = [unit[at[f"{wait}_{k}"]] for k in range(delay)] + [command]
        rows |= {at[f"{wait}_{k}"]: line[k + 1] for k in range(delay)}
        return line[0], rows

    def tick(rows: dict[int, Array]) -> Array:
        step = unit.copy()
        for row, values in rows.items():
            step[row] = values
        return step

    e_i = unit[at["i_ref"]] - unit[CURRENT]
    K = gains.current_proportional, gains.current_integral
    given: Array | float = 0.0
    if isinstance(
        model, ValveModel
    ):  # the amplifier of the valve gives what is asked for, less the pressure feedback
        e_i, K = plant.C @ unit[:n], (-model.pressure_gain, 0.0)
        given = unit[at["i_ref"]]
    u, rows_i = controller(e_i, "current_sum", *K, timing.T_current, "u", timing.current_delay, given)
    flow = plant.A @ unit[:n] + np.outer(plant.B, u)
    rows_i |= {k: flow[k] for k in range(n)}

    counted = (unit[ANGLE] - unit[at["angle_before"]]) / timing.T_speed  # eq:counted-speed
    a = timing.filter_pole
    w_meas = (1.0 - a) * counted + a * unit[at["speed_filtered"]]
    K = gains.speed_proportional, gains.speed_integral
    e_w = unit[at["w_ref"]] - w_meas
    ahead = model.flow_share * unit[at["w_ref"]]
    i_ref, rows_w = controller(
        e_w, "speed_sum", *K, timing.T_speed, "i", timing.speed_delay, ahead, timing.torque_filters
    )
    rows_w |= {at["i_ref"]: i_ref, at["angle_before"]: unit[ANGLE], at["speed_filtered"]: w_meas}

    e_x = unit[at["theta_ref"]] - unit[ANGLE]
    K = gains.position, gains.position_integral
    w_ref, rows_x = controller(e_x, "axis_sum", *K, timing.T_axis, "w", timing.axis_delay)
    rows_x |= {at["w_ref"]: w_ref}
    reference = {"current": at["i_ref"], "speed": at["w_ref"], "position": at["theta_ref"]}
    return AxisRun(tick(rows_x), tick(rows_w), tick(rows_i), timing, reference)


def _plant(model: AxisModel | ValveModel, T: float) -> Sampled:
    return sampled_valve(model, T) if isinstance(model, ValveModel) else sampled_axis(model, T)


def largest_pole(model: AxisModel | ValveModel, gains: Gains, timing: Timing) -> float:
    """Growth of the slowest-dying motion of the closed position loop over one beat of the clocks; < 1 dies.

    The reference and sums that no gain uses are left out: they stay by themselves.
    """
    run = axis_run(model, gains, timing)
    beat = run.beat()[:-1, :-1]
    idle = {
        len(_plant(model, timing.T_current).A) + k
        for k, gain in ((0, gains.current_integral), (4, gains.speed_integral), (6, gains.position_integral))
        if gain == 0.0
    }
    if not np.isfinite(beat).all():
        return math.inf
    keep = [k for k in range(len(beat)) if k not in idle]
    return float(np.abs(np.linalg.eigvals(beat[np.ix_(keep, keep)])).max())
