"""What is wrong with a run before it begins: one line each, for summary, report and terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from servotwin.control.servo.axis_data import (
    axis_models,
    controller_of,
    robot_gains,
    timing_of,
    word_warnings,
)
from servotwin.control.servo.user_laws import CompiledLaw, PythonLaw, levels_of
from servotwin.control.tuning.computed_torque_stability import computed_torque_warnings
from servotwin.control.tuning.loop_warnings import RUNNING, LoopWarning, check_loops, summarised
from servotwin.control.tuning.valve import ValveModel
from servotwin.description.checks import motor_names
from servotwin.description.controller_parts import Controller
from servotwin.description.display import US
from servotwin.description.drive_data import DriveData, drives_of
from servotwin.description.motors import required_drives
from servotwin.description.schema import RobotDescription
from servotwin.drives.kind import Feed
from servotwin.robot.robot import Robot
from servotwin.robot.shafts import motor_inertia
from servotwin.simulation.plant.faults import fault_times
from servotwin.simulation.plant.machine import Machine
from servotwin.simulation.plant.own_actuator import own_warnings
from servotwin.simulation.scenario.parts import Solver
from servotwin.simulation.scenario.scenario import Scenario

# The loops that stay those of the servo driver below a law, by what the law commands.
BELOW = {"speed": ("current", "pressure", "speed"), "current": ("current", "pressure"), "voltage": ()}
CASCADE = RUNNING
SENSED = "controller.current_sensor"  # hardware, although it stands beside the loops
OF_THE_CONTROLLER = (".limits.acceleration", ".limits.jerk")
STABLE = {"modified-euler": 2.0, "rk4": 2.785}  # largest decay in a step that the method still damps


def run_warnings(
    scenario: Scenario, model: Robot, plant: Robot, law: PythonLaw | CompiledLaw | None = None
) -> list[str]:
    """Warnings of both robot files, and about feed-forward and loops."""
    known, true = scenario.description.warnings, scenario.plant_description.warnings
    control = controller_of(scenario.description)
    return [
        *known,
        *(f"the robot as it is: {line}" for line in true if line not in known),
        *belief_warnings(scenario),
        *feed_forward_warnings(control, law, motor_names(scenario.description)),
        *loop_warnings(scenario, model, plant, law),
        *method_warnings(scenario),
        *own_warnings(scenario.plant_description, scenario.solver.method),
    ]


def belief_warnings(scenario: Scenario) -> list[str]:
    """Changes of the robot as it is that only its controller could have: they change nothing."""
    fields = [
        field
        for field in scenario.plant_set
        if (field.startswith("controller.") and not field.startswith(SENSED))
        or field.split(".")[0] in ("home", "kinematics")
        or field.endswith(OF_THE_CONTROLLER)
    ]
    return [
        f"plant: {field} is the controller's own and without effect in the robot as it is; change it with set"
        for field in fields
    ]


def loops_that_run(control: Controller, level: str | None) -> tuple[str, ...]:
    """The loops of a motor that are closed in a run; ``level``: what a law of the user's commands there, or None."""
    if level is not None:
        return BELOW[level]
    return CASCADE if control.law == "cascade" else BELOW["current"]


def loop_warnings(
    scenario: Scenario, model: Robot, plant: Robot, law: PythonLaw | CompiledLaw | None = None
) -> list[str]:
    """Loops that run and are unstable, or nearly so, at the pose where the run begins.

    The gains are the controller's; what they act on is the robot as it is.
    """
    known, true = scenario.description, scenario.plant_description
    control = controller_of(known)
    levels = {} if law is None else levels_of(law, motor_names(known))
    q = np.array([scenario.start[name] for name in model.joint_names])
    as_is = axis_models(true, motor_inertia(plant, q, held=True), feedback=False)
    believed = axis_models(known, motor_inertia(model, q, held=True), feedback=False)
    designs = robot_gains(known, motor_inertia(model, model.mechanism.q_home, held=True))
    lines: list[str] = []
    loops: list[LoopWarning] = []
    for j, drive in enumerate(required_drives(true)):
        name, gains = drive.name, designs[j][1]
        level = levels.get(name)
        running, timing = loops_that_run(control, level), timing_of(control, None if level else name)
        lines += word_warnings(known, name, gains)
        if not (drive.actuator.bridge or drive.actuator.valve) or not running:
            continue
        shaft, design = as_is[j], designs[j][0]
        if isinstance(shaft, ValveModel) and isinstance(
            design, ValveModel
        ):  # the feedback is the controller's
            position = float(np.dot(drive.ratios, q)) if shaft.stroke else None
            shaft = replace(
                shaft.linearise(shaft.J, position),
                flow_share=design.flow_share,
                pressure_gain=design.gain_at(position),
                pressure_corner=design.pressure_corner,
            )
        loops += check_loops(name, shaft, gains, timing, "at the start", running, control.margins)
        known_shaft = believed[j]
        if isinstance(shaft, ValveModel) or isinstance(known_shaft, ValveModel):
            continue
        if law is None and control.law == "computed-torque":
            bandwidth = control.position_bandwidth
            lines += computed_torque_warnings(name, shaft, known_shaft, gains, timing, bandwidth)
    if law is None and control.law == "state-feedback":
        lines += feedback_warnings(known)
    return [*lines, *summarised(loops)]


