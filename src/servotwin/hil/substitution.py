"""A simulated arm with substituted joints, ready to be cycled: records, kernels, forces of its environment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from servotwin.hil.joint_data import drive_warnings, joint_records
from servotwin.hil.ports import SHAFT_COMMAND, SHAFT_FEEDBACK
from servotwin.hil.records import ARM, MOST_FREE, STAGES, Role, address_in
from servotwin.hil.scenario import SubstitutionScenario
from servotwin.hil.scenario_parts import Integration
from servotwin.kernels.kernel_store import entry
from servotwin.mechanism.build import build_mechanism
from servotwin.mechanism.moving_base import with_moving_base
from servotwin.robot.robot import Robot
from servotwin.simulation.plant.forces_of_file import link_forces
from servotwin.simulation.plant.link_forces import LINK_FORCE


@dataclass
class Substitution:
    """An arm at the instant zero. ``arm`` is an array of one ARM; ``joints``, ``forces`` and ``kept`` belong to it."""

    scenario: SubstitutionScenario
    robot: Robot
    arm: Any
    joints: Any
    forces: Any
    command: Any  # of one SHAFT_COMMAND
    feedback: Any  # of one SHAFT_FEEDBACK
    kept: list[Any] = field(default_factory=list)
    warnings: tuple[str, ...] = ()  # about its drives and its integration, known before it runs

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints in the order of the records, those of a moving base last."""
        return self.robot.joint_names


def build_substitution(scenario: SubstitutionScenario, *, allow_code: bool = False) -> Substitution:
    """Everything up to the instant zero; compiles what is not compiled yet."""
    from servotwin.hil.stability import step_warnings

    mechanism = build_mechanism(scenario.description)
    robot = Robot(with_moving_base(mechanism, list(scenario.file.environment.base)))
    joints = joint_records(scenario)
    arm = np.zeros(1, dtype=ARM)
    made = Substitution(
        scenario,
        robot,
        arm,
        joints,
        np.zeros(0, LINK_FORCE),
        np.zeros(1, SHAFT_COMMAND),
        np.zeros(1, SHAFT_FEEDBACK),
    )
    _begin_in_balance(made)
    _enter_sizes(made)
    _enter_method(arm[0], scenario.file.integration, scenario)
    _enter_kernels(made)
    _enter_forces(made, allow_code)
    made.warnings = (*drive_warnings(scenario), *step_warnings(made))
    return made


def _begin_in_balance(made: Substitution) -> None:
    """Servos begin with the voltage that holds the arm at rest, compliant gears wound up by its weight."""
    joints = made.joints
    weight = made.robot.gravload(np.array(joints["q"]))
    for joint, tau in zip(joints, weight, strict=True):
        if joint["role"] == Role.BASE:
            continue
        holding = joint["R"] / joint["K"] * tau / joint["N"]
        joint["integral"] = min(max(holding, -joint["u_limit"]), joint["u_limit"])
        joint["u_held"] = joint["integral"]
        if joint["compliant"]:
            joint["theta"] += joint["N"] * tau / joint["stiffness"]
            joint["theta_last"] = joint["theta"]


def _enter_sizes(made: Substitution) -> None:
    arm, scenario, n = made.arm[0], made.scenario, len(made.joints)
    passive = made.robot.mechanism.passive_names
    if n + len(passive) > MOST_FREE:
        raise scenario.error(f"more than {MOST_FREE} joints with passive ones; expected fewer", "robot")
    arm["n"], arm["n_x"], arm["shafts"] = n, n + len(passive), len(scenario.substituted)
    arm["period"], arm["arm_every"] = scenario.period, scenario.file.rates.arm_every
    arm["joints_at"] = made.joints.ctypes.data
    arm["y"][:n], arm["y"][2 * n : 3 * n] = made.joints["q"], made.joints["theta"]
    arm["inputs_at"], arm["outputs_at"] = address_in(made.arm, "inputs"), address_in(made.arm, "outputs")


def _enter_method(arm: Any, how: Integration, scenario: SubstitutionScenario) -> None:
    arm["steps"], arm["rotor"] = how.steps, int(how.rotor_inertia)
    arm["at_arm"], arm["implicit"] = int(how.at == "arm"), int(how.method == "semi-implicit")
    arm["every_stage"] = int(how.at == "arm" or scenario.file.rates.arm_every == 1)
    a, b, c = tableau(how.method)
    arm["stages"] = len(b)
    arm["rk_b"][: len(b)], arm["rk_c"][: len(c)] = b, c
    for i, row in enumerate(a):
        arm["rk_a"][i, : len(row)] = row


def tableau(method: str) -> tuple[list[list[float]], list[float], list[float]]:
    """Runge-Kutta coefficients a, b, c of a method, at most ``STAGES`` stages."""
    tables: dict[str, tuple[list[list[float]], list[float], list[float]]] = {
        "modified-euler": ([[], [1.0]], [0.5, 0.5], [0.0, 1.0]),
        "rk4": ([[], [0.5], [0.0, 0.5], [0.0, 0.0, 1.0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6], [0.0, 0.5, 0.5, 1.0]),
        "semi-implicit": ([[]], [1.0], [0.0]),
    }
    found = tables[method]
    assert len(found[1]) <= STAGES
    return found


def _enter_kernels(made: Substitution) -> None:
    """M and h of the robot, and what closes its loops."""
    arm, robot = made.arm[0], made.robot
    motion = entry("closed_motion_terms" if robot.closed else "motion", robot.numbers)
    arm["motion"], arm["motion_data"] = motion.address, motion.data.ctypes.data
    made.kept.append(motion)
    if not robot.closed:
        return
    track = entry("closed_track", robot.numbers)
    (length,) = track.outputs[0]
    n, n_x = int(arm["n"]), int(arm["n_x"])
    given, said = np.zeros(n_x + n), np.zeros(length)
    arm["track"], arm["track_data"] = track.address, track.data.ctypes.data
    arm["track_in_at"], arm["track_out_at"] = given.ctypes.data, said.ctypes.data
    q = np.array(made.joints["q"])
    arm["q_closed"][:n] = q
    arm["passive"][: n_x - n] = robot.coordinates(q)[n:]
    made.kept += [track, given, said]


def _enter_forces(made: Substitution, allow_code: bool) -> None:
    scenario = made.scenario
    found = link_forces(made.robot, scenario.file.environment.forces, scenario, allow_code=allow_code)
    made.forces, kept = found
    made.arm["forces"], made.arm["forces_at"] = len(made.forces), made.forces.ctypes.data
    made.kept += kept
