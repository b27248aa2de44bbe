"""Plans below the reduced speed: a short peak in a long motion is seen."""

from __future__ import annotations

import numpy as np
import pytest

import servotwin as st
from servotwin.control.main.point_speed import FastestPoint
from servotwin.mechanism.model import Array


class Pulse:
    """An axis that creeps, and once is quick for a moment (a Gaussian speed): a planned motion with a known top."""

    owners = (0,)
    starts = np.zeros(1)

    def __init__(self, duration: float, at: float, width: float, top: float, n: int) -> None:
        self.duration, self.at, self.width, self.top, self.n = duration, at, width, top, n

    def sample(self, t: Array) -> tuple[Array, Array, Array]:
        q, qd = np.zeros((2, len(t), self.n))
        qd[:, 0] = 0.01 + self.top * np.exp(-0.5 * ((t - self.at) / self.width) ** 2)
        return q, qd, np.zeros_like(qd)


@pytest.mark.parametrize("duration", [0.5, 5.0, 60.0, 240.0])
@pytest.mark.parametrize("part", [0.3, 0.50123, 0.7777])
def test_rate_sees_a_short_peak_in_a_motion_of_any_length(duration: float, part: float) -> None:
    robot = st.load_robot("gsis-scara")
    tool = robot.mechanism.tool
    fastest = FastestPoint(robot, {tool: np.zeros((1, 3))}, 0.25)
    pulse = Pulse(duration, part * duration, 0.01, 2.0, robot.n)
    rate = fastest.rate(pulse)
    q, qd = np.zeros(robot.n), np.zeros(robot.n)
    qd[0] = 2.01
    reach = float(np.hypot(*robot.fkine(q)[:2, 3]))  # axis A turns the stretched arm about the base
    assert rate * reach * 2.01 == pytest.approx(fastest.allowed, rel=0.01)
    assert rate * fastest.speed(q, qd) < 0.25
