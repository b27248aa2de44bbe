r"""Whether a state feedback holds the robot, and not only its linear model at one pose.

Two looks beyond the poles at the pose of the design: the poles of the coupled arm at poses all over the joint ranges
under the same law, and the complete nonlinear model under the sampled law within the limits of its inputs, after a step
of the references by a part of the deviation that every axis can answer (eq:plausible-error). Dry friction, which would
only calm it, is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from servotwin.control.servo.state_feedback_plant import Driven
from servotwin.description.controller_parts import Controller
from servotwin.errors import ServotwinError
from servotwin.linear.feedback import closed_loop
from servotwin.linear.system import Array, LinearSystem
from servotwin.robot.regular import joint_ranges, regular_poses
from servotwin.robot.state_space import StateSpace

POSES = 24  # in the joint ranges
STEP = 0.5  # of the deviation that an axis can answer
SETTLED = 0.1  # of the step
WATCHED = 30.0  # how long the nonlinear arm is watched, in 1/bandwidth
QUIET = 8.0  # how long it has to stay near its reference, in 1/bandwidth
FINE = 0.5  # step of the integration, over the largest rate of the linear model
MOST_STEPS = 400  # of an axis period
AWAY = 20.0  # steps from the reference at which an arm has left


@dataclass(frozen=True)
class Law:
    """Matrices of eq:state-feedback and the plant that they believe in."""

    plant: LinearSystem
    K: Array
    K_i: Array
    L: Array


@dataclass(frozen=True)
class Judgement:
    """What became of the law at other poses, and on the nonlinear arm."""

    poses: int  # that were looked at
    unstable: int  # of them
    worst: Array  # pose of the slowest decay (n,)
    decay: float  # there: the slowest rate [1/s]; negative: it grows
    settled: float | None  # time until the nonlinear arm is near its reference for good [s]; None: it is not
    peak: float  # largest input over its limit
    limited: bool  # whether an input met its limit

    @property
    def usable(self) -> bool:
        """Whether the law holds the arm at all poses, and the nonlinear arm within its limits."""
        return self.unstable == 0 and self.settled is not None

    @property
    def lines(self) -> tuple[str, str]:
        """In words: other poses, the nonlinear arm."""
        held = "stable in all" if not self.unstable else f"unstable in {self.unstable}"
        rate = f"slowest decay {self.decay:.4g} 1/s" if self.decay > 0.0 else f"growth {-self.decay:.4g} 1/s"
        step = f"nonlinear arm after a step of {100.0 * STEP:.0f} % of what every axis can answer: "
        end = "does not settle" if self.settled is None else f"settles in {1e3 * self.settled:.4g} ms"
        peak = "within their limits" if not self.limited else f"wanting {self.peak:.3g} times their limits"
        return f"{self.poses} poses of the joint ranges: {held}, {rate}", f"{step}{end}, inputs {peak}"


@dataclass(frozen=True)
class Arm:
    """The robot that a law is judged on."""

    model: StateSpace
    about: LinearSystem  # the complete model about the pose of the design
    control: Controller
    valves: tuple[bool, ...]
    spans: Array  # deviation that every axis can answer (m,)
    limits: Array  # of the inputs (m,)
    bandwidth: float

    def judge(self, law: Law) -> Judgement:
        """Look at other poses, and at the nonlinear arm."""
        decays, poses = self._decays(law)
        k = int(np.argmin(decays))
        settled, peak = self._step(law)
        unstable = int((decays <= 0.0).sum())
        return Judgement(len(poses), unstable, poses[k], float(decays[k]), settled, peak, peak >= 1.0)

    def _decays(self, law: Law) -> tuple[Array, Array]:
        """Slowest rate of decay at every pose [1/s]; none where nothing holds the arm."""
        rng = np.random.default_rng(1987)
        found, kept = [], []
        for q in regular_poses(self.model.robot, rng, POSES):
            try:
                about = self.model.linear(self.model.operating_point(q))
            except ServotwinError:  # a pose that no input holds: no law is to blame
                continue
            truth = Driven.of(about, self.control, self.valves).sampled
            values = np.linalg.eigvals(closed_loop(truth, law.plant, law.K, law.K_i, law.L))
            found.append(-np.log(np.abs(values).max()) / self.control.axis_period)
            kept.append(q)
        if not found:
            return np.zeros(1), self.about.x0[None, : self.model.robot.n]
        return np.array(found), np.array(kept)

    def _step(self, law: Law) -> tuple[float | None, float]:
        """Time after which the nonlinear arm stays near its stepped reference, and the largest input over its limit."""
        T, delay = self.control.axis_period, self.control.axis_delay
        plant, step = law.plant, self._reference_step()
        x, u_0 = self.about.x0.copy(), self.about.u0
        torque, target = u_0.copy(), self.model.angles @ x + step
        bar, sigma, waiting = np.zeros(plant.order), np.zeros(len(step)), [u_0] * delay
        fine = self._steps(T)
        last, peak, now = 0.0, float(np.abs(u_0 / self.limits).max()), 0.0
        while now < min(WATCHED, last * self.bandwidth + QUIET) / self.bandwidth:
            error = target - self.model.angles @ x
            if not np.isfinite(error).all() or (np.abs(error) > AWAY * np.abs(step)).any():
                return None, peak
            if (np.abs(error) > SETTLED * np.abs(step)).any():
                last = now + T
            hat = bar + law.L @ (error - plant.C @ bar)
            wanted = u_0 + law.K @ hat + law.K_i @ sigma
            given = np.clip(wanted, -self.limits, self.limits)
            peak = max(peak, float(np.abs(wanted / self.limits).max()))
            sigma = sigma + np.where((wanted - given) * error <= 0.0, T * error, 0.0)
            bar = plant.A @ hat - plant.B @ (given - u_0)
            waiting.append(given)
            x, torque = self._advance(x, torque, waiting.pop(0), T, fine)
            now += T
        return (last if last < now - 1.5 * T else None), peak

    def _reference_step(self) -> Array:
        """A step of the motors towards the middle of the joint ranges."""
        low, high = joint_ranges(self.model.robot)
        towards = self.model.N @ (0.5 * (low + high) - self.about.x0[: self.model.robot.n])
        return np.asarray(np.where(towards < 0.0, -1.0, 1.0) * STEP * self.spans)

    def _steps(self, T: float) -> int:
        """Steps of the integration in a period T."""
        rates = np.abs(np.linalg.eigvals(self.about.A))
        fastest = max(float(rates.max()), self.control.current_bandwidth)
        return int(np.clip(np.ceil(T * fastest / FINE), 1, MOST_STEPS))

    def _advance(self, x: Array, torque: Array, command: Array, T: float, steps: int) -> tuple[Array, Array]:
        """A period of the arm behind its current loops, by the classical Runge-Kutta method."""
        valves, w_c, h = np.array(self.valves), self.control.current_bandwidth, T / steps

        def rates(y: Array) -> Array:
            tau = np.where(valves, command, y[len(x) :])
            return np.concatenate([self.model.rates(y[: len(x)], tau), w_c * (command - y[len(x) :])])

        y = np.concatenate([x, torque])
        with np.errstate(all="ignore"):
            for _ in range(steps):
                k_1 = rates(y)
                k_2 = rates(y + 0.5 * h * k_1)
                k_3 = rates(y + 0.5 * h * k_2)
                y = y + h / 6.0 * (k_1 + 2.0 * k_2 + 2.0 * k_3 + rates(y + h * k_3))
                if not np.isfinite(y).all():
                    break
        return y[: len(x)], y[len(x) :]
