"""What is wrong with a scenario that is only seen in the whole: moves, times, record; with file and line."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from servotwin.description.checks import motor_names
from servotwin.description.display import MS
from servotwin.description.drive_data import chamber_motors
from servotwin.description.fields import nanoseconds
from servotwin.description.hydraulic_data import cylinder_motors
from servotwin.description.nodes import Node, quoted
from servotwin.description.problems import find
from servotwin.errors import InputError
from servotwin.mechanism.model import Limits
from servotwin.motion.moving_start import MovingStart
from servotwin.motion.point_moves import PointMotion
from servotwin.simulation.results.result import matching_signals, no_such_signal, signal_names

if TYPE_CHECKING:
    from servotwin.simulation.scenario.scenario import Scenario

Plan = Callable[["Scenario", tuple[str, ...], Limits], PointMotion | MovingStart]


def check_scenario(scenario: Scenario, plan: Plan, tree: Node) -> None:
    """Plan the moves once, and complain about what the run could not do, before it is run."""
    duration = _planned(scenario, plan, tree).duration
    for i, fault in enumerate(scenario.faults):
        _check_time(fault.at, f"faults.{i}.at", duration, tree)
    if scenario.record.zoom is not None:
        _check_time(scenario.record.zoom.at, "record.zoom.at", duration, tree)
    robot = scenario.plant_description
    joints = robot.joint_names
    sliding = [robot.axes[name].prismatic for name in joints]
    chambers, pistons = chamber_motors(robot), cylinder_motors(robot)
    names = signal_names(joints, sliding, motor_names(robot), chambers, pistons)
    for i, pattern in enumerate(scenario.record.signals):
        if not matching_signals(pattern, names):
            place = f"record.signals.{i}"
            raise find(tree, [place]).error(no_such_signal(pattern, names), place)
    _check_rows(scenario, tree)


def _planned(scenario: Scenario, plan: Plan, tree: Node) -> PointMotion | MovingStart:
    joints = scenario.description.joint_names
    axes = [scenario.description.axes[name] for name in joints]
    free = (-np.inf, np.inf)
    span = np.array([axis.limits.position or free for axis in axes])
    speed = np.array([axis.limits.speed or np.inf for axis in axes])
    growth = np.array([axis.limits.acceleration or np.inf for axis in axes])
    limits = Limits(span[:, 0], span[:, 1], speed, growth, np.full(len(axes), np.inf))
    try:
        return plan(scenario, joints, limits)
    except InputError as error:
        place = error.field or ""
        raise find(tree, [place]).error(error.message, place) from None


def _check_time(time: float, place: str, duration: float, tree: Node) -> None:
    if time > duration:
        node = find(tree, [place])
        raise node.error(f"{quoted(node.plain())} is after the end at {duration:.6g} s; expected less", place)


def row_period(every_s: float, period: int) -> int:
    """Time between two rows [ns]; rows are written when a current ``period`` [ns] ends."""
    every = nanoseconds(every_s)
    if every < period or every % period:
        nearest = max(1, round(every / period)) * period
        raise InputError(
            f"{every_s * MS:g} ms is not a multiple of the current period, {period * 1e-6:g} ms; expected such as "
            f"'{nearest * 1e-6:g} ms'",
            field="record.every",
        )
    return every


def _check_rows(scenario: Scenario, tree: Node) -> None:
    controller = scenario.description.controller
    try:
        row_period(scenario.record.every, 1 if controller is None else controller.current_period_ns)
    except InputError as error:
        raise find(tree, ["record.every"]).error(error.message, "record.every") from None
