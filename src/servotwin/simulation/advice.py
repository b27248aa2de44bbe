"""What is wrong with a run before it begins: one line each, for summary, report and terminal."""

from __future__ import annotations

import numpy as np

from servotwin.control.axis_data import axis_model, timing_of
from servotwin.control.computed_run import computed_torque_warnings
from servotwin.control.loops import check_loops
from servotwin.control.user_laws import CompiledLaw, PythonLaw
from servotwin.description.controller_parts import Controller
from servotwin.robot.robot import Robot
from servotwin.simulation.controller_data import axis_gains_of, controller_of, shaft_inertia
from servotwin.simulation.drive_data import owners
from servotwin.simulation.faults import fault_times
from servotwin.simulation.scenario import Scenario

# The loops that stay those of the servo driver below a law, by what the law commands.
BELOW = {"speed": ("current", "speed"), "current": ("current",), "voltage": ()}
CASCADE = ("current", "speed", "position")


def run_warnings(
    scenario: Scenario, model: Robot, plant: Robot, law: PythonLaw | CompiledLaw | None = None
) -> list[str]:
    """Warnings of both robot files, and about feed-forward and loops."""
    known, true = scenario.description.warnings, scenario.plant_description.warnings
    control = controller_of(scenario.description)
    return [
        *known,
        *(f"the robot as it is: {line}" for line in true if line not in known),
        *feed_forward_warnings(control, law),
        *loop_warnings(scenario, model, plant, law),
    ]


def loops_that_run(control: Controller, law: PythonLaw | CompiledLaw | None) -> tuple[str, ...]:
    """The loops of the cascade that are closed in a run."""
    if law is not None:
        return BELOW[law.level]
    return CASCADE if control.law == "cascade" else BELOW["current"]


def loop_warnings(
    scenario: Scenario, model: Robot, plant: Robot, law: PythonLaw | CompiledLaw | None = None
) -> list[str]:
    """Loops that run and are unstable, or nearly so, at the pose where the run begins.

    The gains are the controller's; what they act on is the robot as it is.
    """
    known, true = scenario.description, scenario.plant_description
    control = controller_of(known)
    running = loops_that_run(control, law)
    N, N_true = model.mechanism.rotors.N, plant.mechanism.rotors.N
    q = np.array([scenario.start[name] for name in model.joint_names])
    inertia, believed = shaft_inertia(plant, N_true, q), shaft_inertia(model, N, q)
    gains = axis_gains_of(known, model, N, model.mechanism.q_home)
    timing = timing_of(control)
    lines: list[str] = []
    for j, name in enumerate(owners(true)):
        motor = true.axes[name].motor
        if motor is None or motor.kind in ("ideal", "hydraulic") or not running:
            continue
        axis = axis_model(true, name, float(inertia[j]))
        lines += check_loops(name, axis, gains[j], timing, "at the start", running)
        if law is None and control.law == "computed-torque":
            modelled = axis_model(known, name, float(believed[j]))
            lines += computed_torque_warnings(
                name, axis, modelled, gains[j], timing, control.position_bandwidth
            )
    return lines


def feed_forward_warnings(control: Controller, law: PythonLaw | CompiledLaw | None) -> list[str]:
    """Shares of the feed-forward that count the same torque twice, or that nobody uses."""
    feed = control.feedforward
    if law is None and control.law == "computed-torque":
        used = [name for name in ("velocity", "acceleration", "torque", "gravity") if getattr(feed, name)]
        text = f"controller.feedforward: {', '.join(used)} without effect: computed torque contains all of it"
        return [text] if used else []
    if "speed" not in loops_that_run(control, law):
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


def late_faults(scenario: Scenario, duration_ns: int) -> list[str]:
    """Faults that the run does not live to see."""
    return [
        f"fault {fault.kind} of {fault.axis or 'the supply'} at {fault.at:.6g} s would act at {at * 1e-9:.6g} s, not "
        f"before the end of the run at {duration_ns * 1e-9:.6g} s: without effect"
        for at, fault in fault_times(scenario)
        if at >= duration_ns
    ]
