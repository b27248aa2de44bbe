"""The cell without its process: modes, held keys, reduced speed, points and jobs."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pendant_kinematics import fastest, points_of
from servotwin.control.main.alarms import Alarm, AlarmKind
from servotwin.errors import InputError
from servotwin.jobs.points_file import read_points, robot_path
from servotwin.pendant.cell.enabling import SPARE, STOP_WITHIN
from servotwin.pendant.cell.folder import inside
from servotwin.pendant.cell.picture import HELP, picture
from servotwin.pendant.cell.run import Cell
from servotwin.pendant.cell.setup import CellSettings
from servotwin.pendant.cell.shared import SharedState, make_memory
from servotwin.pendant.page.workbench import Workbench
from tests.campaign import campaign, cases

JOB = "MOVEJ P1 SPEED 50%\nMOVEJ P2 SPEED 50%\nMOVEJ P1 SPEED 50%\n"


class Operated:
    """A cell whose time is counted, with an operator who holds and presses."""

    def __init__(
        self,
        folder: Path,
        robot: str = "gsis-scara",
        plant: str = "ideal",
        stop_ms: int = 200,
        overrides: dict[str, str] | None = None,
    ) -> None:
        self.answers: list[dict[str, Any]] = []
        settings = CellSettings(robot, plant, str(folder), overrides or {}, stop_ms=stop_ms)
        self.cell = Cell(settings, self.answers.append)
        self.now, self.T = 1_000_000_000, self.cell.period_ns
        self.held: dict[str, Any] = {"switch": 0}

    @property
    def state(self) -> str:
        return self.cell.live.controller.state.value

    @property
    def q(self) -> Any:
        return self.cell.live.q

    def press(self, key: str, **words: Any) -> dict[str, Any]:
        self.cell.take({"key": key, "with": words, "number": len(self.answers)})
        return self.answers[-1]

    def hold(self, **state: Any) -> None:
        self.held = {"switch": 1, "hold": False, **state}

    def run(self, periods: int, *, heard: bool = True, each: Callable[[], None] | None = None) -> None:
        for _ in range(periods):
            self.now += self.T
            if heard:
                self.cell.take({**self.held, "at": self.now})
            self.cell.period(self.now)
            if self.state in ("running", "stepping"):
                time.sleep(0.0005)  # plans are made beside
            if each is not None:
                each()

    def ready(self) -> Operated:
        self.run(3)
        assert self.press("enable")["ok"]
        self.run(max(20, 500_000_000 // self.T))  # brakes open
        assert self.state == "ready"
        return self


@pytest.fixture
def operated(tmp_path: Path) -> Operated:
    return Operated(tmp_path).ready()


def jog(axis: int, sign: float = 1.0, n: int = 4) -> dict[str, Any]:
    direction = [0.0] * n
    direction[axis] = sign
    return {"hold": True, "frame": "joint", "direction": direction}


def test_jog_needs_switch_and_key_and_stops_with_either(operated: Operated) -> None:
    operated.held = {"switch": 0, **jog(0)}
    operated.run(30)
    assert operated.state == "ready"
    assert operated.q[0] == pytest.approx(0.0)
    for released in ({"switch": 0}, {"switch": 2}, {"switch": 1, "hold": False, "direction": []}):
        operated.held = {"switch": 0}
        operated.run(2)
        operated.hold(**jog(0))
        operated.run(20)
        assert operated.state == "jogging"
        operated.held = {**jog(0), **released}
        operated.run(1)
        assert operated.state in ("stopping", "ready")
        operated.run(15)
        assert operated.state == "ready"


def test_page_that_is_not_heard_of_stops_the_jog_within_the_lease(operated: Operated) -> None:
    operated.hold(**jog(0))
    operated.run(20)
    assert operated.state == "jogging"
    since = operated.now
    while operated.state != "ready":
        operated.run(1, heard=False)
    assert operated.now - since <= 200_000_000
    operated.run(30)  # heard again, with the switch still held
    assert operated.state == "ready"


def test_change_of_mode_stops_and_needs_the_switch_again(operated: Operated) -> None:
    operated.hold(**jog(0))
    operated.run(20)
    assert operated.press("mode", mode="T2")["ok"]
    operated.run(20)
    assert operated.cell.panel.mode.value == "T2"
    assert operated.state == "ready"
    operated.held = {"switch": 0}
    operated.run(2)
    operated.hold(**jog(0))
    operated.run(10)
    assert operated.state == "jogging"


def test_nothing_is_jogged_or_taught_in_automatic(operated: Operated) -> None:
    operated.press("mode", mode="AUT")
    operated.hold(**jog(0))
    operated.run(20)
    assert operated.state == "ready"
    assert "T1 or T2" in operated.press("record", name="P1")["text"]
    assert "T1 or T2" in operated.press("go to", name="P1")["text"]


def test_points_are_taught_and_a_job_runs_while_switch_and_key_are_held(
    operated: Operated, tmp_path: Path
) -> None:
    assert operated.press("record", name="P1")["ok"]
    operated.hold(**jog(0))
    operated.run(60)
    operated.hold()
    operated.run(20)
    assert operated.press("record", name="P2")["ok"]
    (tmp_path / "pendant.job").write_text(JOB, encoding="utf-8")
    assert operated.press("load", job="pendant.job")["ok"], operated.answers[-1]
    operated.held = {"switch": 0}
    operated.run(2)
    assert "enabling switch" in operated.press("run")["text"]
    operated.hold(hold=True)
    operated.run(2)
    assert operated.press("run")["ok"]
    operated.run(20)
    assert operated.state == "running"
    operated.hold(hold=False)
    operated.run(20)
    assert operated.state == "paused"
    operated.hold(hold=True)
    operated.run(2)
    assert operated.press("resume")["ok"]
    for _ in range(100):  # plans are made beside, which takes its time on a busy machine
        operated.run(100)
        if operated.cell.live.controller.finished:
            break
    assert operated.cell.live.controller.finished
    assert operated.press("rename", name="P2", new="drop")["ok"]
    assert "drop" in (tmp_path / "pendant.job").read_text(encoding="utf-8")
    assert operated.press("delete", name="P1")["ok"]


def test_user_frame_turns_the_jog(operated: Operated, tmp_path: Path) -> None:
    operated.hold(**jog(1))
    operated.run(60)
    operated.hold()
    operated.run(20)
    (tmp_path / "pendant.points.yaml").write_text(
        "format: servotwin-points/1\nrobot: gsis-scara\nframes:\n  table: {yaw: 90 deg}\n", encoding="utf-8"
    )
    operated.press("points")
    before = operated.cell.live.robot.fkine(operated.q)[:3, 3]
    operated.hold(hold=True, frame="user", user="table", direction=[1.0, 0, 0, 0, 0, 0])
    operated.run(25)
    moved = operated.cell.live.robot.fkine(operated.q)[:3, 3] - before
    assert moved[1] > 0.02
    assert abs(moved[0]) < 1e-4


def test_increment_moves_by_its_length(operated: Operated) -> None:
    operated.hold()
    operated.run(3)
    assert operated.press("step", frame="joint", direction=[0, 1.0, 0, 0], length=0.1)["ok"]
    operated.run(60)
    assert operated.q[1] == pytest.approx(0.1, abs=1e-4)


def test_paused_job_steps_back_and_forward_over_its_path(operated: Operated, tmp_path: Path) -> None:
    test_points_are_taught_and_a_job_runs_while_switch_and_key_are_held(operated, tmp_path)
    (tmp_path / "pendant.job").write_text("MOVEJ drop SPEED 50%\nWAIT 5 s\n", encoding="utf-8")
    operated.press("mode", mode="AUT")
    assert operated.press("load", job="pendant.job")["ok"]
    start = operated.q.copy()
    assert operated.press("run")["ok"]
    operated.run(200)
    there = operated.q.copy()
    assert operated.press("pause")["ok"]
    operated.run(30)
    assert operated.press("step back")["ok"]
    operated.run(300)
    np.testing.assert_allclose(operated.q, start, atol=1e-4)
    assert "as far back" in operated.press("step back")["text"]
    assert operated.press("single step")["ok"]
    operated.run(300)
    np.testing.assert_allclose(operated.q, there, atol=1e-4)


def test_menu_of_the_paper(operated: Operated) -> None:
    assert operated.press("menu", number=2)["ok"]
    assert operated.press("menu", number=3)["ok"]
    assert not operated.press("menu", number=4)["ok"]
    assert operated.press("menu", number=-1)["ok"]
    assert operated.state == "disabled"


def test_refused_keys_are_called_as_on_the_page_and_told_what_helps(operated: Operated) -> None:
    def refused(key: str, **words: Any) -> str:
        answer = operated.press(key, **words)
        assert not answer["ok"]
        return str(answer["text"])

    assert refused("pause") == "Pause is not taken: no job runs"
    assert refused("reset") == "Reset is not taken: no alarm is shown"
    operated.hold(**jog(0))
    operated.run(20)
    assert refused("disable") == (
        "Power off is not taken while the arm moves; wait until it stands, or press Stop"
    )
    assert operated.press("emergency stop")["ok"]
    assert refused("enable") == "Power on is not taken after an emergency stop; press Reset first"
    assert refused("menu", number=-1) == "Disable is not taken after an emergency stop; press Reset first"
    assert refused("menu", number=3) == "emergency stop; press Reset, then Power on"
    operated.hold()
    operated.run(5)
    assert refused("home") == "Home is not taken after an emergency stop; press Reset first"
    assert operated.press("reset")["ok"]
    assert refused("go to", name="P1") == "Go is not taken without power; press Power on first"


def test_keys_with_other_words_change_nothing(operated: Operated) -> None:
    for key, words in (
        ("mode", {}), ("mode", {"mode": 3}), ("step", {"frame": "joint"}), ("go to", {"name": ["x"]}),
        ("load", {"job": "../x.job"}), ("load", {"job": 7}), ("override", {"percent": "fast"}),
        ("record", {"name": {}}), ("input", {"name": "IN99", "on": True}),
        ("no such key", {}), ("menu", {"number": []}),
    ):  # fmt: skip
        assert not operated.press(key, **words)["ok"], key
    operated.run(5)
    assert operated.state == "ready"


@campaign
@pytest.mark.parametrize(
    ("robot", "plant"), [("gsis-scara", "ideal"), ("gsis-scara", "drives"), ("puma560", "ideal")]
)
def test_no_point_is_faster_than_250_mm_s_in_t1(robot: str, plant: str, tmp_path: Path) -> None:
    count = cases(40, 3400)
    worst, moved = random_jogs(tmp_path, robot, plant, count, 7)
    assert moved > 0.02 * count
    assert worst <= 0.25


def random_jogs(folder: Path, robot: str, plant: str, count: int, seed: int) -> tuple[float, float]:
    """Jogs at random, one after the other, also changed while they go on; points by a kinematics of the tests' own.

    The speed of the fastest point [m/s], and how far such points went [m].
    """
    rng = np.random.default_rng(seed)
    operated = Operated(folder, robot, plant).ready()
    mechanism, n, T = operated.cell.live.robot.mechanism, operated.cell.live.robot.n, operated.T * 1e-9
    points = points_of(mechanism)
    last, worst, moved = operated.q, 0.0, 0.0

    def look() -> None:
        nonlocal last, worst, moved
        now = operated.q
        speed = fastest(mechanism, last, now, T, points)
        worst, moved, last = max(worst, speed), moved + speed * T, now

    for _ in range(count):
        joints = rng.random() < 0.6
        direction = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], size=n) if joints else np.zeros(6)
        if not joints:
            direction[rng.integers(6)] = rng.choice([-1.0, 1.0])
        frame = "joint" if joints else str(rng.choice(["base", "tool"]))
        if rng.random() < 0.6 or not joints:  # else the key changes while the arm moves
            operated.held = {"switch": 0}
            operated.run(12, each=look)
        operated.hold(
            hold=True, frame=frame, direction=direction.tolist(), speed=float(rng.uniform(0.2, 1.0))
        )
        operated.run(int(rng.integers(4, 60)), each=look)
        if operated.state == "alarm":
            operated.press("reset")
    return worst, moved


@pytest.mark.parametrize(
    "name",
    [
        "../a.job",
        "a/b.job",
        "/etc/a.job",
        ".job",
        "a.txt",
        "a.job\n",
        "",
        7,
        None,
        "x" * 90 + ".job",
        "..job/../a.job",
    ],
)
def test_names_that_lead_elsewhere_are_refused(name: object, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        inside(tmp_path, name)


def test_links_that_lead_elsewhere_are_refused(tmp_path: Path) -> None:
    folder, other = tmp_path / "jobs", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    (other / "a.job").write_text("WAIT 1 s\n", encoding="utf-8")
    (folder / "a.job").symlink_to(other / "a.job")
    (folder / "b.points.yaml").symlink_to(other / "b.points.yaml")
    for name in ("a.job", "b.job"):
        with pytest.raises(InputError, match="leads out"):
            inside(folder, name)


def test_refused_increment_leaves_home_bound_to_its_key(operated: Operated) -> None:
    operated.hold(**jog(0))
    operated.run(200)
    operated.hold()
    operated.run(100)
    operated.hold(hold=True)
    operated.run(2)
    assert operated.press("home")["ok"]
    operated.run(3)
    assert operated.state == "moving"
    assert not operated.press("step", frame="joint", direction=[1.0, 0, 0, 0], length=0.01)["ok"]
    operated.hold(hold=False)  # the key is let go, the switch is held
    operated.run(2)
    assert operated.state in ("stopping", "ready")


def test_jog_that_cannot_be_done_does_not_leave_the_one_before_it_going(operated: Operated) -> None:
    operated.hold(**jog(0))
    operated.run(20)
    assert operated.state == "jogging"
    operated.hold(hold=True, frame="user", direction=[1.0, 0, 0, 0, 0, 0], user="nowhere")
    operated.run(2)
    assert operated.state in ("stopping", "ready")
    assert operated.cell.panel.refused


def test_selector_turned_back_while_the_arm_stops_stays_where_it_was(operated: Operated) -> None:
    operated.hold(**jog(0))
    operated.run(20)
    assert operated.press("mode", mode="AUT")["ok"]
    assert operated.state in ("stopping", "ready")
    assert operated.press("mode", mode="T1")["ok"]
    operated.run(200)
    assert operated.cell.panel.mode.value == "T1"


def test_nothing_begins_in_a_mode_that_is_being_left(operated: Operated) -> None:
    operated.press("mode", mode="T2")
    operated.held = {"switch": 0}
    operated.run(2)
    operated.hold(**jog(0))
    operated.run(60)
    assert operated.state == "jogging"
    operated.press("mode", mode="T1")
    panel = operated.cell.panel
    operated.hold(hold=True)
    for _ in range(300):  # a key at every instant until the arm stands, and at the very one at which it does
        answer = operated.press("home")
        if panel.mode.value == "T1":
            break
        assert not answer["ok"]
        operated.run(1)
    assert panel.mode.value == "T1"
    assert not answer["ok"]  # the switch must be released first in the mode that begins
    assert panel.fastest is operated.cell.live.controller.reference.fastest


WAYS_OF = {
    "gsis-scara": ("A: -60 deg, B: -60 deg, Z: 0 mm, W: 0 deg", "A: 60 deg, B: 60 deg, Z: 50 mm, W: 90 deg"),
    "puma560": (
        "j1: -50 deg, j2: -30 deg, j3: 30 deg, j4: 0 deg, j5: 20 deg, j6: 0 deg",
        "j1: 50 deg, j2: 10 deg, j3: -20 deg, j4: 40 deg, j5: -20 deg, j6: 50 deg",
    ),
    "sixaxis-5kg": (
        "J1: -60 deg, J2: -20 deg, J3: 20 deg, J4: 0 deg, J5: 20 deg, J6: 0 deg",
        "J1: 60 deg, J2: 20 deg, J3: -10 deg, J4: 50 deg, J5: -30 deg, J6: 70 deg",
    ),
}


@pytest.mark.parametrize(
    ("robot", "mode", "held"),
    [
        ("puma560", "T1", {"frame": "base", "direction": [1, 0, 0, 0, 0, 0]}),
        ("puma560", "T2", {"frame": "base", "direction": [1, 0, 0, 0, 0, 0]}),
        ("sixaxis-5kg", "T2", {"frame": "joint", "direction": [1, 1, 0, 0, 0, 0]}),
    ],
)
def test_jog_stands_200_ms_after_its_page_was_lost(
    robot: str, mode: str, held: dict[str, Any], tmp_path: Path
) -> None:
    operated = Operated(tmp_path, robot).ready()
    first = {"frame": "joint", "direction": [0, -1, 1, 0, -1, 0]}  # away from the singular home
    for selected, jogged, seconds in (("T2", first, 1.0), (mode, held, 0.6)):
        operated.held = {"switch": 0}
        operated.run(int(0.5e9 / operated.T))
        assert operated.press("mode", mode=selected)["ok"]
        operated.run(2)
        operated.hold(hold=True, **jogged)
        operated.run(int(seconds * 1e9 / operated.T))
    assert operated.state == "jogging"
    assert operated.cell.live.command.qd.any()
    operated.run((STOP_WITHIN - SPARE) // operated.T, heard=False)
    assert not operated.cell.live.command.qd.any()


def runs_a_job(
    folder: Path,
    robot: str,
    mode: str,
    stop_ms: int = 200,
    plant: str = "ideal",
    *,
    job: str = "MOVEJ P1 SPEED 100%\nMOVEJ P2 SPEED 100%\n" * 50,
    ways: tuple[str, str] | None = None,
    overrides: dict[str, str] | None = None,
) -> Operated:
    """A cell in which a job goes to and fro at full speed, its page heard of."""
    places = ways or WAYS_OF[robot]
    points = "".join(f"  P{k + 1}: {{joints: {{{way}}}}}\n" for k, way in enumerate(places))
    (folder / "pendant.points.yaml").write_text(
        f"format: servotwin-points/1\nrobot: {robot}\npoints:\n{points}", encoding="utf-8"
    )
    (folder / "pendant.job").write_text(job, encoding="utf-8")
    operated = Operated(folder, robot, plant, stop_ms, overrides).ready()
    assert operated.press("mode", mode=mode)["ok"]
    assert operated.press("load", job="pendant.job")["ok"]
    operated.run(2)
    operated.hold(hold=True)
    operated.run(2)
    assert operated.press("run")["ok"], operated.answers[-1]
    return operated


def until_fast(operated: Operated, share: float) -> None:
    """Play on until a joint has a share of its largest speed."""
    speed = operated.cell.live.limits.speed
    for _ in range(20_000):
        operated.run(1)
        if (np.abs(operated.cell.live.command.qd) / speed).max() >= share:
            return
    raise AssertionError(operated.state)


@campaign
@pytest.mark.parametrize("mode", ["T2", "AUT"])
@pytest.mark.parametrize("robot", list(WAYS_OF))
def test_job_at_full_speed_stands_200_ms_after_its_page_was_heard_of(
    robot: str, mode: str, tmp_path: Path
) -> None:
    operated, rng = runs_a_job(tmp_path, robot, mode), np.random.default_rng(11)
    longest, fastest_share = 0, 0.0
    for _ in range(cases(6, 100)):
        until_fast(operated, float(rng.uniform(0.1, 0.8)))
        operated.run(int(rng.uniform(0.0, 0.2) * 1e9 / operated.T))
        since, gentle = operated.now, rng.random() < 0.3
        if gentle:
            operated.press("pause")
        qd = np.abs(operated.cell.live.command.qd)
        fastest_share = max(fastest_share, float((qd / operated.cell.live.limits.speed).max()))
        while operated.cell.live.command.qd.any():
            operated.run(1, heard=False)
            assert operated.now - since < 1_000_000_000
        longest = max(longest, operated.now - since)
        while operated.state != "paused":
            operated.run(1, heard=False)
        operated.held = {"switch": 0}
        operated.run(2)
        operated.hold(hold=True)
        operated.run(2)
        assert operated.state == "paused"  # it goes on when somebody says so, not when the page is back
        assert operated.cell.live.controller.alarms == []
        assert operated.press("resume")["ok"]
    print(f"{robot}, {mode}: {100 * fastest_share:.0f} % of a speed, longest {longest * 1e-6:.0f} ms")
    assert longest <= 200_000_000


def test_full_disk_leaves_points_and_jobs_as_they_were(
    operated: Operated, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert operated.press("record", name="P1")["ok"]
    bench = Workbench(CellSettings("gsis-scara", "ideal", str(tmp_path)), operated.cell.live.robot)
    bench.save("pendant.job", "MOVEJ P1\n")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for key, words in (
        ("record", {"name": "P2"}),
        ("record", {"name": "P1", "replace": True}),
        ("rename", {"name": "P1", "new": "drop"}),
        ("delete", {"name": "P1"}),
    ):
        answer = operated.press(key, **words)
        assert not answer["ok"]
        assert answer["text"] == "pendant.points.yaml: cannot be written: No space left on device"
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        bench.save("pendant.job", "MOVEJ P2\n")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    monkeypatch.undo()
    assert operated.press("record", name="P2")["ok"]  # what was not taught then can be taught now
    assert operated.press("rename", name="P1", new="drop")["ok"]


def test_page_that_was_only_late_slows_its_job_and_does_not_stop_it(tmp_path: Path) -> None:
    operated = runs_a_job(tmp_path, "gsis-scara", "AUT")
    for key in ("", "pause", "seat"):
        until_fast(operated, 0.85)
        unheard = 0
        while operated.state == "running":
            operated.run(1, heard=False)
            unheard += 1
            assert unheard < 20
        assert operated.state == "pausing"
        if key:
            operated.press(key)
        operated.run(1)  # heard again while it brakes
        assert operated.state == ("pausing" if key else "running")
        operated.run(40)
        assert operated.state == ("paused" if key else "running")  # who pressed a key meanwhile has decided
        assert operated.cell.live.controller.alarms == []
        if key:
            assert operated.press("resume")["ok"]


def test_a_job_is_slowed_for_the_time_to_stand_and_says_so_unless_that_is_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = ", J2: 0 deg, J3: 0 deg, J4: 0 deg, J5: 30 deg, J6: 0 deg"
    monkeypatch.setitem(WAYS_OF, "sixaxis-5kg", (f"J1: -150 deg{rest}", f"J1: 150 deg{rest}"))
    fastest = []
    for stop_ms in (150, 1000):
        operated = runs_a_job(tmp_path, "sixaxis-5kg", "AUT", stop_ms)
        speeds: list[float] = []
        said: set[str] = set()

        def look(operated: Operated = operated, speeds: list[float] = speeds, said: set[str] = said) -> None:
            qd = np.abs(operated.cell.live.command.qd)
            speeds.append(float((qd / operated.cell.live.limits.speed).max()))
            said.update(operated.cell.panel.slowed)

        operated.run(3000, each=look)
        fastest.append(max(speeds))
        words = " ".join(said)
        assert ("the arm must stand 150 ms after its page is lost" in words) == (stop_ms == 150)
    assert fastest[1] > 0.85
    assert fastest[0] == pytest.approx(0.078 * 2.0 * 15.708 / 4.363, rel=0.01)  # braking time, limits of J1


@pytest.mark.parametrize("stop_ms", [0, 149, 5001])
def test_a_time_to_stand_that_cannot_be_is_refused(stop_ms: int) -> None:
    with pytest.raises(InputError, match="expected 150 ms to 5 s"):
        CellSettings("gsis-scara", stop_ms=stop_ms)


def test_picture_of_a_job_and_its_alarm_names_files_without_their_folder(operated: Operated) -> None:
    cell = operated.cell
    folder = cell.files.folder
    (folder / "x.job").write_text("WAIT 0.05 s\nWAITFOR IN1 ON TIMEOUT 0.05 s\n", encoding="utf-8")
    shown: list[dict[str, Any]] = []

    def look() -> None:
        text = picture(cell.panel, 1, operated.now, {})
        assert str(folder).encode() not in text
        shown.append(json.loads(text))

    assert operated.press("load", job="x.job")["ok"]
    assert operated.press("mode", mode="AUT")["ok"]
    operated.run(50)
    assert operated.press("run")["ok"], operated.answers[-1]
    operated.run(200, each=look)
    assert "x.job" in {p["file"] for p in shown}
    controller = cell.live.controller
    controller.alarms.append(Alarm(AlarmKind.PROGRAM_ERROR, f"{folder}/x.job:2:1: no such point", 0, line=2))
    look()
    assert shown[-1]["alarms"][-1]["text"] == "x.job:2:1: no such point"


def test_every_kind_of_alarm_has_words_about_what_helps() -> None:
    assert set(HELP) == set(AlarmKind)


@pytest.mark.parametrize(("folder", "named"), [(".", "arm.yaml"), ("jobs", "../arm.yaml")])
def test_points_name_a_robot_file_nearby_by_its_way_so_that_both_can_move(
    tmp_path: Path, folder: str, named: str
) -> None:
    (tmp_path / "arm.yaml").write_text("format: servotwin/1\nname: arm\nextends: gsis-scara\n")
    (tmp_path / "jobs").mkdir()
    operated = Operated(tmp_path / folder, robot=str(tmp_path / "arm.yaml"))
    operated.run(1)
    operated.press("record", name="P1")
    points = read_points(tmp_path / folder / "pendant.points.yaml")
    assert points.robot == named
    assert Path(robot_path(points)).resolve() == tmp_path / "arm.yaml"


# --- the scope --------------------------------------------------------------------------------------


def test_signals_of_the_scope_have_names_that_differ_and_units_as_people_write_them(tmp_path: Path) -> None:
    signals = Operated(tmp_path, plant="drives").cell.scope.signals
    names = [signal.name for signal in signals]
    assert len(set(names)) == len(names)
    assert {"A speed", "A motor speed"} <= set(names)
    assert not any("_" in signal.unit for signal in signals)


def test_samples_of_a_pendant_that_ran_for_days_keep_their_instants() -> None:
    state = SharedState(make_memory(), 2)
    times = 3 * 86400.0 + 1e-3 * np.arange(50)
    state.add(np.column_stack([times, times]))
    first, rows = state.since(0, 50)
    assert first == 0
    np.testing.assert_array_equal(rows[:, 0], times)
