"""The console: keys in, controller stepped by a fake clock, screen as text; and once in a real terminal."""

from __future__ import annotations

import os
import pty
import random
import select
import shutil
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from servotwin.cli.console import console, drive, make_session
from servotwin.cli.console_screen import screen_text
from servotwin.cli.console_session import MINUS, PLUS, Session
from servotwin.cli.keys import split_keys
from servotwin.control.main.states import MAY_MOVE, POWERED, Mode, State
from servotwin.errors import InputError
from servotwin.jobs.points_file import read_points
from servotwin.jobs.program import SHIPPED

TICK = 8_000_000  # ns


class Bench:
    """A session with hands and a clock."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.now = session.now_ns

    def wait(self, seconds: float) -> None:
        for _ in range(round(seconds * 1e9 / TICK)):
            self.now += TICK
            self.session.tick(self.now)

    def press(self, *keys: str, pause: float = 0.05) -> None:
        for key in keys:
            self.session.key(key)
            self.wait(pause)

    def type(self, text: str) -> None:
        self.press(*text, "enter", pause=0.0)

    @property
    def state(self) -> State:
        return self.session.controller.state

    @property
    def q(self) -> np.ndarray:
        return self.session.live.q.copy()


@pytest.fixture
def job(tmp_path: Path) -> Path:
    for name in ("scara-circle.job", "scara-circle.points.yaml"):
        shutil.copy(SHIPPED / name, tmp_path / name)
    return tmp_path / "scara-circle.job"


@pytest.fixture
def bench(job: Path) -> Bench:
    return Bench(make_session("gsis-scara", str(job), None, {}))


def test_nothing_moves_before_power(bench: Bench) -> None:
    bench.press(*PLUS[:4], *MINUS[:4], "h", "g", "k", pause=0.1)
    np.testing.assert_array_equal(bench.q, bench.session.robot.q_home)
    assert "the drives have no power; press p for power" in bench.session.message
    assert "DISABLED" in screen_text(bench.session)


def test_a_step_moves_one_joint_by_its_length(bench: Bench) -> None:
    bench.press("p")
    bench.press("1", pause=1.0)
    assert bench.state is State.READY
    np.testing.assert_allclose(np.degrees(bench.q), [1.0, 0.0, 0.0, 0.0], atol=1e-9)
    bench.press("q", "3", pause=1.0)
    np.testing.assert_allclose(bench.q, [0.0, 0.0, 1e-3, 0.0], atol=1e-9)


def test_tool_steps_go_along_base_axes(bench: Bench) -> None:
    bench.press("p")
    bench.press("s", "2", "2", "2", pause=1.0)  # out of the stretched pose, 10 deg at a time
    before = bench.session.robot.fkine(bench.q)
    bench.press("f", "1", pause=1.0)
    after = bench.session.robot.fkine(bench.q)
    np.testing.assert_allclose(after[:3, 3] - before[:3, 3], [0.010, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(after[:3, :3], before[:3, :3], atol=1e-9)


def test_held_key_moves_until_it_is_let_go(bench: Bench) -> None:
    bench.press("p", "s", "s")
    assert "jog in joint, held" in screen_text(bench.session)
    for _ in range(40):
        bench.press("1", pause=0.032)
    assert bench.state is State.JOGGING
    going = bench.q[0]
    bench.wait(1.0)
    assert bench.state is State.READY
    assert going < bench.q[0] < going + 0.5
    bench.press("1", pause=0.016)
    assert bench.state is State.JOGGING
    bench.press(" ", pause=0.5)
    assert bench.state is State.READY


def test_points_are_recorded_renamed_and_deleted_in_the_file(bench: Bench, job: Path) -> None:
    file = job.with_name("scara-circle.points.yaml")
    bench.press("p")
    bench.press("1", pause=1.0)
    bench.press("a")
    assert "record as: _" in screen_text(bench.session)
    bench.type("P9")
    assert read_points(file)["P9"].joints is not None
    assert "P9" in screen_text(bench.session)
    bench.press("n")
    bench.type("P9 corner")
    assert "corner" in read_points(file)
    bench.press("d")
    bench.type("corner")
    assert "corner" not in read_points(file)
    bench.press("d")
    bench.type("corner")
    assert "no point 'corner'" in bench.session.message


def test_prompt_can_be_left_and_corrected(bench: Bench) -> None:
    bench.press("a", "x", "y", "backspace")
    assert bench.session.prompt is not None
    assert bench.session.prompt.text == "x"
    bench.press("backspace", "enter")  # nothing is typed: nothing is done
    assert bench.session.prompt is None
    assert bench.state is State.DISABLED


def test_job_runs_to_its_end_and_shows_its_line(bench: Bench) -> None:
    bench.press("p", "m", "m")
    assert bench.session.controller.mode is Mode.PLAY
    bench.press("g", pause=2.0)
    assert bench.state is State.RUNNING
    shown = screen_text(bench.session)
    assert ">   5    MOVEC" in shown
    bench.press("b", pause=1.0)
    assert bench.state is State.PAUSED
    bench.press("b", pause=12.0)
    assert bench.state is State.READY
    ready = bench.session.program.points["ready"]  # type: ignore[union-attr]
    np.testing.assert_allclose(bench.q, ready.vector(bench.session.robot.joint_names), atol=1e-9)


def test_points_taught_since_loading_are_used(bench: Bench) -> None:
    bench.press("p")
    bench.press("1", pause=1.0)
    bench.press("A")
    bench.type("ready")
    bench.press("m", "m", "g", pause=14.0)
    assert bench.state is State.READY
    np.testing.assert_allclose(bench.q, np.radians([1.0, 0.0, 0.0, 0.0]), atol=1e-8)


def test_emergency_stop_takes_the_power_at_once(bench: Bench) -> None:
    bench.press("p", "m", "m")
    bench.press("g", pause=1.5)
    bench.press("esc", pause=0.016)
    assert bench.state is State.EMERGENCY
    assert not bench.session.live.command.enable
    here = bench.q.copy()
    bench.press("g", "1", "h", pause=0.3)
    np.testing.assert_array_equal(bench.q, here)
    bench.press("z", "p", pause=0.1)
    assert bench.state is State.READY


def test_override_stays_within_its_range(bench: Bench) -> None:
    for _ in range(12):
        bench.press("-")
    assert bench.session.controller.override == 1
    bench.press("+", "+")
    assert bench.session.controller.override == 20


def test_inputs_are_switched_by_name(bench: Bench) -> None:
    bench.press("v")
    bench.type("in3")
    assert bench.session.live.inputs == {"IN3": True}
    assert "IN3 ON" in screen_text(bench.session)
    bench.press("v")
    bench.type("IN99")
    assert "no input" in bench.session.message


def test_job_that_is_not_there_is_said(bench: Bench) -> None:
    bench.press("l")
    bench.type("nowhere.job")
    assert "no such file" in bench.session.message
    with pytest.raises(InputError, match="no such file"):
        make_session("gsis-scara", "nowhere.job", None, {})


def test_a_process_that_slept_does_not_make_up_for_it(bench: Bench) -> None:
    bench.press("p", "s", "s")
    bench.session.key("1")
    bench.now += 3_600_000_000_000
    bench.session.tick(bench.now)
    bench.wait(0.5)
    assert bench.q[0] < 0.4
    assert bench.state is State.READY


@pytest.mark.parametrize("name", ["puma560", "palletizer-4"])
def test_other_robots_have_their_keys(name: str) -> None:
    bench = Bench(make_session(name, None, None, {}))
    bench.press("p", pause=0.5)  # brakes open
    start = bench.q.copy()
    bench.press(PLUS[bench.session.robot.n - 1], pause=1.0)
    assert np.degrees(bench.q - start)[-1] == pytest.approx(1.0)
    for joint in bench.session.robot.joint_names:
        assert joint in screen_text(bench.session)
    bench.press("a")
    bench.type("P1")
    assert "no points file" in bench.session.message


def test_emergency_stop_is_taken_while_a_question_is_open(bench: Bench) -> None:
    bench.press("p", "m", "m")
    bench.press("g", pause=1.5)
    bench.press("v", "I")
    assert bench.session.prompt is not None
    bench.press("esc", pause=0.016)
    assert bench.session.prompt is None
    assert bench.state is State.EMERGENCY
    assert not bench.session.live.command.enable


def test_space_stops_a_job_while_a_question_is_open(bench: Bench) -> None:
    bench.press("p", "m", "m")
    bench.press("g", pause=1.5)
    bench.press("v", "I", " ", pause=0.016)
    assert bench.session.prompt is None
    assert bench.state is State.STOPPING
    bench.wait(1.0)
    assert bench.state is State.READY
    bench.press("v", "a", " ", "b")  # an arm that stands: the space is typed
    assert bench.session.prompt is not None
    assert bench.session.prompt.text == "a b"


def test_leaving_stops_the_arm_and_takes_the_power_first(bench: Bench) -> None:
    bench.press("p", "m", "m")
    bench.press("g", pause=1.5)
    bench.press("Q", pause=0.016)
    assert not bench.session.done
    assert bench.state is State.STOPPING
    bench.press("g", "b", "1")  # nothing is taken any more
    bench.wait(1.0)
    assert bench.session.done
    assert bench.state is State.DISABLED
    assert not bench.session.live.command.enable


@pytest.mark.parametrize("error", [EOFError, OSError, KeyboardInterrupt])
def test_terminal_that_is_gone_stops_the_arm(bench: Bench, error: type[BaseException]) -> None:
    bench.press("p", "m", "m")
    bench.press("g", pause=1.5)
    before = bench.q

    def gone(timeout: float) -> list[str]:
        raise error

    def clock() -> int:
        bench.now += TICK
        return bench.now

    drive(bench.session, gone, clock, lambda s: None, lambda seconds: None)
    assert bench.session.done
    assert bench.state is State.DISABLED
    assert (bench.q != before).any()  # it came to rest on its path


def test_go_to_point_leads_to_it_by_one_key(bench: Bench) -> None:
    bench.press("p")
    bench.press("G")
    bench.type("east")
    bench.wait(6.0)
    assert bench.state is State.READY
    points = bench.session.program.points  # type: ignore[union-attr]
    assert points["east"].frame is not None  # a pose in a work frame
    X = points.frame_matrix(points["east"].frame) @ points["east"].pose.matrix  # type: ignore[union-attr]
    np.testing.assert_allclose(bench.session.robot.fkine(bench.q)[:3, 3], X[:3, 3], atol=1e-8)
    bench.press("G")
    bench.type("nowhere")
    assert "no point 'nowhere'" in bench.session.message


def test_renamed_point_is_renamed_in_the_job_and_a_used_one_is_not_deleted_silently(
    bench: Bench, job: Path
) -> None:
    bench.press("n")
    bench.type("east right")
    assert "MOVEC VIA south TO right" in job.read_text()
    assert "TO right" in screen_text(bench.session)
    bench.press("p", "m", "m")
    bench.press("g", pause=14.0)
    assert bench.state is State.READY
    assert not bench.session.controller.alarms
    bench.press("m", "d")
    bench.type("right")
    assert "still used" in bench.session.message
    assert "scara-circle.job:" in bench.session.message


def test_called_file_is_shown_while_it_runs(job: Path) -> None:
    main = job.with_name("main.job")
    main.write_text('MOVEJ ready SPEED 50%\nCALL "scara-circle.job"\n')
    shutil.copy(job.with_name("scara-circle.points.yaml"), main.with_name("main.points.yaml"))
    bench = Bench(make_session("gsis-scara", str(main), None, {}))
    bench.press("p", "m", "m")
    bench.press("g", pause=4.0)
    shown = screen_text(bench.session)
    assert "scara-circle.job" in shown
    assert ">   5    MOVEC" in shown


def test_called_file_is_shown_with_its_folder(job: Path) -> None:
    main, below = job.with_name("main.job"), job.parent / "left"
    below.mkdir()
    main.write_text('MOVEJ ready SPEED 50%\nCALL "left/scara-circle.job"\n')
    shutil.copy(job.with_name("scara-circle.points.yaml"), main.with_name("main.points.yaml"))
    for name in ("scara-circle.job", "scara-circle.points.yaml"):
        shutil.copy(job.with_name(name), below / name)
    bench = Bench(make_session("gsis-scara", str(main), None, {}))
    bench.press("p", "m", "m")
    bench.press("g", pause=4.0)
    assert "left/scara-circle.job" in screen_text(bench.session)


def test_sequence_that_comes_in_parts_is_one_key() -> None:
    from servotwin.cli.keys import Keyboard

    reading, writing = os.pipe()
    try:
        keys = Keyboard(reading)
        os.write(writing, b"\x1b[1;")

        def later() -> None:
            os.write(writing, b"5A\xc3")

        timer = threading.Timer(0.005, later)
        timer.start()
        assert keys.read(1.0) == ["up"]
        timer.join()
        os.write(writing, b"\xa9")
        assert keys.read(1.0) == ["é"]
        os.write(writing, b"\x1b")
        assert keys.read(1.0) == ["esc"]
    finally:
        os.close(reading)
        os.close(writing)


def test_any_keys_never_crash_and_never_move_without_power(bench: Bench) -> None:
    rng = random.Random(7)
    often = [*PLUS[:6], *MINUS[:6], *"pzmgbks", "enter"]
    seldom = [*"789uio hf+-aAdnlv\tX", "esc", "backspace", "up"]
    moved = 0
    for _ in range(4000):
        before, state = bench.q, bench.state
        bench.session.key(rng.choice(often if rng.random() < 0.9 else seldom))
        powered = bench.state in POWERED or state in POWERED
        bench.wait(rng.choice((0.0, 0.008, 0.016, 0.05, 0.3)))
        moved += bool((bench.q != before).any())
        if not powered and bench.state not in MAY_MOVE:
            np.testing.assert_array_equal(bench.q, before)
    screen_text(bench.session, 40)
    assert moved > 100  # otherwise it would protect nothing


def test_loop_ends_when_the_operator_leaves_or_the_terminal_is_gone(bench: Bench) -> None:
    pictures: list[str] = []
    script: Iterator[list[str]] = iter([["p"], [], [], ["1"], [], ["Q"]])

    def clock() -> int:
        bench.now += TICK
        return bench.now

    drive(bench.session, lambda timeout: next(script, []), clock, lambda s: pictures.append(screen_text(s)))
    assert bench.session.done
    assert bench.state is State.DISABLED
    assert any("MOVING" in picture for picture in pictures)

    def gone(timeout: float) -> list[str]:
        raise EOFError

    bench.session.done = bench.session.leaving = False
    drive(bench.session, gone, clock, lambda s: None, lambda seconds: None)
    assert bench.session.done


def test_keys_of_terminals_are_told_apart() -> None:
    keys = ["a", "B", " ", "up", "down", "enter", "backspace"]
    assert split_keys("aB \x1b[A\x1b[1;5B\r\x7f\x1b") == (keys, "\x1b")
    assert split_keys("\x1b[3~\x00é") == (["é"], "")
    assert split_keys("\x1bx") == (["esc", "x"], "")
    assert split_keys("x\x1b[1;") == (["x"], "\x1b[1;")


def test_without_a_terminal_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="needs a terminal"):
        console("gsis-scara", None, None, None)


def test_in_a_real_terminal_it_draws_takes_keys_and_restores_the_settings(job: Path) -> None:
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    program = f"from servotwin.cli.console import console; console('gsis-scara', {str(job)!r}, None, None)"
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "110", "LINES": "40"}
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=slave, stdout=slave, stderr=slave, env=environment
    )
    try:
        assert "DISABLED" in _until(master, "DISABLED")
        os.write(master, b"p")
        assert "READY" in _until(master, "READY")
        os.write(master, b"Q")
        _until(master, "\x1b[?1049l")  # the screen of before
        assert process.wait(20) == 0
        assert termios.tcgetattr(slave)[3] == before[3]
    finally:
        process.kill()
        process.wait()
        os.close(master)
        os.close(slave)


def test_real_terminal_that_is_closed_ends_the_console_without_a_word(job: Path) -> None:
    master, slave = pty.openpty()
    program = f"from servotwin.cli.console import console; console('gsis-scara', {str(job)!r}, None, None)"
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "110", "LINES": "40"}
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=slave, stdout=slave, stderr=subprocess.PIPE, env=environment
    )
    try:
        for keys, word in ((b"", "DISABLED"), (b"p", "READY"), (b"mmg", "RUNNING")):
            os.write(master, keys)
            assert word in _until(master, word)
        os.close(slave)
        os.close(master)
        _, said = process.communicate(timeout=30)
        assert process.returncode == 0
        assert said == b""
    finally:
        process.kill()
        process.wait()


def _until(fd: int, word: str, limit: float = 60.0) -> str:
    seen, end = "", time.monotonic() + limit
    while word not in seen and time.monotonic() < end:
        if select.select([fd], [], [], 0.2)[0]:
            seen += os.read(fd, 65536).decode(errors="ignore")
    return seen
