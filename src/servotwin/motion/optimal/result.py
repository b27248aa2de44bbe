"""The answer: the motion with its torques, currents, voltages and temperatures, and what limits it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from servotwin.mechanism.model import Array
from servotwin.motion.trajectory import Segment, Trajectory, joined
from servotwin.presentation import Plots, Reports, ShowsItself, Tabulates


@dataclass(frozen=True, eq=False)
class SplineSegment:
    """Accelerations that are straight lines between nodes: t (N + 1,) [s], q, qd, qdd (N + 1, n)."""

    t: Array
    q: Array
    qd: Array
    qdd: Array
    kind: str = "optimal"

    @property
    def duration(self) -> float:
        """[s]"""
        return float(self.t[-1])

    def sample(self, t: Array) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (k, n) at the times t (k,) [s] of the segment (eq:spline-defect)."""
        clock = np.clip(np.asarray(t, dtype=np.float64), 0.0, self.t[-1])
        k = np.clip(np.searchsorted(self.t, clock, side="right") - 1, 0, self.t.size - 2)
        return self._after(clock - self.t[k], k)

    def ends(self) -> tuple[Array, Array, Array]:
        """The same (N, n) at the end of every interval, by the polynomial of that interval."""
        return self._after(np.diff(self.t), np.arange(self.t.size - 1))

    def _after(self, since: Array, k: NDArray[np.int_]) -> tuple[Array, Array, Array]:
        """The same at times ``since`` [s] after the nodes k."""
        h = (self.t[k + 1] - self.t[k])[:, None]
        d = since[:, None]
        jerk = (self.qdd[k + 1] - self.qdd[k]) / h
        a, v = self.qdd[k], self.qd[k]
        return (
            self.q[k] + d * (v + d * (a / 2.0 + d * jerk / 6.0)),
            v + d * (a + d * jerk / 2.0),
            a + d * jerk,
        )


@dataclass(frozen=True)
class LimitUse:
    """One limit and the motion: ``value`` in ``unit``, ``peak`` share of it, ``active`` share of the time at it.

    ``gain``: by how much the objective falls if the limit is raised by one unit [s or J per unit].
    """

    what: str
    who: str
    value: float
    unit: str
    peak: float
    active: float
    gain: float


