"""Lines and tables that commands print, against the data they come from; units are converted here."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servotwin
from seen import numbers, printed_rows, rounds_to
from servotwin.cli import job_optimal, job_run
from servotwin.cli import simulate as command
from servotwin.cli.main import main
from servotwin.description.load import read_description
from servotwin.robot.load import load_robot
from servotwin.simulation import job_run as engine
from servotwin.simulation.results.job_log import JobLog, LogEntry
from servotwin.simulation.results.result import Result
from synthetic_result import RATED, synthetic_result

Capture = pytest.CaptureFixture[str]
RPM, DEG, MM, UM = 30.0 / math.pi, 180.0 / math.pi, 1e3, 1e6
SETTLED = {"A": 0.0625, "B": 0.0925, "Z": 0.071, "W": 0.0}


# --- simulate --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def result() -> Result:
    made = synthetic_result(201)
    axes = [
        {
            **axis,
            "joint_settling_s": SETTLED[axis["joint"]],
            "joint_settling_band": 5e-5 if axis["joint"] == "Z" else 5e-4,
            "joint_error_unit": "m" if axis["joint"] == "Z" else "rad",
        }
        for axis in made.summary["axes"]
    ]
    visits = [
        {"visits": 7, "accuracy_m": 3.4e-5, "repeatability_m": 1.2e-5, "target_m": [0, 0, 0], "rest_s": 0.1}
    ]
    bus = {
        "voltage_min_V": 61.25, "voltage_max_V": 79.5, "voltage_limit_V": 90.0, "overvoltage": None,
        "brake_resistor_peak_W": 543.0, "brake_resistor_mean_W": 57.3,
    }  # fmt: skip
    numbers = {"settling_s": 0.0942, "wall_s": 0.0731, "real_time_factor": 19.15, "compile_s": 12.34}
    numbers |= {"tip_error_final_m": 4.27e-5, "tip_error_max_m": 1.83e-3}
    return replace(
        made, summary={**made.summary, **numbers, "axes": axes, "repeatability": visits, "bus": bus}
    )


def simulated(
    result: Result, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> tuple[str, list[str]]:
    monkeypatch.setattr(servotwin, "simulate", lambda scenario, **options: result, raising=False)
    assert command.simulate("scara-a-axis-100deg", str(folder), None, None, report=False) == 0
    text = capsys.readouterr().out
    return text, text.splitlines()


def line_with(lines: list[str], *words: str) -> str:
    """The one line with all these words."""
    (found,) = [line for line in lines if all(word in line for word in words)]
    return found


def test_motor_table_of_simulate_is_the_summary(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    text, _ = simulated(result, tmp_path, monkeypatch, capsys)
    for name, rated in RATED.items():
        (row,) = printed_rows(text, name)
        torque, w, i = (
            result.signals[f"motor_{name}_{key}"] for key in ("torque_N_m", "speed_rad_per_s", "current_A")
        )
        peak, rms = float(np.abs(torque).max()), math.sqrt(float(np.mean(torque**2)))
        expected = [peak, rms, rated, 100.0 * peak / rated, 100.0 * rms / rated]
        expected += [RPM * float(np.abs(w).max()), float(np.abs(i).max())]
        for cell, value in zip(row[1:], expected, strict=True):
            assert rounds_to(cell, value), (row, value)


def test_lines_of_simulate_are_the_summary(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    _, lines = simulated(result, tmp_path, monkeypatch, capsys)
    assert numbers(line_with(lines, "tip error")) == [0.0427, 1.83]  # mm, at the end and at most
    assert numbers(line_with(lines, "settled", "94.2")) == [94.2]
    slowest = line_with(lines, "joints", "B last")
    assert numbers(slowest) == [92.5, 0.029]  # ms; 5e-4 rad in degrees
    assert numbers(line_with(lines, "accuracy")) == [7.0, 0.034, 0.012]  # mm, mm
    assert numbers(line_with(lines, "energy balance")) == [3e-11]
    assert numbers(line_with(lines, "bus voltage")) == [61.25, 79.5, 543.0, 57.3]
    assert numbers(line_with(lines, "real time")) == [19.1, 1.4, 0.0731]
    assert numbers(line_with(lines, "compiled")) == [12.3]


def test_joints_of_simulate_that_settle_last_or_never_are_named_with_their_band(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    axes = [
        {**axis, "joint_settling_s": 0.2 if axis["joint"] == "Z" else 0.1} for axis in result.summary["axes"]
    ]
    run = replace(result, summary={**result.summary, "axes": axes})
    _, lines = simulated(run, tmp_path, monkeypatch, capsys)
    assert numbers(line_with(lines, "joints", "Z last")) == [200.0, 0.05]  # ms, mm
    axes = [{**axis, "joint_settling_s": None if axis["joint"] in "AZ" else 0.1} for axis in axes]
    run = replace(result, summary={**result.summary, "axes": axes})
    _, lines = simulated(run, tmp_path, monkeypatch, capsys)
    assert numbers(line_with(lines, "joints", "not settle")) == [0.029, 0.05]


# --- job plan --------------------------------------------------------------------------------------


def test_rows_of_job_plan_are_the_data_of_its_json(capsys: Capture) -> None:
    assert job_run.plan("scara-line", None, None, json=True) == 0
    data = json.loads(capsys.readouterr().out)
    assert job_run.plan("scara-line", None, None) == 0
    text = capsys.readouterr().out
    steps = data["instructions"]
    shown = [line for line in text.splitlines() if line[:1].isdigit()]
    assert len(shown) == len(steps)
    for line, step in zip(shown, steps, strict=True):
        assert int(line.split()[0]) == step["line"]
        tail = line.rpartition("%")[2] if "%" in line else line.partition(step["instruction"])[2]
        values = [step["start_s"], step["duration_s"]]
        optional = (("length_m", MM), ("top_tool_speed_m_per_s", 1.0), ("deviation_m", UM))
        optional += (("pulse_deviation_m", UM), ("chord_error_m", UM))
        values += [factor * step[key] for key, factor in optional if step[key] is not None]
        assert len(tail.split()) == len(values), line
        for cell, value in zip(tail.split(), values, strict=True):
            assert rounds_to(cell, value), (line, value)
        for limit in step["limits_reached"]:
            assert f"{limit['axis'] or ''} {limit['what']} {100 * limit['share']:.0f} %".strip() in line
    lines = text.splitlines()
    assert rounds_to(line_with(lines, "cycle time").rpartition(":")[2], data["duration_s"])
    for key, word in (("chord_error_m", "between their samples"), ("pulse_deviation_m", "pulses are off")):
        most = max(step[key] for step in steps if step[key] is not None)
        assert rounds_to(line_with(lines, word), UM * most)


def test_rows_of_time_optimal_plan_are_the_data_of_its_json(capsys: Capture) -> None:
    assert job_optimal.plan("scara-line", None, None, json=True) == 0
    data = json.loads(capsys.readouterr().out)
    assert job_optimal.plan("scara-line", None, None) == 0
    text = capsys.readouterr().out
    shown = [line for line in text.splitlines() if line[:1].isdigit()]
    assert len(shown) == len(data["paths"])
    for line, path in zip(shown, data["paths"], strict=True):
        planned, optimal, ratio = line.split()[-3:]
        assert rounds_to(planned, path["planned_s"])
        assert rounds_to(optimal, path["time_optimal_s"])
        assert rounds_to(ratio, path["time_optimal_s"] / path["planned_s"])
        for item in path["limited_by"][:4]:
            assert f"{item['what']} {item['axis']} {100 * item['share_of_time']:.0f} %" in line
    last = line_with(text.splitlines(), "cycle time")
    assert numbers(last)[-2:] == pytest.approx(
        [data["duration_s"], data["time_optimal_duration_s"]], abs=5.1e-4
    )


# --- job run ---------------------------------------------------------------------------------------


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Callable[[], tuple[Result, str]]:
    def run() -> tuple[Result, str]:
        rehearsed = engine.rehearse("scara-line")
        result = synthetic_result(1401)
        limits = (("A", 1.0, 0.8), ("B", 0.3, 0.9), ("Z", 0.0, 0.0), ("W", 0.0, 0.0))
        entries = (
            LogEntry(1, 3, "MOVEJ ready", 0.05, 0.5, 3.0, 1e-4, limits),
            LogEntry(2, 7, "WAIT 0.1 s", 0.5, 0.6),
            LogEntry(3, 4, "MOVEJ left", 0.6, 1.1, 5.0, 1e-4, limits),
            LogEntry(4, 7, "WAIT 0.1 s", 1.1, 1.32),
        )
        log = JobLog("made-up", entries, (), (), True, 1.27, 8.0, "ready")
        made = engine.JobRun(result, log, rehearsed.commands, rehearsed.player)
        monkeypatch.setattr(engine, "run_job", lambda *words, **options: made)
        assert job_run.run("scara-line", None, str(tmp_path / "out"), None, None, report=False) == 0
        return result, capsys.readouterr().out

    return run


def test_rows_and_lines_of_job_run_are_those_of_its_steps(
    ran: Callable[[], tuple[Result, str]], tmp_path: Path
) -> None:
    result, text = ran()
    steps: list[dict[str, Any]] = json.loads((tmp_path / "out" / "instructions.json").read_text())
    t, joules = result.signals["time_s"], result.signals["bus_energy_J"]
    spans = {3: [(0.05, 0.5)], 4: [(0.6, 1.1)], 7: [(0.5, 0.6), (1.1, 1.32)]}
    total = 0.0
    for line, times in spans.items():
        (row,) = printed_rows(text, str(line))
        taken = sum(float(np.diff(np.interp(span, t, joules))[0]) for span in times)
        total += taken
        assert int(row[2]) == len(times)
        assert rounds_to(row[3], sum(b - a for a, b in times))
        assert rounds_to(row[4], taken)
        own = [step for step in steps if step["line"] == line]
        keys = (("off_path_max_m", MM), ("chord_error_m", UM), ("pulse_deviation_m", UM))
        wanted = [[factor * step[key] for step in own if step[key] is not None] for key, factor in keys]
        shown = [max(values) for values in wanted if values]
        assert len(row[5:]) == len(shown)
        assert all(rounds_to(cell, value) for cell, value in zip(row[5:], shown, strict=True)), (row, shown)
    lines = text.splitlines()
    assert numbers(line_with(lines, "cycle time")) == [1.27]
    assert rounds_to(line_with(lines, "energy of a cycle"), total)
    assert numbers(line_with(lines, "real time")) == [20.0, 1.4, 0.07]


# --- info ------------------------------------------------------------------------------------------


def printed(capsys: Capture, *words: str) -> str:
    assert main(words) == 0
    return capsys.readouterr().out


def test_tables_of_info_are_the_robot_file_in_the_units_people_use(capsys: Capture) -> None:
    text = printed(capsys, "info", "gsis-scara")
    description = read_description("gsis-scara")
    for name, axis in description.axes.items():
        limits, drive = printed_rows(text, name)[:2]
        factor, unit = (MM, "mm") if axis.prismatic else (DEG, "deg")
        assert numbers(limits[3].replace(" to ", " ")) == pytest.approx(
            [factor * q for q in axis.limits.position]
        )
        assert limits[3].endswith(unit)
        assert numbers(limits[4]) == pytest.approx([factor * axis.limits.speed])
        assert limits[4].endswith(f"{unit}/s")
        assert rounds_to(limits[6], axis.link.mass)
        motor = axis.motor
        assert motor is not None
        values = (motor.rated_output, RPM * motor.rated_speed, motor.rated_torque, motor.torque_constant)
        for cell, value in zip(drive[4:], (*values, motor.rotor_inertia), strict=True):
            assert float(cell) == pytest.approx(value, rel=5e-4)
    lines = text.splitlines()
    assert numbers(line_with(lines, "reach")) == [650.0, -150.0, 0.0]  # mm: 350 + 300 of Table 1, quill 150
    assert rounds_to(line_with(lines, "kg moving"), 16.81 + 8.71 + 0.3 + 0.97)
    assert numbers(line_with(lines, "periods")) == [16.0, 1.6, 1.0, 0.2]
    assert numbers(line_with(lines, "bus ")) == [75.0]


def test_payload_and_leads_of_info_are_in_kilograms_and_millimetres(capsys: Capture) -> None:
    lines = printed(capsys, "info", "gsis-scara", "--set", "variables.load=4 kg").splitlines()
    assert numbers(line_with(lines, "kg moving")) == pytest.approx([30.79, 4.0])
    changed = ("--set", "axes.Z.gear.ratio=null", "--set", "axes.Z.gear.lead=8 mm")
    text = printed(capsys, "info", "gsis-scara", *changed)
    assert numbers(printed_rows(text, "Z")[1][2]) == [8.0]


# --- equations -------------------------------------------------------------------------------------


def evaluated(text: str, values: dict[str, float]) -> dict[str, float]:
    """The left sides of all printed equations whose right sides are known by now, in their order."""
    known = dict(values)
    functions = {"sin": math.sin, "cos": math.cos, "__builtins__": {}}
    for name, right in re.findall(r"(?m)^  (\w+) = (.+)$", text):
        code = re.sub(r"(?<=[\w)]) +(?=[\w(])", "*", right).replace("^", "**")
        with contextlib.suppress(NameError, SyntaxError):
            known[name] = float(eval(code, functions, known))  # noqa: S307 -- text of our own, no builtins
    return known


@pytest.mark.parametrize("name", ["gsis-scara", "met-two-link", "puma560"])
def test_printed_equations_and_values_give_the_torques_of_the_robot(name: str, capsys: Capture) -> None:
    """Symbols, constants and equations are read as printed and evaluated; the robot is computed recursively."""
    text = printed(capsys, "equations", name)
    robot = load_robot(name)
    rng = np.random.default_rng(11)
    q, qd, qdd = rng.uniform(-1.0, 1.0, (3, robot.n))
    values = {
        f"q{i + 1}{d}": float(x[i]) for x, d in ((q, ""), (qd, "d"), (qdd, "dd")) for i in range(robot.n)
    }
    section = text.partition("Symbols\n")[2].partition("Constants\n")[0]
    for line in section.splitlines():
        row = re.split(r"\s{2,}", line.strip())
        if len(row) == 4 and row[0] != "symbol":
            values[row[0]] = float(row[3])
    known = evaluated(text, values)
    stated = dict(re.findall(r"(?m)^  (K\d+) +([-+.\de]+)$", text))
    assert stated
    for constant, value in stated.items():
        assert known[constant] == pytest.approx(float(value), rel=1e-7), constant
    tau = robot.rne(q, qd, qdd)
    scale = np.abs(tau).max()
    assert [known[f"tau{i + 1}"] for i in range(robot.n)] == pytest.approx(list(tau), abs=1e-6 * scale)
    M, X = robot.inertia(q), robot.fkine(q)
    for i in range(robot.n):
        for j in range(i, robot.n):
            assert known.get(f"M{i + 1}{j + 1}", 0.0) == pytest.approx(M[i, j], abs=1e-6 * M.max())
    for i in range(3):
        for j in range(4):
            assert known[f"T{i + 1}{j + 1}"] == pytest.approx(X[i, j], abs=1e-6)
    energy = 0.5 * float(qd @ M @ qd)
    assert known["T"] == pytest.approx(energy, rel=1e-6)
