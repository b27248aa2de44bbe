"""No point of the true arm is above 250 mm/s in T1, whatever its loops; one that is too fast gives an alarm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pendant_kinematics import fastest, points_of
from servotwin.control.main.overshoot import overshoot_of, rise
from servotwin.control.main.point_speed import FastestPoint
from servotwin.mechanism.model import Array
from servotwin.motion.planner import plan
from servotwin.motion.requests import MoveJ, Speed
from servotwin.pendant.cell.run import Cell
from servotwin.pendant.cell.setup import CellSettings
from servotwin.pendant.cell.speed_watch import SpeedWatch
from servotwin.simulation.job_plant import IdealPlant, MachinePlant
from servotwin.simulation.live_robot import LiveRobot
from servotwin.simulation.plant.row_layout import positions
from servotwin.simulation.plant.signal_table import TIME
from tests.campaign import campaign, cases
from tests.unit.pendant.test_cell import Operated, runs_a_job, until_fast

FORWARD = {"controller.feedforward.velocity": "100 %"}
TRAM = str(Path(__file__).with_name("tram.yaml"))
SPAN = 8e-3  # s


class Rows(Operated):
    """An operated cell on drives, and where its joints truly are every millisecond."""

    def __init__(self, folder: Path, robot: str) -> None:
        super().__init__(folder, robot)
        self.cell = Cell(CellSettings(robot, "drives", str(folder)), self.answers.append)
        self.T = self.cell.period_ns
        self.rows: list[Array] = []
        self.mechanism = self.cell.live.robot.mechanism
        self.points = points_of(self.mechanism)

    def take(self) -> None:
        plant = self.cell.live.plant
        assert isinstance(plant, MachinePlant)
        machine = plant.machine
        found = machine.rows[: int(machine.world["record"]["rows"][0])].copy()
        self.cell.scope._restart(machine)
        q = positions(machine, found)[:, : self.cell.live.robot.n]
        self.rows += list(np.column_stack([found[:, TIME], q]))

    def hold_for(self, seconds: float, **state: Any) -> None:
        if state:
            self.hold(**state)
        self.run(round(seconds * 1e9 / self.T), each=self.take)

    def top(self) -> float:
        """Speed of the fastest point [m/s], the mean over ``SPAN``, and forget the rows."""
        rows: Array = np.array(self.rows)
        self.rows.clear()
        step = max(round(SPAN / float(np.median(np.diff(rows[:, 0])))), 1)
        tops = [
            fastest(self.mechanism, a[1:], b[1:], float(b[0] - a[0]), self.points)
            for a, b in zip(rows[:-step:2], rows[step::2], strict=False)
            if b[0] > a[0]
        ]
        return float(max(tops))


def jogs(operated: Rows, count: int, seed: int) -> Iterator[float]:
    """The top of the speed in jogs at random, also turned while they go on, and stopped."""
    rng, n = np.random.default_rng(seed), operated.cell.live.robot.n
    for _ in range(count):
        one = np.zeros(n)
        one[rng.integers(n)] = 1.0
        direction = one * rng.choice([-1.0, 1.0]) if rng.random() < 0.5 else rng.uniform(-1.0, 1.0, n)
        operated.held = {"switch": 0}
        operated.hold_for(0.05)
        operated.hold_for(float(rng.uniform(0.15, 0.5)), hold=True, direction=direction.tolist())
        if rng.random() < 0.3:
            operated.hold_for(0.2, hold=True, direction=(-direction).tolist())
        operated.hold_for(0.25, hold=False, direction=[])
        yield operated.top()


@campaign
@pytest.mark.parametrize(("robot", "least"), [(TRAM, 6), ("gsis-scara", 6), ("sixaxis-5kg", 3)])
def test_true_arm_on_drives_keeps_250_mm_s(robot: str, least: int, tmp_path: Path) -> None:
    operated = Rows(tmp_path, robot)
    operated.ready()
    operated.take()
    operated.rows.clear()
    tops = list(jogs(operated, cases(least, 300), 5))
    assert max(tops) <= 0.25
    assert max(tops) > 0.1
    assert operated.cell.live.controller.alarms == []


def test_joints_that_stop_each_for_itself_make_no_point_too_fast(tmp_path: Path) -> None:
    """Limits of jerk let joints stop at different times; speeds that cancelled at the tool then add up."""
    operated = Operated(tmp_path, "sixaxis-5kg").ready()
    mechanism, rng, T = operated.cell.live.robot.mechanism, np.random.default_rng(3), operated.T * 1e-9
    points, last, worst = points_of(mechanism), operated.q, 0.0

    def look() -> None:
        nonlocal last, worst
        now = operated.q
        worst, last = max(worst, fastest(mechanism, last, now, T, points)), now

    for _ in range(cases(5, 100)):
        direction = rng.uniform(-1.0, 1.0, 6)
        for state in ({"switch": 0}, {"switch": 1, "hold": True, "direction": direction.tolist()}):
            operated.held = state
            operated.run(300, each=look)
    assert 0.1 < worst <= 0.25
    assert operated.cell.live.controller.alarms == []


def test_measured_speed_above_the_bound_is_an_alarm_with_point_and_speed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operated = Operated(tmp_path, "gsis-scara").ready()
    cell, q = operated.cell, operated.q.copy()
    plant = cell.live.plant
    assert isinstance(plant, IdealPlant)
    period, carry_on = operated.T * 1e-9, plant.carry_on

    def runs_away(*given: Any) -> bool:
        nonlocal q
        q = q + np.array([0.6 * period, 0.0, 0.0, 0.0])
        plant.q = q
        return True

    monkeypatch.setattr(plant, "carry_on", runs_away)
    operated.run(1)  # 16 ms
    monkeypatch.setattr(plant, "carry_on", carry_on)
    operated.run(1)
    assert operated.state == "fault"
    (alarm,) = cell.live.controller.alarms
    assert "was measured at 4" in alarm.text
    assert "mm/s; T1 allows 250 mm/s" in alarm.text


def test_short_peak_is_seen_by_the_speed_watch() -> None:
    class Line:
        def between(self, before: Array, after: Array, seconds: float) -> tuple[str, float]:
            return "slide", float(np.abs(after - before)[0]) / seconds

    watch, q, tops = SpeedWatch(), 0.0, []
    for k in range(100):  # 0.4 m/s for 15 ms, which a mean over 48 ms takes for 0.125 m/s
        q += 0.4e-3 if 50 <= k < 65 else 0.0
        if watch.look(k * 1_000_000, np.array([q]), Line()):  # type: ignore[arg-type]
            tops.append(watch.speed)
    assert max(tops) == pytest.approx(0.4)
    assert tops[-1] == 0.0


def test_rise_is_from_an_earlier_value_to_a_later_one() -> None:
    assert rise(np.array([0.0, -3.0, -1.0, -2.0, -5.0, -4.0])) == 2.0
    assert rise(np.array([3.0, 2.0, 1.0])) == 0.0


def test_overshoot_is_that_of_loops_that_feed_forward() -> None:
    slow, quick = (LiveRobot("gsis-scara", over) for over in ({}, FORWARD))
    late, forward = (overshoot_of(one.robot, one.limits, one.description).ramps for one in (slow, quick))
    assert np.abs(np.diag(late)).max() < 1e-4  # what follows late is never faster than its reference
    assert (np.diag(forward) > 3e-3).all()


def test_overshoot_of_a_closed_chain_is_that_of_its_open_drawing() -> None:
    """Its loops do not close at every pose within the limits; home and the poses at which they do are enough."""
    opened, closed = (
        overshoot_of(one.robot, one.limits, one.description)
        for one in (LiveRobot("palletizer-4"), LiveRobot("palletizer-4-loops"))
    )
    np.testing.assert_allclose(closed.ramps, opened.ramps, rtol=0.3, atol=2e-4)


def test_bound_is_kept_though_friction_does_not_shrink_with_the_speed() -> None:
    """Of a job at full speed a sixth is allowed, but its friction frees as much speed: the model had 312 mm/s."""
    live, rng = LiveRobot("puma560"), np.random.default_rng(1)
    robot, limits = live.robot, live.limits
    overshoot = overshoot_of(robot, limits, live.description)
    points = {robot.mechanism.tool: np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.2]])}
    held, tops, wholes = FastestPoint(robot, points, 0.25, overshoot), [], []
    assert overshoot.friction[0] > 0.05  # rad/s, with an arm of 0.9 m
    for _ in range(20):
        q, size = rng.uniform(limits.q_min, limits.q_max), rng.uniform(0.0, 0.3, robot.n) * limits.speed
        each = held.each(q)
        kept = size * held.part(q, size)
        tops.append(float(each @ (kept + overshoot.beyond(kept))))
        line = size * held.allowed / float(each @ size)  # of a motion that has all that is allowed
        share = held.part_freed(q, line)
        tops.append(share * held.allowed + float(each @ overshoot.beyond(share * line)))
    assert max(tops) == pytest.approx(0.23, abs=1e-6)
    for _ in range(5):
        start, goal = robot.q_home + rng.uniform(-0.8, 0.8, (2, robot.n))
        motion = plan(robot, start, [MoveJ(goal, Speed("fraction", 1.0))], limits)
        rate = held.rate(motion)
        q, qd, qdd = motion.sample(np.linspace(0.0, motion.duration, 300))
        beyond = overshoot.beyond(rate * np.abs(qd)) + rate**2 * np.abs(qdd) @ overshoot.ramps.T
        each = np.stack([held.speeds(q, np.tile(one, (300, 1))) for one in np.eye(robot.n)], axis=1)
        wholes.append(float((held.speeds(q, rate * qd) + (each * beyond).sum(axis=1)).max()))
    assert 0.2 < max(wholes) <= 0.2501


@pytest.mark.parametrize(
    ("key", "slow", "again", "fast"),
    [("pause", {}, "resume", {}), ("override", {"percent": 1}, "override", {"percent": 100})],
)
def test_job_that_speeds_up_again_in_t1_is_no_faster_than_its_loops_are_counted_with(
    key: str, slow: dict[str, int], again: str, fast: dict[str, int], tmp_path: Path
) -> None:
    """Loops that feed the speed forward overshoot after a resume too: 254 mm/s were measured, which took the power."""
    ways = ("A: -34 deg, B: -34 deg, Z: 0 mm, W: 0 deg", "A: 34 deg, B: 34 deg, Z: 90 mm, W: 34 deg")
    operated = runs_a_job(tmp_path, "gsis-scara", "T1", plant="drives", ways=ways, overrides=FORWARD)
    rng, tops, T, panel = np.random.default_rng(0), [0.0], operated.T, operated.cell.panel

    def look() -> None:
        tops.append(panel.measured_speed)

    until_fast(operated, 0.03)
    for _ in range(12):
        operated.run(int(rng.uniform(0.1, 0.5) * 1e9 / T), each=look)
        assert operated.press(key, **slow)["ok"]
        operated.run(int(rng.uniform(0.05, 0.4) * 1e9 / T), each=look)
        assert operated.press(again, **fast)["ok"]
        operated.run(int(0.2e9 / T), each=look)
    assert 0.17 < max(tops) <= 0.93 * 0.25
    assert operated.cell.live.controller.alarms == []


LANCE = "format: servotwin-points/1\nrobot: gsis-scara\ntools: {lance: {x: 3 m}}\npoints:\n"
WAYS = "".join(
    f"  P{k}: {{joints: {{A: {turn} deg, B: 10 deg, Z: 0 mm, W: 0 deg}}}}\n"
    for k, turn in ((1, -20), (2, 20))
)


def test_tools_of_called_jobs_are_bound_in_t1(tmp_path: Path) -> None:
    (tmp_path / "sub.job").write_text("TOOL lance\nMOVEJ P1\nMOVEJ P2\n")
    (tmp_path / "sub.points.yaml").write_text(LANCE + WAYS)
    (tmp_path / "between.job").write_text('CALL "sub.job"\n')
    (tmp_path / "main.job").write_text('CALL "between.job"\n')
    operated = Operated(tmp_path).ready()
    robot = operated.cell.live.robot
    assert operated.press("load", job="main.job")["ok"]
    operated.held = {"switch": 1, "hold": True}
    operated.run(3)
    assert operated.press("run")["ok"]
    tip, worst, last = np.array([3.0, 0.0, 0.0, 1.0]), 0.0, None
    for _ in range(300):
        operated.run(1)
        here = robot.fkine(operated.q) @ tip
        if last is not None:
            worst = max(worst, float(np.linalg.norm(here - last)) / (operated.T * 1e-9))
        last = here
    assert operated.state == "running"
    assert 0.15 < worst <= 0.25


def test_jog_that_is_refused_says_why(tmp_path: Path) -> None:
    operated = Operated(tmp_path)
    operated.run(3)
    panel = operated.cell.panel
    operated.held = {"switch": 0}
    operated.run(2)
    held = {"switch": 1, "hold": True, "frame": "joint", "direction": [1.0, 0.0, 0.0, 0.0]}

    def why(**state: Any) -> str:
        operated.held = {**held, **state}
        operated.run(2)
        return panel.refused

    assert "Power on" in why()
    operated.held = {"switch": 0}
    operated.ready()
    assert why(switch=0) == "hold the enabling switch in its middle position"
    assert why(switch=0, hold=False, direction=[]) == ""
    assert operated.press("mode", mode="AUT")["ok"]
    assert "cannot be done in AUT" in why()
    assert why(hold=False, direction=[]) == ""
    assert operated.press("mode", mode="T1")["ok"]
    operated.press("emergency stop")
    assert "emergency stop" in why()
    (tmp_path / "a.job").write_text("WAIT 0.1 s\n")
    answer = operated.press("load", job="a.job")
    assert not answer["ok"]
    assert "press Reset" in answer["text"]


@pytest.mark.parametrize("pressed", ["mode", "stop"])
def test_selector_turned_to_t1_in_a_quick_jog_waits_for_the_measured_arm(
    pressed: str, tmp_path: Path
) -> None:
    """Drives come after a reference that stands: the arm is still faster than T1 allows, which took the power."""
    operated = Operated(tmp_path, "palletizer-4", "drives").ready()
    assert operated.press("mode", mode="T2")["ok"]
    operated.held = {"switch": 0}
    operated.run(2)
    operated.hold(hold=True, frame="joint", direction=[1.0, 0.0, 0.0, 0.0], speed=1.0)
    operated.run(800)
    panel = operated.cell.panel
    assert panel.speed > 1.0
    if pressed == "stop":
        assert operated.press("stop")["ok"]
        operated.hold()
        while operated.state != "ready":
            operated.run(1)
    assert operated.press("mode", mode="T1")["ok"]
    while operated.state != "ready":
        operated.run(1)
    assert panel.speed > 0.25
    assert panel.mode.value == "T2"
    operated.run(300)
    assert panel.mode.value == "T1"
    assert operated.state == "ready"
    assert operated.cell.live.controller.alarms == []


def test_jog_on_drives_leaves_time_for_what_its_loops_need(tmp_path: Path) -> None:
    """A page that is lost is given up sooner than on an arm that follows exactly, soonest where nothing leads it."""
    patience = []
    for plant, overrides in (("ideal", None), ("drives", None), ("drives", FORWARD)):
        operated = Operated(tmp_path, "gsis-scara", plant, overrides=overrides).ready()
        assert operated.press("mode", mode="T2")["ok"]
        operated.held = {"switch": 0}
        operated.run(2)
        operated.hold(hold=True, direction=[1.0, 0.0, 0.0, 0.0])
        operated.run(15)
        assert operated.state == "jogging"
        patience.append(operated.cell.panel._patience())
    exact, led, late = patience
    assert exact > led + 5_000_000
    assert led > 60_000_000
    assert late == 50_000_000
