"""Results as tables of pandas or polars: ``result.to_frame()``. Neither is needed by anything else."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.description.display import DEG
from servotwin.errors import InputError, ServotwinError

if TYPE_CHECKING:
    from servotwin.control.servo.state_feedback_design import StateFeedbackDesign
    from servotwin.description.sheets.catalogue import Catalogue
    from servotwin.design.accuracy.predict import Accuracy
    from servotwin.design.calibration.calibration_result import Calibration
    from servotwin.design.line_test import LineTest
    from servotwin.design.model_study import ModelStudy
    from servotwin.design.sizing.result import Sizing
    from servotwin.design.statics import Statics
    from servotwin.design.tuning import Tuning
    from servotwin.design.workspace.workspace import Workspace
    from servotwin.fieldbus.controller.run import ControlRun
    from servotwin.fieldbus.robot.session import ServedDrives
    from servotwin.hil.result import SubstitutionResult
    from servotwin.motion.optimal.result import OptimalMotion
    from servotwin.report.drawn_calibration import DrawnPlan
    from servotwin.robot.derive import RobotEquations
    from servotwin.robot.robot import Robot
    from servotwin.simulation.job_plan import JobPlan
    from servotwin.simulation.job_run import JobRun
    from servotwin.simulation.results.result import Result
    from servotwin.simulation.scenario.scenario import Scenario

LIBRARIES = ("pandas", "polars")
Rows = Sequence[Mapping[str, Any]]


def frame(columns: Mapping[str, Any], library: str | None = None) -> Any:
    """Columns of equal length as a DataFrame; of pandas if it is installed and no other one is asked for."""
    if library is not None and library not in LIBRARIES:
        raise InputError(f"'{library}' is no library of tables; expected pandas or polars", field="library")
    for name in LIBRARIES if library is None else (library,):
        if importlib.util.find_spec(name) is not None:
            return importlib.import_module(name).DataFrame(dict(columns))
    wanted = "pandas or polars" if library is None else library
    raise ServotwinError(
        f"to_frame needs {wanted}, which is not installed: pip install {library or 'pandas'}"
    )


def row_frame(rows: Rows, library: str | None = None) -> Any:
    """Rows as a DataFrame with all of their keys: an axis that slides has limits of its own names."""
    keys = dict.fromkeys(key for row in rows for key in row)
    return frame({key: [row.get(key) for row in rows] for key in keys}, library)


def of_rows(subject: Any, library: str | None = None) -> Any:
    """Of an object with ``rows()``."""
    return row_frame(subject.rows(), library)


def of_signals(result: Result, pattern: str = "*", *, library: str | None = None) -> Any:
    """Signals of a run, a row for each recorded instant; ``pattern`` chooses some, 'motor_A_*'."""
    from servotwin.simulation.results.result import matching_signals, no_such_signal

    names = matching_signals(pattern, result.signals)
    if not names:
        raise InputError(no_such_signal(pattern, list(result.signals)), field="pattern")
    chosen = names if "time_s" in names else ["time_s", *names]
    return frame({name: result.signals[name] for name in chosen}, library)


def of_robot(robot: Robot, library: str | None = None) -> Any:
    """Joints of a robot with their limits, in SI."""
    return row_frame(joint_rows(robot), library)


def joint_rows(robot: Robot) -> list[dict[str, Any]]:
    """Joints and their limits; None where there is none."""

    def finite(value: float) -> float | None:
        return float(value) if np.isfinite(value) else None

    limits = robot.limits
    return [
        {
            "joint": name, "unit": unit, "min": finite(limits.q_min[i]), "max": finite(limits.q_max[i]),
            "speed": finite(limits.qd_max[i]), "effort": finite(limits.tau_max[i]), "home": float(robot.q_home[i]),
        }
        for i, (name, unit) in enumerate(zip(robot.joint_names, robot.joint_units, strict=True))
    ]  # fmt: skip


def of_scenario(scenario: Scenario, library: str | None = None) -> Any:
    """The moves of a scenario."""
    return row_frame(move_rows(scenario), library)


def move_rows(scenario: Scenario) -> list[dict[str, Any]]:
    """A row for each move: its fields as texts and SI numbers."""
    return [
        {
            key: ", ".join(f"{k} {v:.6g}" for k, v in value.items()) if isinstance(value, dict) else value
            for key, value in move.items()
        }
        for move in scenario.plain()["move"]
    ]


def of_job(run: JobRun, library: str | None = None) -> Any:
    """Instructions that were carried out, with time, energy and deviation."""
    return row_frame(instruction_rows(run), library)


def instruction_rows(run: JobRun) -> list[dict[str, Any]]:
    """A row for each instruction that was carried out."""
    from servotwin.report.job_story import story_of

    return [
        {
            "line": step.done.line, "instruction": step.done.said, "start_s": step.done.begin_s,
            "duration_s": step.done.end_s - step.done.begin_s, "length_m": step.done.length_m,
            "top_speed_m_per_s": step.done.top_speed, "energy_J": step.energy_J, "off_path_m": step.off_path_m,
            "limits_met": ", ".join(step.met),
        }
        for step in story_of(run).steps
    ]  # fmt: skip


def of_plan(plan: JobPlan, library: str | None = None) -> Any:
    """Paths of a planned job."""
    return row_frame(path_rows(plan), library)


def path_rows(plan: JobPlan) -> list[dict[str, Any]]:
    """A row for each path from rest to rest."""
    return [
        {
            "lines": "-".join(dict.fromkeys((str(path.lines[0]), str(path.lines[-1])))), "moves": path.text,
            "planned_s": path.planned_s, "time_optimal_s": path.optimal_s,
            "limited_by": ", ".join(f"{i.what} {i.axis}".strip() for i in path.limiting[:3]),
        }
        for path in plan.paths
    ]  # fmt: skip


def of_equations(equations: RobotEquations, library: str | None = None) -> Any:
    """Entries of mass matrix M, Coriolis matrix C and gravity g as text, counted from 1; column 0 of a vector."""
    n = equations.closed_form.n
    places = [(name, i, j) for name in "MC" for i in range(1, n + 1) for j in range(1, n + 1)]
    rows = [{"part": m, "row": i, "column": j, "entry": equations.entry(m, i, j)} for m, i, j in places]
    rows += [{"part": "g", "row": i, "column": 0, "entry": equations.entry("g", i)} for i in range(1, n + 1)]
    return row_frame(rows, library)


def of_catalogue(catalogue: Catalogue, kind: str = "motors", *, library: str | None = None) -> Any:
    """'motors', 'gears' or 'screws' of a catalogue with all of their numbers, in SI."""
    if kind not in ("motors", "gears", "screws"):
        raise InputError(f"'{kind}' is not accepted; expected motors, gears or screws", field="kind")
    entries = [
        {"name": name, **{k: v for k, v in dict(vars(sheet)).items() if isinstance(v, int | float | str)}}
        for name, sheet in getattr(catalogue, kind).items()
    ]
    keys = list(dict.fromkeys(key for entry in entries for key in entry))
    return frame({key: [entry.get(key) for entry in entries] for key in keys}, library)


def of_tuning(tuning: Tuning, library: str | None = None) -> Any:
    """Gains of every axis and the margins of its loops with every load."""
    return row_frame(margin_rows(tuning), library)


def margin_rows(tuning: Tuning) -> list[dict[str, Any]]:
    """A row for each axis, load and loop."""
    return [
        {
            "axis": axis.motor, "load": case.load, "loop": loop.name, "inertia": float(case.at.J),
            "phase_margin_deg": None if loop.phase_margin is None else DEG * loop.phase_margin,
            "gain_margin": loop.gain_margin, "crossover_rad_per_s": loop.crossover,
            "bandwidth_rad_per_s": loop.bandwidth, "stable": loop.stable,
        }
        for axis in tuning.axes
        for case in axis.cases
        for loop in case.loops.all
    ]  # fmt: skip


def of_study(study: ModelStudy, library: str | None = None) -> Any:
    """Modes of a linear model."""
    return row_frame(mode_rows(study), library)


def mode_rows(study: ModelStudy) -> list[dict[str, Any]]:
    """A row for each mode, slowest first."""
    return [
        {
            "pole_real_1_per_s": float(mode.pole.real), "pole_imaginary_rad_per_s": float(mode.pole.imag),
            "frequency_rad_per_s": float(abs(mode.pole)),
            "damping": float(-mode.pole.real / abs(mode.pole)) if abs(mode.pole) > 0.0 else None,
        }
        for mode in study.modes
    ]  # fmt: skip


def of_design(design: StateFeedbackDesign, library: str | None = None) -> Any:
    """Gains of a state feedback: a row for each state and integral."""
    return row_frame(gain_rows(design), library)


def gain_rows(design: StateFeedbackDesign) -> list[dict[str, Any]]:
    """A row for each state and integral, a column for each motor."""
    states = [(q.name, q.unit, design.K[:, k]) for k, q in enumerate(design.plant.states)]
    states += [
        (f"integral of {q.name}", f"{q.unit}*s", design.K_i[:, k]) for k, q in enumerate(design.plant.outputs)
    ]
    return [
        {"state": name, "unit": unit, **dict(zip(design.names, map(float, gains), strict=True))}
        for name, unit, gains in states
    ]


def of_line_test(test: LineTest, library: str | None = None) -> Any:
    """Errors of the tool with every law."""
    return row_frame(law_rows(test), library)


def law_rows(test: LineTest) -> list[dict[str, Any]]:
    """A row for each law."""
    return [
        {
            "law": run.law, "delay_s": test.delay(run),
            "error_max_m": float(np.linalg.norm(run.error, axis=1).max()), "off_line_m": test.across(run),
            "error_end_m": float(np.linalg.norm(run.error[-1])),
        }
        for run in test.runs
    ]  # fmt: skip


def of_statics(found: Statics, library: str | None = None) -> Any:
    """Torques of the joints at a pose."""
    return row_frame(static_rows(found), library)


def static_rows(found: Statics) -> list[dict[str, Any]]:
    """A row for each joint, in SI."""
    from servotwin.design.statics import without_noise

    weights, forces = without_noise(found.tau_gravity), without_noise(found.tau_force)
    robot = found.robot
    return [
        {
            "joint": name, "position": float(q), "position_unit": unit, "weight": float(g), "force": float(f),
            "sum": float(g + f), "unit": "N" if unit == "m" else "N m",
        }
        for name, unit, q, g, f in zip(robot.joint_names, robot.joint_units, found.q, weights, forces, strict=True)
    ]  # fmt: skip


def of_motion(motion: OptimalMotion, library: str | None = None) -> Any:
    """An optimal motion at its nodes."""
    return frame(motion.signals(), library)


def of_sizing(sizing: Sizing, library: str | None = None) -> Any:
    """What a cycle asks of every actuator."""
    from servotwin.report.sizing_data import table_rows

    return row_frame(table_rows(sizing), library)


def of_accuracy(found: Accuracy, library: str | None = None) -> Any:
    """AP and RP of every pose at every speed."""
    return row_frame(pose_rows(found), library)


def pose_rows(found: Accuracy) -> list[dict[str, Any]]:
    """A row for each pose and speed."""
    return [
        {
            "speed": result.speed, "pose": row["name"],
            **dict(zip(("x_m", "y_m", "z_m"), row["commanded_m"], strict=True)),
            "AP_m": row["AP_m"], "RP_m": row["RP_m"],
        }
        for result in found.pose
        for row in result.data()["poses"]
    ]  # fmt: skip


def of_calibration(found: Calibration, library: str | None = None) -> Any:
    """Estimated deviations with their standard deviations."""
    return row_frame(parameter_rows(found), library)


def parameter_rows(found: Calibration) -> list[dict[str, Any]]:
    """A row for each parameter."""
    return [
        {"parameter": p.name, "value": p.value, "sigma": p.sigma, "unit": p.unit, "usual": p.typical}
        for p in found.found
    ]


def of_pose_plan(plan: DrawnPlan, library: str | None = None) -> Any:
    """Joint positions of the poses to measure [rad, m]."""
    return frame({name: plan.q[:, i] for i, name in enumerate(plan.model.robot.joint_names)}, library)


def of_workspace(ws: Workspace, library: str | None = None) -> Any:
    """The boundary of a workspace, point by point."""
    import csv
    import io

    from servotwin.report.workspace_page import boundary_csv

    rows = list(csv.DictReader(io.StringIO(boundary_csv(ws))))
    return row_frame([{key: _number(text) for key, text in row.items()} for row in rows], library)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def of_substitution(result: SubstitutionResult, library: str | None = None) -> Any:
    """Signals of arm and rig."""
    return frame(result.columns(), library)


def of_control(run: ControlRun, library: str | None = None) -> Any:
    """A row for each cycle of the bus."""
    return frame(run.columns, library)


def of_served(served: ServedDrives, library: str | None = None) -> Any:
    """Recorded signals of served drives."""
    if served.result is None:
        raise ServotwinError("nothing was recorded; expected record=... of st.serve_drives")
    return of_signals(served.result, library=library)