@dataclass(frozen=True, eq=False)
class OptimalMotion(Plots, Tabulates, Reports, ShowsItself):
    """An optimal motion at its nodes: t (N + 1,), joints (N + 1, n), motors (N + 1, m), all in SI.

    ``voltage``: of a DC motor, amplitude of a phase of a synchronous one; ``winding``: temperatures [degC] over the
    repeated motion, NaN where nothing is known of them. Of a servovalve ``current`` is the force [N], ``opening`` how
    far it opens, NaN for electric motors, ``flow`` and ``flow_limit`` [m3/s] what it takes from the supply and what it
    would take fully open under that force, ``force_limit`` (2, N + 1, m) [N] the least and largest force at its speed;
    of ``rotary_valves``, names of hydraulic motors, these are N m. ``hydraulic_energy`` [J] of all valves.
    ``active``: for every node the limits that hold it there.
    ``model_error``: largest difference between the currents between nodes and those that the motion there needs, as
    part of their limits.
    """

    robot: str
    objective: str
    objective_value: float
    objective_unit: str
    joint_names: tuple[str, ...]
    joint_units: tuple[str, ...]
    motor_names: tuple[str, ...]
    t: Array
    q: Array
    qd: Array
    qdd: Array
    torque: Array
    motor_speed: Array
    current: Array
    voltage: Array
    winding: Array
    bus_power: Array
    opening: Array
    copper_loss: float
    mechanical_work: float
    limits: tuple[LimitUse, ...]
    active: tuple[tuple[str, ...], ...]
    model_error: float
    iterations: int
    seconds: float
    notes: tuple[str, ...] = ()
    electric: bool = True
    baseline: float | None = None  # [s], the best S-curve under the same limits
    tool: Array = field(default_factory=lambda: np.zeros((0, 3)))  # (N + 1, 3) [m] of the tool point
    path_segment: Segment | None = None  # of a motion along a given path
    flow: Array = field(default_factory=lambda: np.zeros((0, 0)))
    flow_limit: Array = field(default_factory=lambda: np.zeros((0, 0)))
    force_limit: Array = field(default_factory=lambda: np.zeros((2, 0, 0)))
    rotary_valves: tuple[str, ...] = ()
    hydraulic_energy: float = 0.0

    @property
    def duration(self) -> float:
        """[s]"""
        return float(self.t[-1])

    @property
    def energy(self) -> float:
        """Copper loss and mechanical work of the motors, and what valves take of their supply [J]."""
        return self.copper_loss + self.mechanical_work + self.hydraulic_energy

    @property
    def valves(self) -> tuple[int, ...]:
        """Which motors are servovalves with a cylinder or hydraulic motor."""
        return tuple(k for k in range(len(self.motor_names)) if np.isfinite(self.opening[:, k]).any())

    @cached_property
    def segment(self) -> Segment:
        """The motion as a segment of a trajectory."""
        return self.path_segment or SplineSegment(self.t, self.q, self.qd, self.qdd)

    def sample(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Position, velocity, acceleration (k, n) at the times t (k,) [s]."""
        return self.segment.sample(np.atleast_1d(np.asarray(t, dtype=np.float64)))

    def trajectory(self) -> Trajectory:
        """The motion as the planner's trajectories are, to be played or simulated."""
        return joined([self.segment], [0], (1.0,))

    def gains(self) -> dict[tuple[str, str], float]:
        """What one more unit of a limit buys [s or J per unit], by (what, who)."""
        return {(use.what, use.who): use.gain for use in self.limits}

    def summary(self) -> dict[str, Any]:
        """Plain numbers and texts, as the command line prints them."""
        return {
            "robot": self.robot,
            "objective": self.objective,
            "objective_value": self.objective_value,
            "objective_unit": self.objective_unit,
            "duration_s": self.duration,
            "copper_loss_J": self.copper_loss,
            "mechanical_work_J": self.mechanical_work,
            **({"hydraulic_energy_J": self.hydraulic_energy} if self.valves else {}),
            "s_curve_s": self.baseline,
            "iterations": self.iterations,
            "seconds": self.seconds,
            "model_error": self.model_error,
            "notes": list(self.notes),
            "limits": [
                {
                    "what": use.what, "who": use.who, "value": use.value, "unit": use.unit,
                    "peak": use.peak, "active": use.active, "gain": use.gain,
                }
                for use in self.limits
            ],
        }  # fmt: skip

    def signals(self) -> dict[str, list[Any]]:
        """Columns of a table, by name with unit."""
        out: dict[str, list[Any]] = {"t [s]": self.t.tolist()}
        for k, (name, unit) in enumerate(zip(self.joint_names, self.joint_units, strict=True)):
            force = "N" if unit == "m" else "N m"
            for what, values, of in (
                ("q", self.q, unit),
                ("qd", self.qd, f"{unit}/s"),
                ("qdd", self.qdd, f"{unit}/s2"),
                ("tau", self.torque, force),
            ):
                out[f"{what} {name} [{of}]"] = values[:, k].tolist()
        for k, name in enumerate(self.motor_names):
            if k in self.valves:
                force = "tau_h {} [N m]" if name in self.rotary_valves else "F {} [N]"
                out[force.format(name)] = self.current[:, k].tolist()
                out[f"opening {name} [-]"] = self.opening[:, k].tolist()
                out[f"flow {name} [m3/s]"] = self.flow[:, k].tolist()
            elif self.electric:
                out[f"i {name} [A]"] = self.current[:, k].tolist()
                out[f"u {name} [V]"] = self.voltage[:, k].tolist()
                out[f"T {name} [degC]"] = self.winding[:, k].tolist()
        out["active"] = ["; ".join(names) for names in self.active]
        return out
