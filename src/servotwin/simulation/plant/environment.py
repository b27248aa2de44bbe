r"""What acts on the arm beside its drives: forces on links, a base that moves, smooth friction of joints.

All of it becomes an effort at the joints that is added to that of the motors (``rates``). Forces act by the Jacobians
of their frames (eq:environment). The base follows tables of accelerations; with M and h of the arm behind joints b that
carry its base, and h_0 of the arm on a base at rest,

.. math:: \tau_b = h_0(q, \dot q) - h(q, \dot q, q_b, \dot q_b) - M_{qb}\,\ddot q_b                     (eq:moving-base)

so that M, h_0 and the energies of the arm stay those of an arm at rest, and :math:`\tau^T \dot q` is the power that the
environment brings in; what its friction takes is lost. It is a disturbance that nobody knows: a run begins in the
balance without it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.compiled.jit import helper, part, piece
from servotwin.compiled.native_calls import call_address, numbers_at, records_at
from servotwin.kernels.kernel_store import entry
from servotwin.mechanism.moving_base import with_moving_base
from servotwin.robot.robot import Robot
from servotwin.simulation.plant.forces_of_file import link_forces
from servotwin.simulation.plant.link_forces import (
    LINK_FORCE,
    MOST_COLUMNS,
    PLUME,
    USER,
    WRENCH,
    joint_effort,
    link_wrench,
)
from servotwin.simulation.plant.records import MAX_FREE, MAX_JOINTS, WORLD
from servotwin.simulation.scenario.environment_parts import BASE_AXES, NEVER, STEPS

if TYPE_CHECKING:
    from servotwin.mechanism.model import Mechanism
    from servotwin.simulation.plant.machine import Machine
    from servotwin.simulation.scenario.scenario import Scenario

NANO = 1e-9
REST = 0.01  # rad/s or m/s around rest within which the friction of a joint is smooth
_AXES = len(BASE_AXES)
assert MAX_JOINTS + _AXES <= MOST_COLUMNS, "a Jacobian has a column for every joint and direction of the base"
_MOST, _MOST_FREE = MAX_JOINTS + _AXES, MAX_FREE + _AXES

# joints with those of the base, and with passive ones; directions of the base; forces on links; kernels
_WHOLES = "n n_x base forces forces_at motion motion_data inputs_at outputs_at"
ENVIRONMENT: np.dtype[Any] = np.dtype(
    [(name, np.int64) for name in _WHOLES.split()]
    + [
        ("viscous", np.float64, (MAX_JOINTS,)),
        ("coulomb", np.float64, (MAX_JOINTS,)),
        ("points", np.int64, (_AXES,)),
        ("times", np.float64, (_AXES, STEPS)),  # from which on the acceleration of the same place holds [s]
        ("values", np.float64, (_AXES, STEPS)),
        ("acceleration", np.float64, (_AXES,)),  # of the base, now
        ("inputs", np.float64, (_MOST_FREE + 2 * _MOST,)),
        ("outputs", np.float64, (_MOST * _MOST + _MOST + _MOST_FREE,)),
        ("effort", np.float64, (MAX_JOINTS,)),
    ]
)


@helper
def base_motion(env: Any, b: int, time: float, middle: float) -> tuple[float, float]:
    """Position and rate of one direction of the base from its table; its acceleration goes to the record.

    The acceleration is that of the ``middle`` of the step, one for all its stages; steps end where it changes.
    """
    q = qd = 0.0
    env.acceleration[b] = 0.0
    for k in range(env.points[b]):
        if middle >= env.times[b, k]:
            env.acceleration[b] = env.values[b, k]
    for k in range(env.points[b]):
        begin = env.times[b, k]
        if time < begin:
            break
        end = time
        if k + 1 < env.points[b]:
            end = min(time, env.times[b, k + 1])
        span, qdd = end - begin, env.values[b, k]
        q += qd * span + 0.5 * qdd * span * span
        qd += qdd * span
    return q, qd


@helper
def enter_state(world: Any, env: Any, y: Any, time: float, middle: float) -> None:
    """Coordinates and rates of the arm with its base, as its kernels take them."""
    n, n_x = world.n, world.n_x
    for i in range(n):
        env.inputs[i], env.inputs[env.n_x + i] = y[i], y[n_x + i]
    for i in range(n_x - n):
        env.inputs[env.n + i] = y[n + i]
    for b in range(env.base):
        env.inputs[n + b], env.inputs[env.n_x + n + b] = base_motion(env, b, time, middle)


@part
def add_base(world: Any, env: Any) -> None:
    """What the joints feel of the motion of the base (eq:moving-base)."""
    code, scratch, n, wide = world.code, world.scratch, world.n, env.n
    call_address(env.motion, env.inputs_at, env.outputs_at, env.motion_data)
    call_address(code.motion, code.inputs_at, code.outputs_at, code.motion_data)
    for i in range(n):
        total = scratch.outputs[n * n + i] - env.outputs[wide * wide + i]
        for b in range(env.base):
            total -= env.outputs[wide * i + n + b] * env.acceleration[b]
        env.effort[i] += total  # eq:moving-base


@helper
def add_link_forces(world: Any, env: Any, time: float, middle: float) -> None:
    """Forces on links; a function of the user's finds its memory empty, however often a step evaluates it."""
    forces = records_at(env.forces_at, env.forces, LINK_FORCE)
    for e in range(env.forces):
        if forces[e].kind == USER:
            memory = numbers_at(forces[e].memory, np.float64)
            for k in range(int(forces[e].p[0])):
                memory[k] = 0.0
        if not link_wrench(forces[e], env.n, env.inputs_at, env.inputs, env.n_x, time, middle):
            world.scratch.no_number = 1
        for i in range(world.n):
            env.effort[i] += joint_effort(forces[e], env.n, i)


