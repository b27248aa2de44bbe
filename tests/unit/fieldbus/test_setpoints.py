"""Set-points of CSP that come late, not at all or rarely: the demand neither jumps nor exceeds its limits."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from servotwin.fieldbus.cia402.application import Drives, ideal_plant
from servotwin.fieldbus.cia402.drive import drives_cycle
from servotwin.fieldbus.cia402.states import FOLLOWS, State
from servotwin.fieldbus.ethercat.slave.records import Outputs

PERIOD = 1_000_000  # ns
T = PERIOD * 1e-9
V = 2_000_000.0  # user units/s: about two turns of the motor a second
CSP = 8


class OneDrive:
    """A drive with an ideal axis, cycle by cycle, enabled in CSP; ``path`` and ``speeds`` of its demand."""

    def __init__(self, **objects: int) -> None:
        self.drives = Drives([1])
        self.drives.attach(ideal_plant(self.drives))
        self.objects = self.drives.objects[0]
        for name, value in objects.items():
            self.objects[name] = value
        self._call = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(drives_cycle.address)
        self.now = 0
        self.path: list[float] = []
        self.objects["mode"] = CSP
        for word in (0, 0, 0x06, 0x07, 0x0F, 0x0F):
            self.objects["controlword"] = word
            self.cycle(0)
        assert int(self.drives.drives["state"][0]) == State.ENABLED

    def cycle(self, target: float | None) -> float:
        """One period with a set-point, or without one."""
        if target is not None:
            self.objects["target_position"] = round(target)
        self.drives.context["operational"][0, 0] = Outputs.IN_FORCE if target is None else Outputs.FRESH
        self.now += PERIOD
        self._call(self.drives.context.ctypes.data, 0, self.now)
        self.path.append(float(self.drives.drives["position"][0]))
        return self.path[-1]

    @property
    def speeds(self) -> Any:
        return np.diff(self.path) / T

    @property
    def top(self) -> float:
        return float(self.objects["max_motor_speed"][0]) / 60.0 * (1 << 20)


def at_speed(drive: OneDrive, periods: int = 50) -> float:
    """Accelerate gently to V; the last target."""
    goal = 0.0
    for k in range(periods):
        goal += V * T * (k + 1) / periods
        assert drive.cycle(goal) == pytest.approx(goal, abs=0.51)
    return goal


def test_set_point_that_comes_a_period_late_leaves_no_trace() -> None:
    drive = OneDrive()
    goal = at_speed(drive)
    for k in range(300):
        goal += V * T
        late = k % 3 == 1
        drive.cycle(None if late else goal)
        assert drive.path[-1] == pytest.approx(goal, abs=0.51)
    assert int(drive.objects["setpoints_missed"][0]) == 100
    assert np.abs(drive.speeds[60:] - V).max() < 2.0 / T  # rounding of the set-points


@pytest.mark.parametrize("goes_on", [False, True])
@pytest.mark.parametrize("gap", [1, 2, 3, 4, 10, 50, 99])
def test_gap_is_bridged_within_the_accelerations_of_the_axis(gap: int, goes_on: bool) -> None:
    drive = OneDrive()
    goal = at_speed(drive)
    for _ in range(20):
        goal += V * T
        drive.cycle(goal)
    for _ in range(gap):
        goal += V * T if goes_on else 0.0
        drive.cycle(None)
    before = len(drive.path)
    for _ in range(400):
        goal += V * T
        drive.cycle(goal)
    assert drive.path[-1] == pytest.approx(goal, abs=0.51)  # it follows again
    speeds = drive.speeds[60:]
    allowed = float(drive.objects["max_deceleration"][0])
    assert np.abs(np.diff(speeds)).max() / T <= 1.001 * allowed + 4.0 / T / T
    assert np.abs(speeds).max() <= drive.top
    if not goes_on:
        assert speeds.max() <= 1.001 * V + 2.0 / T  # a pause of the master is no reason to hurry
    locked = np.abs(np.array(drive.path[before:]) - (goal - V * T * np.arange(399, -1, -1))) <= 0.51
    assert locked[-200:].all()


def test_demand_comes_to_rest_where_set_points_stay_away() -> None:
    drive = OneDrive(extrapolated=3)
    goal = at_speed(drive)
    for _ in range(100):
        drive.cycle(None)
    gone = np.array(drive.path[-100:]) - goal
    assert gone[:3] == pytest.approx(V * T * np.arange(1, 4), abs=3.0)
    assert gone[-1] == gone[-50]
    ramp = V**2 / (2.0 * float(drive.objects["stop_deceleration"][0]))
    assert gone[-1] == pytest.approx(3 * V * T + ramp, abs=2.0 * V * T)
    assert not int(drive.objects["statusword"][0]) & FOLLOWS
    for _ in range(100):
        drive.cycle(goal)
    assert int(drive.objects["statusword"][0]) & FOLLOWS


def test_nothing_is_extrapolated_where_the_object_says_so() -> None:
    drive = OneDrive(extrapolated=0, stop_deceleration=0xFFFFFFFF)
    goal = at_speed(drive)
    for _ in range(5):
        assert drive.cycle(None) == pytest.approx(goal, abs=0.51)


def test_interpolation_time_makes_straight_lines_between_rare_set_points() -> None:
    drive = OneDrive(interpolation_time=4)
    goal = 0.0
    for _ in range(20):
        goal += 4.0 * V * T
        for k in range(4):
            drive.cycle(goal if k == 0 else None)
    assert drive.speeds[-76:] == pytest.approx(V, abs=2.0 / T)
    assert int(drive.objects["setpoints_missed"][0]) == 0


def test_own_speed_of_the_demand_is_the_speed_of_the_path_off_it() -> None:
    drive = OneDrive(path_speed=1)
    goal = at_speed(drive)
    drive.objects["velocity_offset"] = round(V)
    drive.cycle(goal + V * T)
    scale = (1 << 20) / (2.0 * np.pi)
    command = drive.drives.drives["command"]
    assert command["velocity_offset"][0] == pytest.approx(V / scale)
    for _ in range(100):
        drive.cycle(None)
    assert command["velocity_offset"][0] == 0.0  # 60B1 still says V, and the demand stands