def feedback_warnings(known: RobotDescription) -> list[str]:
    """State feedback that does not hold the arm, even as its controller knows it."""
    from servotwin.control.servo.state_feedback_design import design_state_feedback

    if design_state_feedback(known).stable:
        return []
    return [
        "controller.state_feedback: the coupled arm is unstable under this law at its home pose; expected "
        "'plant: coupled', or less bandwidth"
    ]


def method_warnings(scenario: Scenario) -> list[str]:
    """What the method of the run does not see of this robot, or sees that no motor does."""
    if scenario.solver.pwm != "switched":
        return []
    drives = drives_of(scenario.plant_description)
    bare = [drive.name for drive in drives if drive.actuator.bridge and not drive.actuator.states]
    lines = [
        f"motor {', '.join(bare)}: without inductance every pulse of the bridge is a pulse of current, and peaks, RMS "
        "and copper loss are those of the pulses; take solver.pwm averaged, or kind dc with an inductance"
    ]
    return [*(lines if bare else []), *(_lossy_gears(drives) if scenario.solver.method == "fast" else [])]


def _lossy_gears(drives: Sequence[DriveData]) -> list[str]:
    """Gears whose losses the fast method takes too small."""
    lossy = [drive.owner for drive in drives if drive.gear.lossy]
    text = (
        f"gear.efficiency of {', '.join(lossy)}: the fast method does not see the ripple in the power through a stiff "
        "gear and takes its loss some percent too small; solver.method: adaptive sees it"
    )
    return [text] if lossy else []


def feed_forward_warnings(
    control: Controller, law: PythonLaw | CompiledLaw | None, motors: Sequence[str]
) -> list[str]:
    """Shares of the feed-forward that count the same torque twice, or that nobody uses."""
    feed = control.feedforward
    if law is None and control.law == "computed-torque":
        used = [name for name in ("velocity", "acceleration", "torque", "gravity") if getattr(feed, name)]
        text = f"controller.feedforward: {', '.join(used)} without effect: computed torque contains all of it"
        return [text] if used else []
    levels = {} if law is None else levels_of(law, motors)
    if all("speed" not in loops_that_run(control, levels.get(name)) for name in motors):
        return []
    lines = []
    for first, second, what in (("acceleration", "torque", "the inertia"), ("torque", "gravity", "gravity")):
        shares = getattr(feed, first), getattr(feed, second)
        if min(shares) > 0.0 and sum(shares) > 1.0 + 1e-9:
            lines.append(
                f"controller.feedforward: {first} {100 * shares[0]:.4g} % and {second} {100 * shares[1]:.4g} % both "
                f"contain {what}, {100 * sum(shares):.4g} % of it in all; expected 100 % at most together"
            )
    return lines


def coarse_steps(machine: Machine, solver: Solver, motors: Sequence[str]) -> str:
    r"""Why steps of fixed length may be what diverged, with a remedy; empty if they are short enough.

    .. math:: \frac{R}{L}\,h \le s                                                          (eq:stable-step)

    h: longest step, a current period over ``solver.steps``; s: where the method stops to damp a decay.
    """
    limit = STABLE.get(solver.method)
    if limit is None:
        return ""
    h = float(machine.servo.servo["T_current"][0]) / solver.steps
    records = machine.motors
    L = np.where(
        records["feed"] == Feed.THREE_PHASE, np.minimum(records["L_d"], records["L_q"]), records["L"]
    )
    rates = np.divide(records["R_ref"] + records["R_bridge"], L, out=np.zeros(len(L)), where=L > 0.0)
    j = int(np.argmax(rates))
    if h * rates[j] <= limit:  # eq:stable-step
        return ""
    return (
        f"the current of motor {motors[j]} settles within {US / rates[j]:.3g} us (L/R), too fast for steps of "
        f"{solver.method} of up to {US * h:.3g} us: take solver.method fast or adaptive, or at least "
        f"{math.ceil(solver.steps * h * rates[j] / limit)} solver.steps; else "
    )


def late_faults(scenario: Scenario, duration_ns: int) -> list[str]:
    """Faults that the run does not live to see."""
    return [
        f"fault {fault.kind} of {fault.axis or 'the supply'} at {fault.at:.6g} s would act at {at * 1e-9:.6g} s, not "
        f"before the end of the run at {duration_ns * 1e-9:.6g} s: without effect"
        for at, fault in fault_times(scenario)
        if at >= duration_ns
    ]
