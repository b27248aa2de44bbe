"""The simulator's right-hand side at a state of the complete model: the truth that the model must agree with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from servotwin.description.load import read_description
from servotwin.description.schema import RobotDescription
from servotwin.drives.kind import Feed
from servotwin.drives.records import FREE
from servotwin.mechanism.build import build_mechanism
from servotwin.robot.robot import Robot
from servotwin.robot.state_space import StateSpace
from servotwin.simulation.plant.machine import Machine, build_machine
from servotwin.simulation.plant.rates import rates
from servotwin.simulation.plant.start import Start
from servotwin.simulation.scenario.parts import Solver


@njit
def _rates(world: Any, power: Any, motors: Any, stops: Any) -> None:
    w = world[0]
    rates(w, power, motors, stops, 0.0, w.scratch.ys, w.scratch.dy, w.scratch.dz)


def machine_of(robot: str | RobotDescription) -> Machine:
    """A machine of the robot at home; every piece compiled, for lossy gears."""
    description = read_description(robot) if isinstance(robot, str) else robot
    arm = Robot(build_mechanism(description))
    return build_machine(
        description, description, arm, arm, Start(arm.q_home), Solver(method="rk4"), every_piece=True
    )


def plant_rates(
    machine: Machine, model: StateSpace, x: np.ndarray, u: np.ndarray, signs: np.ndarray | None = None
) -> np.ndarray:
    """x' as the simulator has it, in the order of the model's states.

    ``signs``: directions in which shafts and joints slide; None: without dry friction.
    """
    world, motors, stops = machine.world[0], machine.motors, machine.stops
    n, n_x, m = int(world["n"]), int(world["n_x"]), int(world["m"])
    elastic = [j for j, shaft in enumerate(model.shafts) if shaft.elastic]
    y = np.zeros(int(world["n_y"]))
    y[:n_x] = model.robot.coordinates(x[:n]) if model.robot.closed else x[:n]
    y[n_x : n_x + n] = x[n : 2 * n]
    e, at = len(elastic), 2 * n
    theta = model.angles @ x
    w = model.speeds[:m] @ x
    y[int(world["at_theta"]) : int(world["at_theta"]) + e] = theta[elastic]
    y[int(world["at_w"]) : int(world["at_w"]) + e] = w[elastic]
    fed = int(world["at_supply"]) >= 0
    own = x[at + 2 * e : len(x) - fed]
    if fed:
        y[int(world["at_supply"])] = x[-1]
    y[int(world["at_w"]) + e : int(world["at_w"]) + e + len(own)] = own
    u_bus = float(world["state"]["u_bus"]) or 1.0
    if world["at_bus"] >= 0:
        y[int(world["at_bus"])] = u_bus
    _apply(motors, u, theta, u_bus)
    _slide(motors, stops, signs, m)
    world["choice"]["unconstrained"] = int((motors["eta"] >= 1.0).all())
    world["scratch"]["ys"][: len(y)] = y
    world["scratch"]["exact_currents"] = 0
    _rates(machine.world, machine.power, motors, stops)
    dy = np.array(world["scratch"]["dy"][: len(y)])
    dq, dqd = dy[:n], dy[n_x : n_x + n]
    d_twist = dy[int(world["at_theta"]) :][:e] - (model.N @ x[n : 2 * n])[elastic]
    d_w = dy[int(world["at_w"]) :][:e]
    d_supply = dy[int(world["at_supply"]) :][:1] if fed else []
    return np.concatenate([dq, dqd, d_twist, d_w, dy[int(world["at_w"]) + e :][: len(own)], d_supply])


def _apply(motors: Any, u: np.ndarray, theta: np.ndarray, u_bus: float) -> None:
    at = 0
    for motor, angle in zip(motors, theta, strict=True):
        motor["open"] = 0
        if motor["feed"] == Feed.H_BRIDGE:
            motor["s_a"] = u[at] / u_bus
        elif motor["feed"] == Feed.THREE_PHASE:
            turned = (u[at] + 1j * u[at + 1]) * np.exp(1j * motor["pole_pairs"] * angle)
            motor["s_a"], motor["s_b"] = turned.real / u_bus, turned.imag / u_bus
            at += 1
        elif motor["valve"]:
            motor["current_command"] = u[at]
        else:
            motor["torque_command"] = u[at]
        at += 1


def _slide(motors: Any, stops: Any, signs: np.ndarray | None, m: int) -> None:
    motors["brake_closed"] = 0
    stops["state"] = 0
    if signs is not None:
        motors["mode"], stops["mode"] = signs[:m].astype(int), signs[m:].astype(int)
        return
    for records in (motors, stops):
        records["mode"] = FREE
        records["tau_c"], records["tau_fall"], records["points"] = 0.0, 0.0, 0