@piece
def environment(world_at: int, power_at: int, motors_at: int, stops_at: int, t: float, span: float) -> None:
    """Add the efforts of the environment to those of the motors in ``inputs``, at ``ys``, t after the window began."""
    world = records_at(world_at, 1, WORLD)[0]
    scratch, n, n_x = world.scratch, world.n, world.n_x
    env = records_at(world.code.environment_at, 1, ENVIRONMENT)[0]
    time, middle = world.state.now * NANO + t, world.state.now * NANO + scratch.middle
    y, power, lost = scratch.ys, 0.0, 0.0
    enter_state(world, env, y, time, middle)
    for i in range(n):
        qd = y[n_x + i]
        env.effort[i] = -env.viscous[i] * qd - env.coulomb[i] * math.tanh(qd / REST)
        lost -= env.effort[i] * qd
    add_link_forces(world, env, time, middle)
    if env.base > 0:
        add_base(world, env)
    for i in range(n):
        scratch.inputs[n_x + n + i] += env.effort[i]
        power += env.effort[i] * y[n_x + i]
    scratch.dz[world.environment_z], scratch.dz[world.environment_z + 1] = power + lost, lost


def attach_environment(machine: Machine, arm: Mechanism, scenario: Scenario, *, allow_code: bool) -> None:
    """Give a machine the environment of its scenario; ``arm`` with its rotors; nothing for one that has none."""
    stated, world = scenario.environment, machine.world[0]
    if not stated:
        return
    record = np.zeros(1, ENVIRONMENT)
    env = record[0]
    base = list(stated.base)
    robot = Robot(with_moving_base(arm, base), engine="auto")
    passive = int(world["n_x"] - world["n"])
    env["n"], env["base"] = world["n"] + len(base), len(base)
    env["n_x"] = env["n"] + passive
    fields: Any = ENVIRONMENT.fields
    env["inputs_at"], env["outputs_at"] = (record.ctypes.data + fields[k][1] for k in ("inputs", "outputs"))
    for b, axis in enumerate(base):
        steps = np.array(stated.base[axis])
        env["points"][b] = len(steps)
        env["times"][b, : len(steps)], env["values"][b, : len(steps)] = steps.T
    for name, friction in stated.joint_friction.items():
        i = arm.joint_names.index(name)
        env["viscous"][i], env["coulomb"][i] = friction.viscous, friction.coulomb
    motion = entry("closed_motion_terms" if robot.closed else "motion", robot.numbers)
    env["motion"], env["motion_data"] = motion.address, motion.data.ctypes.data
    forces, kept = link_forces(robot, stated.forces, scenario, allow_code=allow_code)
    env["forces"], env["forces_at"] = len(forces), forces.ctypes.data
    instants = _instants(forces, env)
    world["code"]["environment_at"] = record.ctypes.data
    world["code"]["instants"], world["code"]["instants_at"] = len(instants), instants.ctypes.data
    world["environment_z"] = world["n_z"]
    world["n_z"] += 2
    machine.environment = record
    machine.kept = [*machine.kept, motion, forces, instants, *kept]


def _instants(forces: Any, env: Any) -> Any:
    """When forces begin and end and accelerations of the base change [s], in order: there steps of the plant end."""
    found: set[float] = set()
    for kind, first in ((WRENCH, 6), (PLUME, 10)):
        found.update(forces["p"][forces["kind"] == kind, first : first + 2].ravel())
    for b in range(env["base"]):
        found.update(env["times"][b, : env["points"][b]])
    return np.array(sorted(float(t) for t in found if 0.0 < t < NEVER))


def environment_notes(machine: Machine) -> list[str]:
    """That another window than usual carries a machine with an environment; nothing without one."""
    from servotwin.simulation.windows.choice import Window, moving_window, usual_window

    if machine.environment is None:
        return []
    usual, chosen = usual_window(machine), moving_window(machine)
    if usual == chosen:
        return []
    names = {Window.GENERAL: "the general window", Window.EVENT_STEPS: "steps from edge to edge"}
    return [
        f"environment: {names[chosen]} in the place of {usual.name.lower().replace('_', ' ')} code, which knows no "
        "forces but those of motors; the run takes longer"
    ]
