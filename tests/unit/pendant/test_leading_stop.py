"""The measured arm on simulated drives stands 200 ms after its page was lost, on its path, and its job goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pendant_campaign import main_of
from servotwin.control.main.leading_stop import LATE
from servotwin.control.main.states import Event
from servotwin.control.main.time_scaling import Cursor
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.pendant.cell.enabling import SPARE, STOP_WITHIN
from servotwin.pendant.cell.run import Cell
from servotwin.pendant.cell.setup import CellSettings
from tests.campaign import campaign, cases
from tests.unit.pendant.test_cell import Operated, runs_a_job, until_fast

STANDS = 0.01  # m/s of the measured tool
BESIDE = (
    0.004  # m of the tool from its path: what the joints' loops differ by while they brake with full current
)


class Tool:
    """Where the measured tool is, when it was last fast, and by how much the command changes in a period."""

    def __init__(self, operated: Operated) -> None:
        self.operated, self.fast_ns, self.step = operated, operated.now, 0.0
        self.places: list[Array] = []
        self._command = operated.cell.live.command.q

    def look(self) -> None:
        live = self.operated.cell.live
        self.places.append(live.robot.fkine(live.q)[:3, 3])
        if len(self.places) > 1:
            way = float(np.linalg.norm(self.places[-1] - self.places[-2]))
            if way > STANDS * self.operated.T * 1e-9:
                self.fast_ns = (
                    self.operated.now + self.operated.T
                )  # the period that begins then has been stepped
        self.step = max(self.step, float((np.abs(live.command.q - self._command) / live.limits.speed).max()))
        self._command = live.command.q

    def beside(self, cursor: Cursor) -> float:
        """The largest distance of the places from the path of a motion [m]."""
        times = np.linspace(0.0, cursor.trajectory.duration, 4000)
        path = self.operated.cell.live.robot.fkine(cursor.trajectory.sample(times)[0])[:, :3, 3]
        return max(float(np.linalg.norm(path - place, axis=1).min()) for place in self.places)


def moves(folder: Path, robot: str) -> Operated:
    """A job under way on simulated drives, whose bound of speed is known."""
    operated = runs_a_job(folder, robot, "AUT", plant="drives")
    until_fast(operated, 0.05)
    return operated


@campaign
@pytest.mark.parametrize("robot", ["gsis-scara"])
def test_measured_tool_stands_200_ms_after_the_page_was_heard_of(robot: str, tmp_path: Path) -> None:
    operated, rng = moves(tmp_path, robot), np.random.default_rng(11)
    controller, T = operated.cell.live.controller, operated.T
    for _ in range(cases(6, 100)):
        until_fast(operated, float(rng.uniform(0.05, 0.95)) * controller.reference.stoppable)
        operated.run(int(rng.uniform(0.0, 0.2) * 1e9 / T))
        playback, since, tool = controller.reference.playback, operated.now, Tool(operated)
        assert playback is not None
        cursor = playback.cursor
        operated.run(int(0.5e9 / T), heard=False, each=tool.look)
        assert operated.state == "paused"
        assert controller.alarms == []
        assert tool.fast_ns - since <= STOP_WITHIN - SPARE + T  # the rest is for a process that wakes up late
        if cursor is not None and playback.cursor is cursor:
            assert tool.beside(cursor) < BESIDE
        stood = operated.cell.live.command.q
        operated.held = {"switch": 0}
        operated.run(2)
        np.testing.assert_array_equal(operated.cell.live.command.q, stood)
        resumed = Tool(operated)
        assert operated.press("resume")["ok"]
        operated.run(int(0.3e9 / T), each=resumed.look)
        assert max(tool.step, resumed.step) <= 1.1 * T * 1e-9  # no jump of the command
        assert controller.alarms == []


@pytest.mark.parametrize("mode", ["T1", "T2"])
def test_slow_job_by_hand_stands_in_time_too(mode: str, tmp_path: Path) -> None:
    ways = (
        "th1: -60 deg, th2: 90 deg, th3: -90 deg, th5: 0 deg",
        "th1: 60 deg, th2: 70 deg, th3: -60 deg, th5: 90 deg",
    )
    job = "MOVEJ P1 SPEED 20%\nMOVEJ P2 SPEED 20%\n" * 20
    operated = runs_a_job(tmp_path, "palletizer-4", mode, plant="drives", job=job, ways=ways)
    until_fast(operated, 0.03)
    operated.run(100)
    assert operated.cell.panel._patience() > operated.cell.panel.lease.lease_ns  # what is held ends first
    since, tool = operated.now, Tool(operated)
    operated.run(int(0.4e9 / operated.T), heard=False, each=tool.look)
    assert operated.state == "paused"
    assert tool.fast_ns - since <= STOP_WITHIN - SPARE


@pytest.mark.parametrize(("robot", "plant"), [("gsis-scara", "drives"), ("palletizer-4", "ideal")])
def test_way_home_stands_in_time_too(robot: str, plant: str, tmp_path: Path) -> None:
    slow = {f"axes.{axis}.limits.acceleration": "400 deg/s^2" for axis in ("th1", "th2", "th3")}
    operated = Operated(tmp_path, robot, plant, overrides=slow if plant == "ideal" else None).ready()
    T, n = operated.T, operated.cell.live.robot.n
    assert operated.press("mode", mode="T2")["ok"]
    operated.run(3)
    operated.hold(hold=True, frame="joint", direction=[1.0] + [0.0] * (n - 1))
    operated.run(int(1.0e9 / T))
    operated.hold(hold=True)
    operated.run(int(0.5e9 / T))
    assert operated.press("home")["ok"]
    operated.run(int(0.4e9 / T))
    assert operated.state == "moving"
    since, tool = operated.now, Tool(operated)
    operated.run(int(0.4e9 / T), heard=False, each=tool.look)
    assert operated.state == "ready"
    assert operated.cell.live.controller.alarms == []
    assert tool.fast_ns - since <= STOP_WITHIN - SPARE + T


@pytest.mark.parametrize("robot", ["gsis-scara", "palletizer-4"])
@pytest.mark.parametrize(
    "jog",
    [
        ("joint", [1.0, 1.0, 0.0, 0.0]),
        ("joint", [-1.0, 0.0, 0.0, 0.0]),
        ("base", [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
    ],
)
def test_jog_at_its_full_speed_stands_in_time_too(
    robot: str, jog: tuple[str, list[float]], tmp_path: Path
) -> None:
    """Its reference stood in time, and the arm came after it: 261 ms for the SCARA, 254 ms for the palletizer."""
    operated = Operated(tmp_path, robot, "drives").ready()
    T, controller = operated.T, operated.cell.live.controller
    assert operated.press("mode", mode="T2")["ok"]
    operated.run(3)
    for frame, direction in (("joint", [0.0, 1.0, 0.0, 0.0]), jog):  # away from where it is stretched
        operated.held = {"switch": 0}
        operated.run(int(0.2e9 / T))
        operated.hold(hold=True, frame=frame, direction=direction, speed=1.0)
        operated.run(int(0.5e9 / T))
    assert operated.state == "jogging"
    assert operated.cell.panel.speed > 0.2
    since, tool = operated.now, Tool(operated)
    operated.run(int(0.4e9 / T), heard=False, each=tool.look)
    assert operated.state == "ready"
    assert tool.fast_ns - since <= STOP_WITHIN - SPARE + T
    stood = operated.cell.live.q
    operated.hold(
        hold=True, frame="joint", direction=[-one for one in jog[1][:4]], speed=1.0
    )  # it can be jogged again
    operated.run(3)
    operated.held = {"switch": 0}
    operated.run(3)
    operated.hold(hold=True, frame="joint", direction=[0.0, -1.0, 0.0, 0.0], speed=1.0)
    again = Tool(operated)
    operated.run(int(0.5e9 / T), each=again.look)
    assert np.abs(operated.cell.live.q - stood).max() > 0.01
    assert max(tool.step, again.step) <= 1.1 * T * 1e-9  # no jump of the command
    assert controller.alarms == []


def test_page_that_was_only_late_slows_the_arm_and_its_job_goes_on(tmp_path: Path) -> None:
    operated = moves(tmp_path, "gsis-scara")
    reference = operated.cell.live.controller.reference
    for _ in range(3):
        until_fast(operated, 0.95 * reference.stoppable)
        tool = Tool(operated)
        while operated.state == "running":
            operated.run(1, heard=False, each=tool.look)
        operated.run(2, heard=False, each=tool.look)
        assert operated.state == "pausing"
        assert reference.lead.any()
        operated.run(60, each=tool.look)  # heard again
        assert operated.state == "running"
        assert tool.step <= 1.1 * operated.T * 1e-9
        assert operated.cell.live.controller.alarms == []
    operated.run(200)
    assert not reference.lead.any()


def test_stop_of_a_paused_job_takes_over_where_the_arm_stands(tmp_path: Path) -> None:
    operated = moves(tmp_path, "gsis-scara")
    reference = operated.cell.live.controller.reference
    until_fast(operated, 0.95 * reference.stoppable)
    operated.run(40, heard=False)
    commanded = operated.cell.live.command.q
    assert operated.press("stop")["ok"]
    operated.run(5)
    assert operated.state == "ready"
    np.testing.assert_array_equal(operated.cell.live.command.q, commanded)
    np.testing.assert_array_equal(reference.q, commanded)


def test_ideal_arm_is_stopped_without_a_lead(tmp_path: Path) -> None:
    operated = runs_a_job(tmp_path, "gsis-scara", "AUT")
    until_fast(operated, 0.5)
    reference = operated.cell.live.controller.reference
    playback = reference.playback
    assert playback is not None
    cursor = playback.cursor
    assert cursor is not None
    tool = Tool(operated)
    before = operated.q

    def look() -> None:
        tool.look()
        assert reference.leading is None
        np.testing.assert_array_equal(operated.cell.live.command.q, reference.q)

    operated.run(int(0.3e9 / operated.T), heard=False, each=look)
    assert operated.state == "paused"
    assert np.abs(operated.q - before).max() > 0.02  # it has braked on its way
    assert tool.beside(cursor) < 2e-4  # the path is sampled


PALLETIZER = (
    "th1: -60 deg, th2: 70 deg, th3: -80 deg, th5: 0 deg",
    "th1: 60 deg, th2: 100 deg, th3: -100 deg, th5: 90 deg",
)
NEAR = (
    "A: 0 deg, B: 50 deg, Z: 0 mm, W: 0 deg",
    "A: 0 deg, B: 60 deg, Z: 0 mm, W: 0 deg",
)  # a motion so short that what a stop leaves beside its path does not fade on the way
WAITS = "MOVEJ P1 SPEED 100%\nSET OUT1 ON\nWAIT 0.6 s\nMOVEJ P2 SPEED 100%\nSET OUT1 OFF\nWAIT 0.6 s\n" * 50


def until_left(operated: Operated, left: float) -> Cursor:
    """Play on until so much of a motion is left [s]."""
    playback = operated.cell.live.controller.reference.playback
    assert playback is not None
    for _ in range(20_000):
        operated.run(1)
        cursor = playback.cursor
        if operated.state != "running" or cursor is None or cursor.time == 0.0:
            continue
        if cursor.trajectory.duration - cursor.time <= left * cursor.rate:
            return cursor
    raise AssertionError(operated.state)


def loses_its_page(operated: Operated, left: float) -> Cursor:
    """Play on until so much of a motion is left [s], and lose the page until the arm stands."""
    cursor = until_left(operated, left)
    operated.cell.live.press(Event.PAUSE, hard=True)
    operated.run(int(0.4e9 / operated.T), heard=False)
    assert operated.state == "paused"
    operated.held = {"switch": 0}
    operated.run(2)
    return cursor


def end_of(cursor: Cursor) -> Array:
    return cursor.trajectory.sample(np.array([cursor.trajectory.duration]))[0][0]


def away(operated: Operated, q: Array) -> float:
    """How far the measured tool is from where it is with joints at q (n,) [m]."""
    robot = operated.cell.live.robot
    return float(np.linalg.norm((robot.fkine(operated.q) - robot.fkine(q))[:3, 3]))


def test_arm_that_was_stopped_near_its_point_stands_at_it_before_the_job_goes_on(tmp_path: Path) -> None:
    operated = runs_a_job(tmp_path, "gsis-scara", "AUT", plant="drives", job=WAITS, ways=NEAR)
    controller = operated.cell.live.controller
    reference, beside = controller.reference, 0.0
    for k, left in enumerate((0.02, 0.04, 0.06, 0.08, 0.11, 0.15)):
        cursor = loses_its_page(operated, left)
        beside = max(beside, away(operated, reference.q))
        lit = dict(controller.outputs)
        assert operated.press("resume")["ok"]
        for _ in range(400):
            operated.run(1)
            if controller.outputs != lit:
                break
            assert not (reference.lead.any() and reference.qd.any())  # back on its path before it goes on
        assert controller.outputs != lit, k
        assert not reference.lead.any()
        operated.run(int(0.25e9 / operated.T))
        assert away(operated, end_of(cursor)) < 3e-5
        assert controller.alarms == []
    assert beside > 1e-4  # without this there would be nothing to fade


def test_page_heard_of_again_near_the_end_of_a_motion_does_not_spoil_its_point(tmp_path: Path) -> None:
    operated = runs_a_job(tmp_path, "gsis-scara", "AUT", plant="drives", job=WAITS, ways=NEAR)
    controller = operated.cell.live.controller
    reference, ended_beside = controller.reference, 0
    for left in (0.05, 0.08, 0.11, 0.14):
        until_left(operated, left)
        operated.cell.live.press(Event.PAUSE, hard=True)
        operated.run(2)
        operated.cell.live.press(Event.RESUME)
        lit = dict(controller.outputs)
        while controller.outputs == lit:
            operated.run(1)
            playback = reference.playback
            assert playback is not None
            ended_beside += playback.cursor is None and bool(reference.lead.any())
        assert not reference.lead.any()
        assert controller.alarms == []
    assert ended_beside > 0  # without this there would be nothing to wait for


def test_job_whose_last_motion_was_disturbed_ends_at_its_point(tmp_path: Path) -> None:
    job = "MOVEJ P1 SPEED 100%\nSET OUT1 ON\nWAIT 0.1 s\nMOVEJ P2 SPEED 100%\n"
    operated = runs_a_job(tmp_path, "gsis-scara", "AUT", plant="drives", job=job, ways=NEAR)
    controller = operated.cell.live.controller
    while not controller.outputs:
        operated.run(1)
    cursor = until_left(operated, 0.12)
    operated.cell.live.press(Event.PAUSE, hard=True)
    operated.run(2)
    operated.cell.live.press(Event.RESUME)
    while operated.state == "running":
        operated.run(1)
    assert controller.finished
    np.testing.assert_array_equal(operated.cell.live.command.q, end_of(cursor))


def test_step_back_of_a_stopped_motion_ends_where_its_instruction_began(tmp_path: Path) -> None:
    operated = runs_a_job(tmp_path, "gsis-scara", "AUT", plant="drives", job=WAITS, ways=NEAR)
    for left in (0.2, 0.15, 0.1):
        cursor = loses_its_page(operated, left)
        begin = cursor.trajectory.sample(np.zeros(1))[0][0]
        assert operated.press("step back")["ok"]
        operated.run(1)
        while operated.state == "stepping":
            operated.run(1)
        operated.run(int(0.25e9 / operated.T))
        assert operated.state == "paused"
        assert away(operated, begin) < 1e-4
        assert not operated.cell.live.controller.reference.lead.any()
        assert operated.press("resume")["ok"]
        operated.run(int(1.0e9 / operated.T))


def stops_early(folder: Path) -> Operated:
    """In T2 a page was late in a job, and Stop was pressed while the arm still brakes."""
    operated = runs_a_job(folder, "gsis-scara", "T2", plant="drives")
    until_fast(operated, 0.45)
    while operated.state == "running":
        operated.run(1, heard=False)
    operated.run(1, heard=False)
    assert operated.press("stop")["ok"]
    while operated.state != "ready":
        operated.run(1)
    assert operated.cell.live.controller.reference.leading is not None
    operated.held = {"switch": 0}
    operated.run(1)
    return operated


def test_home_after_an_early_stop_goes_home(tmp_path: Path) -> None:
    operated = stops_early(tmp_path)
    operated.hold(hold=True)
    operated.run(1)
    reference = operated.cell.live.controller.reference
    assert operated.press("home")["ok"]
    assert reference.leading is None
    while operated.state == "moving":
        operated.run(1)
        np.testing.assert_array_equal(operated.cell.live.command.q, reference.q)
    operated.run(int(0.3e9 / operated.T))
    assert away(operated, operated.cell.live.robot.q_home) < 1e-4


def test_jog_after_an_early_stop_follows_its_line(tmp_path: Path) -> None:
    operated = stops_early(tmp_path)
    reference = operated.cell.live.controller.reference
    operated.hold(hold=True, frame="joint", direction=[0.0, 0.0, 0.0, 1.0], speed=1.0)
    operated.run(2)
    assert operated.state == "jogging"
    assert reference.leading is None
    assert not reference.lead.any()


def test_step_after_an_early_stop_begins_where_the_arm_is_told_to_be(tmp_path: Path) -> None:
    operated = stops_early(tmp_path)
    operated.hold(hold=True)
    operated.run(1)
    stood = operated.cell.live.controller.reference.commanded
    step = {"frame": "joint", "direction": [0.0, 0.0, 0.0, 1.0], "length": 0.05}
    assert operated.press("step", **step)["ok"], operated.answers[-1]
    while operated.state == "moving":
        operated.run(1)
    np.testing.assert_allclose(operated.cell.live.command.q, stood + 0.05 * np.eye(4)[3], atol=1e-12)


def test_job_and_point_after_an_early_stop_begin_where_the_arm_is_told_to_be(tmp_path: Path) -> None:
    operated = stops_early(tmp_path)
    controller = operated.cell.live.controller
    reference, stood = controller.reference, controller.reference.commanded
    assert np.abs(stood - reference.q).max() > 1e-4
    assert operated.press("record", name="PX")["ok"], operated.answers[-1]
    assert controller.points is not None
    np.testing.assert_allclose(
        controller.points.position("PX", operated.cell.live.robot, stood), stood, atol=1e-8
    )
    operated.hold(hold=True)
    operated.run(1)
    stood = reference.commanded
    assert operated.press("run")["ok"], operated.answers[-1]
    assert reference.leading is None
    np.testing.assert_array_equal(reference.q, stood)


def test_reference_of_a_stopped_job_is_where_the_arm_stands(tmp_path: Path) -> None:
    operated = stops_early(tmp_path)
    reference = operated.cell.live.controller.reference
    operated.run(int(0.4e9 / operated.T))
    np.testing.assert_array_equal(operated.cell.live.command.q, reference.q)
    assert away(operated, reference.q) < 1e-4


def test_stop_leaves_no_bound_on_the_motion_that_goes_on(tmp_path: Path) -> None:
    operated = moves(tmp_path, "gsis-scara")
    reference = operated.cell.live.controller.reference
    until_fast(operated, 0.3)
    assert reference.playback is not None
    cursor = reference.playback.cursor
    assert cursor is not None
    while operated.state == "running":
        operated.run(1, heard=False)
    operated.run(1, heard=False)
    assert cursor.slopes is not None
    operated.run(int(0.4e9 / operated.T), heard=False)
    assert operated.state == "paused"
    assert cursor.slopes is None


def test_page_that_stays_silent_is_given_up_once(tmp_path: Path) -> None:
    """Its patience grows while the arm slows down; that brings nobody back."""
    operated = runs_a_job(tmp_path, "palletizer-4", "AUT", plant="drives", ways=PALLETIZER)
    reference, states = operated.cell.live.controller.reference, [""]

    def look() -> None:
        if operated.state != states[-1]:
            states.append(operated.state)

    for share in (0.4, 0.6, 0.8, 0.9):
        until_fast(operated, share * reference.stoppable)
        states[:] = ["running"]
        operated.run(int(0.4e9 / operated.T), heard=False, each=look)
        assert states == ["running", "pausing", "paused"]
        operated.held = {"switch": 0}
        operated.run(2)
        assert operated.press("resume")["ok"]
        operated.run(int(0.2e9 / operated.T))


def test_arm_that_still_comes_after_a_motion_that_is_over_stands_in_time_too(tmp_path: Path) -> None:
    job = "MOVEJ P1 SPEED 100%\nWAIT 0.6 s\nMOVEJ P2 SPEED 100%\nWAIT 0.6 s\n" * 50
    operated = runs_a_job(tmp_path, "palletizer-4", "AUT", plant="drives", job=job, ways=PALLETIZER)
    playback = operated.cell.live.controller.reference.playback
    assert playback is not None
    for left in (0.13, 0.11):
        while playback.cursor is None or playback.cursor.time > 0.1 * playback.cursor.trajectory.duration:
            operated.run(1)
        cursor = playback.cursor
        while cursor.trajectory.duration - cursor.time > left * cursor.rate:
            operated.run(1)
        since, tool = operated.now, Tool(operated)
        operated.run(int(0.4e9 / operated.T), heard=False, each=tool.look)
        assert operated.state == "paused"
        assert tool.fast_ns - since <= STOP_WITHIN
        operated.held = {"switch": 0}
        operated.run(2)
        assert operated.press("resume")["ok"]
        operated.run(int(0.5e9 / operated.T))
        assert playback.cursor is None  # it waits
        assert away(operated, end_of(cursor)) < 1e-4


def test_arm_that_comes_after_a_reference_that_stands_still_needs_its_time_to_brake(tmp_path: Path) -> None:
    operated = Operated(tmp_path, plant="drives").ready()
    reference = operated.cell.live.controller.reference
    following, rest = reference.following, np.zeros(4)
    assert following is not None
    assert reference.drive_braking_time(reference.commanded) == pytest.approx(LATE, abs=1e-3)
    speed = np.array([0.5, 0.3, 0.0, 0.0]) * operated.cell.live.limits.speed
    q = reference.commanded - following.lead(speed, rest)
    needed = following.braking_times(q[None], speed[None])[0]
    assert needed > 0.02
    assert reference.drive_braking_time(q) == pytest.approx(LATE + needed)


def test_cell_whose_arm_follows_too_late_for_its_time_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="150 ms is too short for a main period of 28 ms; expected more than"
    ):
        Cell(CellSettings("puma560", "drives", str(tmp_path), stop_ms=150), lambda _: None)


def test_operator_is_told_of_an_arm_that_is_not_led(tmp_path: Path) -> None:
    integral = {"controller.gains.A.position_integral": "5 1/s2"}
    operated = runs_a_job(tmp_path, "gsis-scara", "AUT", plant="drives", overrides=integral)
    operated.run(5)
    assert operated.cell.panel.slowed == [
        "this arm may stand later than 200 ms after its page is lost: its reference cannot lead it (its position loops"
        " have an integral)"
    ]


def test_campaign_of_stops_refuses_plants_that_it_does_not_have(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main_of(["stops", "--plants", "ideal,drive"])
    assert "'drive'; expected one of ideal, drives, bus" in capsys.readouterr().err


@campaign
def test_arm_whose_torques_are_fed_forward_stands_in_time_too(tmp_path: Path) -> None:
    """Fed currents grow over a period to what is told: integrals that were expected to lack none swung for a period."""
    fed = {"controller.feedforward.torque": "100 %"}
    operated = runs_a_job(tmp_path, "gsis-scara", "AUT", plant="drives", overrides=fed)
    until_fast(operated, 0.05)
    controller, T, rng = operated.cell.live.controller, operated.T, np.random.default_rng(0)
    for _ in range(cases(6, 60)):
        until_fast(operated, float(rng.uniform(0.05, 0.95)) * controller.reference.stoppable)
        operated.run(int(rng.uniform(0.0, 0.2) * 1e9 / T))
        since, tool = operated.now, Tool(operated)
        operated.run(int(0.5e9 / T), heard=False, each=tool.look)
        assert tool.fast_ns - since <= STOP_WITHIN - SPARE + T
        operated.held = {"switch": 0}
        operated.run(2)
        assert operated.press("resume")["ok"]
        operated.run(int(0.3e9 / T))
