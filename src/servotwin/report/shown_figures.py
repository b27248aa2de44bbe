"""``result.plot()``: for every kind of result the figure of its report that says most, others by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from servotwin.description.display import MM, of_joint
from servotwin.description.units import did_you_mean
from servotwin.errors import InputError, ServotwinError
from servotwin.mechanism.model import Array
from servotwin.report.labels import joint_units, plain_unit
from servotwin.report.page_style import COLOURS, axis, layout
from servotwin.report.traces import colour, line

if TYPE_CHECKING:
    from servotwin.control.servo.state_feedback_design import StateFeedbackDesign
    from servotwin.design.line_test import LineTest
    from servotwin.design.model_study import ModelStudy
    from servotwin.design.statics import Statics
    from servotwin.design.tuning import Tuning
    from servotwin.fieldbus.controller.run import ControlRun
    from servotwin.hil.result import SubstitutionResult
    from servotwin.motion.optimal.result import OptimalMotion
    from servotwin.robot.robot import Robot
    from servotwin.simulation.comparing.compare import Comparison
    from servotwin.simulation.job_plan import JobPlan
    from servotwin.simulation.job_run import JobRun
    from servotwin.simulation.results.result import Result
    from servotwin.simulation.scenario.scenario import Scenario

MOST_LINES = 24  # signals in one figure
STEPS = 600  # of a drawn plan


def chosen(what: str, known: Mapping[str, Callable[[], go.Figure]]) -> go.Figure:
    """The figure of a name."""
    if what not in known:
        raise InputError(
            f"no picture is called '{what}'; expected one of {', '.join(known)}{did_you_mean(what, list(known))}",
            field="what",
        )
    return known[what]()


def of_robot(robot: Robot, q: ArrayLike | None = None) -> go.Figure:
    """The arm at q (n,) [rad, m], default home, as a stick figure that can be turned."""
    from servotwin.report.equations_page import mechanism_figure

    return mechanism_figure(robot, q)


def of_result(result: Result, what: str | None = None) -> go.Figure:
    """A picture of a run.

    ``what``: a joint or motor by its name, 'error', 'tip', 'tip error', 'energy', 'power', 'temperature', 'torque
    MOTOR', 'current MOTOR', 'torque-speed MOTOR', or a signal or pattern such as 'motor_*_current_A'. Default: the
    first joint that moves.
    """
    from servotwin.report import simulation_figures_drives as drives
    from servotwin.report import simulation_figures_energy as energy
    from servotwin.report import simulation_figures_motion as motion
    from servotwin.report.simulation_view import view

    shown = view(result)
    if not len(shown.t):
        raise ServotwinError(
            "nothing was recorded of this run; expected 'record' that is shorter than the run"
        )
    if what is not None and (what in result.signals or "*" in what):
        return signal_figure(result.signals, what)
    moving = shown.moving or [0]
    known: dict[str, Callable[[], go.Figure]] = {
        "error": lambda: motion.following_error(shown),
        "tip": lambda: motion.tip_path(shown),
        "tip error": lambda: motion.tip_error(shown),
        "energy": lambda: energy.energy(shown),
        "power": lambda: energy.power(shown),
        "temperature": lambda: drives.temperatures(shown),
    }
    for i, name in enumerate(result.motors):
        known[f"torque {name}"] = lambda i=i: drives.motor_torque(shown, i)  # type: ignore[misc]
        known[f"current {name}"] = lambda i=i: drives.currents(shown, i)  # type: ignore[misc]
        known[f"torque-speed {name}"] = lambda i=i: drives.torque_speed(shown, i)  # type: ignore[misc]
    for i, name in enumerate(result.joints):
        known[name] = lambda i=i: motion.joint_motion(shown, i)  # type: ignore[misc]
    return chosen(result.joints[moving[0]] if what is None else what, known)


def signal_figure(signals: Mapping[str, Array], pattern: str) -> go.Figure:
    """Signals over time by name or pattern."""
    from servotwin.simulation.results.result import matching_signals, no_such_signal

    names = [name for name in matching_signals(pattern, signals) if name != "time_s"]
    if not names:
        raise InputError(no_such_signal(pattern, list(signals)), field="what")
    figure = go.Figure(layout=layout(380, yaxis=axis("")))
    for i, name in enumerate(names[:MOST_LINES]):
        figure.add_trace(line(signals["time_s"], signals[name], name, colour(i)))
    return figure


def of_scenario(scenario: Scenario) -> go.Figure:
    """Joint positions as planned."""
    from servotwin.mechanism.build import build_mechanism
    from servotwin.simulation.scenario.scenario import plan_scenario

    mechanism = build_mechanism(scenario.description)
    motion = plan_scenario(scenario, mechanism.joint_names, mechanism.limits)
    t = np.linspace(0.0, max(float(motion.duration), 1e-9), STEPS)
    q = np.asarray(motion.sample(t)[0])
    figure = go.Figure(layout=layout(340, yaxis=axis("position [deg, mm]")))
    for i, name in enumerate(mechanism.joint_names):
        factor, unit = of_joint(scenario.description.axes[name].prismatic)
        figure.add_trace(
            line(t, factor * q[:, i], f"{name} [{unit}]", colour(i), hovertemplate=f"%{{y:.5g}} {unit}")
        )
    return figure


def of_job(run: JobRun, what: str | None = None) -> go.Figure:
    """A picture of a job: 'timeline' (default), 'time' and energy by line, 'speed' of the tool, or one of its run."""
    from servotwin.report.job_figures import shares, timeline, tool_speed
    from servotwin.report.job_story import story_of
    from servotwin.report.job_view import by_line

    story = story_of(run)
    known = {
        "timeline": lambda: timeline(story),
        "time": lambda: shares(by_line(story.steps, story.sources)),
        "speed": lambda: tool_speed(story),
    }
    return known[what or "timeline"]() if what is None or what in known else of_result(run.result, what)


def of_plan(plan: JobPlan) -> go.Figure:
    """Time of every path as planned, and at best under torques, voltages and speeds."""
    names = [f"line {path.lines[0]}: {path.text}" for path in plan.paths]
    figure = go.Figure(
        layout=layout(140 + 26 * len(names), barmode="group", xaxis=axis("time [s]"), hovermode="closest")
    )
    for k, (name, values) in enumerate(
        (
            ("planned", [path.planned_s for path in plan.paths]),
            ("time-optimal", [path.optimal_s for path in plan.paths]),
        )
    ):
        bar = {"color": COLOURS[k]}
        figure.add_trace(go.Bar(x=values, y=names, name=name, orientation="h", marker=bar))
    figure.update_yaxes(autorange="reversed", automargin=True)
    return figure


def of_tuning(tuning: Tuning, motor: str | None = None, what: str = "bode") -> go.Figure:
    """Open loops of one axis ('bode'), or its 'current', 'speed' or 'position' step; default the first axis."""
    from servotwin.report.tune_figures import bode, steps

    names = [axis.motor for axis in tuning.axes]
    if not names:
        raise ServotwinError("no axis has loops to be shown")
    if motor is not None and motor not in names:
        raise InputError(f"no axis '{motor}'; expected one of {', '.join(names)}", field="motor")
    found = tuning.axes[0 if motor is None else names.index(motor)]
    known: dict[str, Callable[[], go.Figure]] = {"bode": lambda: bode(found)}
    for level in ("current", "speed", "position"):
        known[level] = lambda level=level: steps(found, level)  # type: ignore[misc]
    return chosen(what, known)


def of_study(study: ModelStudy, what: str = "poles") -> go.Figure:
    """'poles' of the model, 'participation' of its states in the modes, or 'bode NAME' of a motor."""
    from servotwin.report.model_figures import bode, participation, pole_map

    known: dict[str, Callable[[], go.Figure]] = {
        "poles": lambda: pole_map(study),
        "participation": lambda: participation(study),
    }
    for k, channel in enumerate(study.model.inputs):
        known[f"bode {channel.name}"] = lambda k=k: bode(study, k)  # type: ignore[misc]
    return chosen(what, known)


def of_design(design: StateFeedbackDesign) -> go.Figure:
    """Closed-loop poles of the coupled arm."""
    from servotwin.report.design_page import pole_figure

    return pole_figure(design)


def of_line_test(test: LineTest, law: str | None = None) -> go.Figure:
    """Errors of the motors in pulses under one law, default the first."""
    from servotwin.report.line_test_page import pulse_figure

    known = {run.law: run for run in test.runs}
    if law is not None and law not in known:
        raise InputError(f"no law '{law}'; expected one of {', '.join(known)}", field="law")
    return pulse_figure(test, test.runs[0] if law is None else known[law])


def of_statics(found: Statics, view: str = "side") -> go.Figure:
    """The arm with its ellipsoids, from the 'side' or from 'above'."""
    from servotwin.report.statics_page import statics_picture

    return chosen(
        view,
        {"side": lambda: statics_picture(found, 0, 2), "above": lambda: statics_picture(found, 0, 1)},
    )


def of_motion(motion: OptimalMotion, what: str = "position") -> go.Figure:
    """'position', 'speed' or 'acceleration' of the joints, or the 'limits' that hold the motion."""
    from servotwin.report.optimal_page import joint_figure, limit_bars

    known: dict[str, Callable[[], go.Figure]] = {
        kind: lambda kind=kind: joint_figure(motion, kind)  # type: ignore[misc]
        for kind in ("position", "speed", "acceleration")
    }
    return chosen(what, {**known, "limits": lambda: limit_bars(motion)})


def of_substitution(result: SubstitutionResult, joint: str | None = None) -> go.Figure:
    """Rate of one joint, pure and substituted over each other; default the first of the arm."""
    from servotwin.report.substitution_page import rate_figure

    names = result.run.arm_joints
    if joint is not None and joint not in names:
        raise InputError(f"no joint '{joint}'; expected one of {', '.join(names)}", field="joint")
    number = 0 if joint is None else names.index(joint)
    return rate_figure(result, names[number], number)


def of_control(run: ControlRun, joint: str | None = None) -> go.Figure:
    """Reference and measured position of one joint over the bus; default the first."""
    from servotwin.report.control_page import joint_figure

    if joint is not None and joint not in run.joints:
        raise InputError(f"no joint '{joint}'; expected one of {', '.join(run.joints)}", field="joint")
    return joint_figure(run, 0 if joint is None else run.joints.index(joint))


def of_compared(compared: Any, signal: str | None = None) -> go.Figure:
    """Measured and simulated over each other, and their difference; default the first signal."""
    from servotwin.report.compare_page import overlay

    comparison: Comparison = compared.comparison
    parts = [part for axis in comparison.axes for part in (axis.position, axis.velocity) if part is not None]
    found = {part.signal: part for part in (*parts, *comparison.others)}
    return chosen(
        signal or next(iter(found)),
        {name: lambda name=name: overlay(found[name], 0) for name in found},  # type: ignore[misc]
    )


def of_demo(demo: Any, what: str | None = None) -> go.Figure:
    """A picture of the full-range run, as of any result."""
    return of_result(demo.runs[-1], what)


def of_torques(torques: Any) -> go.Figure:
    """The parts of the torque of every joint, one upon the other."""
    figure = go.Figure(
        layout=layout(
            320, barmode="relative", xaxis=axis("", type="category"), yaxis=axis("torque or force [N m, N]")
        )
    )
    units = [plain_unit(joint_units(unit).effort) for unit in torques.robot.joint_units]
    names = [f"{name} [{unit}]" for name, unit in zip(torques.robot.joint_names, units, strict=True)]
    for k, part in enumerate(torques.parts):
        figure.add_trace(
            go.Bar(x=names, y=torques.without_dust(part), name=part, marker={"color": colour(k)})
        )
    figure.add_trace(
        go.Scatter(
            x=names, y=torques.effort, mode="markers", name="sum", marker={"color": "#1b2430", "size": 9}
        )
    )
    return figure


def of_step(step: Any) -> go.Figure:
    """Where the tool goes during a step, over time."""
    t = np.linspace(0.0, max(step.duration, 1e-9), 120)
    p = np.stack([step.robot.fkine(q)[:3, 3] for q in step.trajectory.sample(t)[0]])
    figure = go.Figure(layout=layout(300, yaxis=axis("tool, from its start [mm]")))
    for k, name in enumerate("xyz"):
        figure.add_trace(line(t, MM * (p[:, k] - p[0, k]), name, colour(k), hovertemplate="%{y:.4g} mm"))
    return figure


def link_points(figure: go.Figure) -> Array:
    """Points (k, 3) [m] of the links in the figure of an arm, NaN between lines."""
    links = figure.data[0]
    return np.array([links.x, links.y, links.z], dtype=np.float64).T


def of_info(info: Any) -> go.Figure:
    """The arm at home."""
    return of_robot(info.robot)


def of_poses(poses: Any) -> go.Figure:
    """The arm at the joint positions, with the frames that were asked for, however far from it."""
    from servotwin.report.equations_page import scene_box

    figure = of_robot(poses.robot, poses.q)
    at = np.array([X[:3, 3] for X in poses.frames.values()]).T
    figure.update_layout(scene=scene_box(np.vstack([link_points(figure), at.T])))
    figure.add_trace(
        go.Scatter3d(
            x=at[0], y=at[1], z=at[2], mode="markers+text", text=list(poses.frames), name="frames",
            marker={"size": 4, "color": COLOURS[0]},
        )
    )  # fmt: skip
    return figure


def of_solutions(solutions: Any) -> go.Figure:
    """The arm at every solution, the first ones of many; the legend tells them apart."""
    from servotwin.report.equations_page import scene_box

    figures = [of_robot(solutions.robot, q) for q in solutions.q[:MOST_LINES]]
    if not figures:
        raise ServotwinError("there is no solution to draw")
    figure = figures[0]
    figure.data[0].name = "solution 1"
    figure.update_layout(scene=scene_box(np.vstack([link_points(one) for one in figures])))
    for k, other in enumerate(figures[1:], 2):
        links = other.data[0]
        links.update(name=f"solution {k}", line={"width": 4, "color": colour(k - 2)})
        figure.add_trace(links)
    return figure
