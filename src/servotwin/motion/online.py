"""Jerk-limited replanning from any state: for jogging, stopping and targets that change on the way.

A thin wrapper of ``ruckig`` (Berscheid and Kroeger 2021), which plans in microseconds and is asked again in
every period.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from servotwin.errors import InputError, ShapeError, UnsupportedError
from servotwin.mechanism.model import Array
from servotwin.motion.limits import MotionLimits

# Where the file states no jerk: j = USUAL a^2 / V, see eq:usual-jerk.
USUAL = 2.0
NOTHING = 1e-9  # of a joint's speed: less is not planned for


def _extremes(profiles: Sequence[Any]) -> tuple[Array, Array]:
    """Least and largest positions (n,) of phases of constant jerk: at their ends, or where the speed is zero.

    ``position_extrema`` of ruckig counts the target position as well, which a motion to a speed does not have.
    """
    t, j = (np.array([getattr(one, name) for one in profiles]) for name in "tj")
    p, v, a = (np.array([getattr(one, name)[: t.shape[1]] for one in profiles]) for name in "pva")
    root = np.sqrt(np.maximum(a * a - 2.0 * j * v, 0.0))
    size = a + np.where(a < 0.0, -root, root)  # of v + a x + j x^2/2 = 0 without cancellation
    turns = -2.0 * v / np.where(size == 0.0, np.inf, size), -size / np.where(j == 0.0, np.inf, j)
    x = np.clip(np.stack([np.zeros_like(t), t, *turns]), 0.0, t)
    places = p + x * (v + x * (a / 2.0 + x * j / 6.0))
    return np.asarray(places.min(axis=(0, 2))), np.asarray(places.max(axis=(0, 2)))


class OnlinePlanner:
    """The next sample of the shortest jerk-limited motion from the present state to what is asked for.

    >>> import numpy as np
    >>> one = np.ones(1)
    >>> limits = MotionLimits(-one, one, one, 4 * one, 40 * one, np.inf * one)
    >>> planner = OnlinePlanner(limits, period=0.016, q=[0.0])
    >>> planner.to_velocity([0.5])
    >>> for _ in range(30):
    ...     q, qd, qdd = planner.step()
    >>> round(float(qd[0]), 9), planner.finished
    (0.5, True)
    """

    def __init__(self, limits: MotionLimits, period: float, q: ArrayLike) -> None:
        try:
            ruckig: Any = import_module("ruckig")  # it has no types
        except ImportError as error:
            raise UnsupportedError("online planning needs the package 'ruckig'") from error
        self._ruckig = ruckig
        self.n = limits.speed.size
        self.limits, self.period = limits, period
        self._planner: Any = ruckig.Ruckig(self.n, period)
        self._input: Any = ruckig.InputParameter(self.n)
        self._output: Any = ruckig.OutputParameter(self.n)
        self.set_override(1.0)
        self.reset(q)

    @property
    def finished(self) -> bool:
        """Whether the target state is reached."""
        return self._finished

    @property
    def state(self) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (n,) at present."""
        given = self._input
        return (
            np.array(given.current_position),
            np.array(given.current_velocity),
            np.array(given.current_acceleration),
        )

    def reset(self, q: ArrayLike, qd: ArrayLike | None = None, qdd: ArrayLike | None = None) -> None:
        """Begin at this state (n,) and stay there, or come to rest from it."""
        given = self._input
        given.current_position = self._list("q", q)
        given.current_velocity = self._list("qd", np.zeros(self.n) if qd is None else qd)
        given.current_acceleration = self._list("qdd", np.zeros(self.n) if qdd is None else qdd)
        self.to_velocity(np.zeros(self.n))

    def set_override(self, share: float) -> None:
        """Use this share (0 to 1] of the speeds from now on; accelerations and jerks stay."""
        if not 0.0 < share <= 1.0:
            raise InputError(f"an override of {100 * share:g} %; expected above 0 and at most 100 %")
        limits = self.limits
        usual = USUAL * limits.acceleration**2 / limits.speed
        jerk = np.where(np.isfinite(limits.jerk), limits.jerk, usual)
        self._input.max_velocity = (limits.speed * share).tolist()
        self._input.max_acceleration = limits.acceleration.tolist()
        self._input.max_jerk = jerk.tolist()
        self._finished = False

    def to_position(self, q: ArrayLike) -> None:
        """Go to q (n,) and stop there; joints arrive together. InputError beyond the limits of position."""
        target = np.asarray(q, dtype=np.float64)
        if target.shape == (self.n,) and (self.limits.beyond(target) > 0.0).any():
            raise InputError(f"the target {target.tolist()} lies beyond the limits of position")
        self._input.per_dof_control_interface = None
        self._input.control_interface = self._ruckig.ControlInterface.Position
        self._input.synchronization = self._ruckig.Synchronization.Time
        self._input.target_position = self._list("q", target)
        self._input.target_velocity = [0.0] * self.n
        self._input.target_acceleration = [0.0] * self.n
        self._finished = False

    def to_velocity(self, qd: ArrayLike) -> None:
        """Go at this velocity (n,) from now on, without regard to limits of position; zero stops."""
        self._input.per_dof_control_interface = None
        self._input.control_interface = self._ruckig.ControlInterface.Velocity
        self._input.synchronization = self._ruckig.Synchronization.No  # each joint stops as soon as it can
        self._input.target_velocity = self._list("qd", qd)
        self._input.target_acceleration = [0.0] * self.n
        self._finished = False

    def towards(self, qd: ArrayLike) -> None:
        """Go at this velocity (n,) from now on, each joint for itself, and come to rest at the limits of position."""
        wanted = np.array(self._list("qd", qd))
        wanted = np.where(np.abs(wanted) > NOTHING * self.limits.speed, wanted, 0.0)
        q = np.array(self._input.current_position)
        end = np.where(wanted > 0.0, self.limits.q_max, self.limits.q_min)
        ahead = np.where(wanted > 0.0, end > q, end < q)
        bounded = (wanted != 0.0) & np.isfinite(end) & ahead
        self.to_velocity(np.where(ahead, wanted, 0.0))
        interface = self._ruckig.ControlInterface
        self._input.per_dof_control_interface = [
            interface.Position if stops else interface.Velocity for stops in bounded
        ]
        self._input.target_position = np.where(bounded, end, q).tolist()
        self._input.target_velocity = np.where(bounded | ~ahead, 0.0, wanted).tolist()
        self._input.max_velocity = np.where(bounded, np.abs(wanted), self.limits.speed).tolist()

    def stopping_range(self) -> tuple[Array, Array]:
        """How far back and forth (n,), (n,) every joint still goes until it is at rest: at most 0, at least 0.

        An acceleration cannot be taken away at once, so a joint may turn back before it rests.
        """
        way, here = self._stopping()
        least, most = _extremes(way.profiles[0])
        return np.minimum(least - here, 0.0), np.maximum(most - here, 0.0)

    def stopping_way(self) -> Array:
        """Positions (k, n) in periods until every joint, each for itself, has come to rest."""
        way, _ = self._stopping()
        times = np.minimum(np.arange(np.ceil(way.duration / self.period) + 1) * self.period, way.duration)
        return np.array([way.at_time(float(t))[0] for t in times], dtype=np.float64).reshape(-1, self.n)

    def _stopping(self) -> tuple[Any, Array]:
        """The shortest way to rest, each joint for itself, and the position (n,) at which it begins."""
        given = self._ruckig.InputParameter(self.n)
        for name in ("position", "velocity", "acceleration"):
            setattr(given, f"current_{name}", getattr(self._input, f"current_{name}"))
        given.max_velocity = self._input.max_velocity
        given.max_acceleration, given.max_jerk = self._input.max_acceleration, self._input.max_jerk
        given.control_interface = self._ruckig.ControlInterface.Velocity
        given.synchronization = self._ruckig.Synchronization.No
        given.target_velocity, given.target_acceleration = [0.0] * self.n, [0.0] * self.n
        way = self._ruckig.Trajectory(self.n)
        self._check(self._ruckig.Ruckig(self.n).calculate(given, way))
        return way, np.array(given.current_position, dtype=np.float64)

    def step(self) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (n,) one period later."""
        try:
            result = self._planner.update(self._input, self._output)
        except (
            ValueError,
            self._ruckig.RuckigError,
        ) as error:  # also results that it has no names for, such as -101
            raise InputError(f"no motion leads from the present state to the target ({error})") from None
        self._check(result)
        self._output.pass_to_input(self._input)
        self._finished = result == self._ruckig.Result.Finished
        return self.state

    def _check(self, result: Any) -> None:
        if int(result) < 0:
            raise InputError(f"no motion leads from the present state to the target ({result})")

    def _list(self, name: str, value: ArrayLike) -> list[float]:
        array = np.asarray(value, dtype=np.float64)
        if array.shape != (self.n,) or not np.isfinite(array).all():
            raise ShapeError(f"{name} has the shape {array.shape}; expected ({self.n},), finite")
        return [float(x) for x in array]
