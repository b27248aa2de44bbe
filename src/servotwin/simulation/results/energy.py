r"""The energy account of a run.

.. math:: E_\mathrm{source} + E_\mathrm{environment} = \Delta E_\mathrm{stored} + \sum E_\mathrm{losses}
          (eq:energy-balance)

Stored: kinetic (arm and rotors), potential, magnetic, in elastic gears, in the bus capacitor, in compressed oil and
its accumulator. Lost: copper, bridges, friction, gears, impacts on end stops, braking resistor, supply resistance;
valves, leaks, cushions, pump and relief valve. What is left over is the error of the integration.
It is judged by what changed hands, whether it came from the source or not,

.. math:: E_\mathrm{moved} = \max\Bigl(E_\mathrm{flow},\;
          \tfrac12 \bigl(E_\mathrm{flow} + |E_\mathrm{environment}| + \sum |\Delta E_\mathrm{stored}|
          + \sum |E_\mathrm{losses}|\bigr)\Bigr)
          (eq:energy-moved)

with :math:`E_\mathrm{flow}` the energy from the source and back to it, summed over the windows of the simulation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from servotwin.drives.harmonics import wave_at
from servotwin.drives.kind import Feed
from servotwin.drives.own import LOST, WORK
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot
from servotwin.simulation.plant.machine import Machine
from servotwin.simulation.plant.rates import ELECTRIC, FRICTION, GEAR
from servotwin.simulation.plant.records import PER_MOTOR
from servotwin.simulation.plant.stored_energy import magnetic_energy
from servotwin.simulation.scenario.parts import Solver

WORST_BALANCE = 1e-5  # part of the energy moved that may be unaccounted for
OWN_SHARE = 0.5  # of the missing energy, from which it is the account of an actuator of the user's
LEAST_ENERGY = 1e-9  # J: less is rounding


def stored_energies(machine: Machine, plant: Robot) -> dict[str, float]:
    """Energies that the plant holds now [J]."""
    world, motors, y = machine.world[0], machine.motors, machine.y
    n = int(world["n"])
    q, qd = machine.x[:n], machine.qd
    kinetic, potential = plant.energy_at(machine.x, qd)
    theta_l, w_l = machine.N @ q, machine.N @ qd
    kinetic_rotors = magnetic = spring = 0.0
    for j, motor in enumerate(motors):
        w = w_l[j]
        if motor["flexible"] >= 0:
            w = y[int(world["at_w"]) + motor["flexible"]]
            theta = float(y[int(world["at_theta"]) + motor["flexible"]])
            twist = theta + wave_at(motor, "gear", theta) - theta_l[j]
            spring += spring_energy(motor, twist) + hysteresis_energy(motor, y)
        kinetic_rotors += 0.5 * motor["J"] * w**2
        magnetic += magnetic_energy(motor, y)
    capacitor = 0.0
    if world["at_bus"] >= 0:
        capacitor = 0.5 * machine.power["C"][0] * y[int(world["at_bus"])] ** 2
    return {
        "kinetic_J": float(kinetic) + kinetic_rotors + spin_energy(plant, q, qd),
        "potential_J": float(potential),
        "magnetic_J": float(magnetic),
        "spring_J": float(spring),
        "capacitor_J": float(capacitor),
        **_own_energy(machine),
        **_group_energy(machine),
    }


def _group_energy(machine: Machine) -> dict[str, float]:
    """What groups of actuators store, such as compressed oil [J]."""
    return {name: value for group in machine.groups for name, value in group.stored(machine).items()}


def _own_energy(machine: Machine) -> dict[str, float]:
    """What actuators of the user's store [J]; nothing if there are none."""
    if not machine.own:
        return {}
    return {"actuators_J": sum(_own_stored(machine, j) for j in machine.own)}


def _own_stored(machine: Machine, j: int) -> float:
    """What the actuator of motor j stores now [J]."""
    own, at = machine.own[j], int(machine.motors["current_at"][j])
    return own.stored_energy(machine.y[at : at + own.width])


def energies_before(machine: Machine, plant: Robot) -> dict[str, float]:
    """Energies that the plant holds when a run begins [J]; each own actuator keeps what is its own."""
    for j, own in machine.own.items():
        own.energy_before = _own_stored(machine, j)
    return stored_energies(machine, plant)


def spin_energy(plant: Robot, q: Array, qd: Array) -> float:
    """The part of the kinetic energy that couples rotors on moving links with these (eq:rotor-energy) [J]."""
    rotors = plant.mechanism.rotors
    if not rotors.spinning:
        return 0.0
    coupling = plant.inertia(q, drives=True) - plant.inertia(q) - rotors.reflected_inertia
    return float(0.5 * qd @ coupling @ qd)


def spring_energy(motor: np.void, twist: float) -> float:
    """Energy in the torsion of an elastic gear, with play in the flank that touches [J]."""
    if motor["half_play"] > 0.0:
        twist = twist - motor["contact"] * motor["half_play"] if motor["contact"] else 0.0
    found = 0.5 * motor["stiffness"] * twist**2
    for i in (1, 2):
        found += (
            0.5 * motor[f"added_{i}"] * max(abs(twist) - motor[f"bend_{i}"], 0.0) ** 2
        )  # eq:gear-stiffening
    return float(found)


def hysteresis_energy(motor: np.void, y: Array) -> float:
    """Energy in the hysteresis of an elastic gear (eq:hysteresis) [J]."""
    at = int(motor["hysteresis_at"])
    return float(0.5 * motor["hysteresis_stiffness"] * y[at] ** 2) if at >= 0 else 0.0


def own_errors(machine: Machine) -> dict[str, float]:
    r"""What each actuator of the user's took and did not account for [J], by its motor.

    .. math:: \Delta E = \int P\,dt - \int \tau\,\omega\,dt - \int P_\mathrm{loss}\,dt - \Delta E_\mathrm{stored}
              (eq:own-balance)
    """
    m, z, at = len(machine.motors), machine.world[0]["state"]["z"], machine.motors["loss_at"]
    found = {}
    for j, own in machine.own.items():
        stored = _own_stored(machine, j) - own.energy_before
        found[own.motor] = float(z[ELECTRIC * m + j] - z[at[j] + WORK] - z[at[j] + LOST] - stored)
    return found


def balance_warnings(
    numbers: dict[str, float],
    solver: Solver,
    own: Mapping[str, float] | None = None,
    walls: Sequence[str] = (),
) -> list[str]:
    """A line if a run is not integrated well enough, with what to change; ``own``: see ``own_errors``.

    ``walls``: fields of walls that the arm may have met, which are too stiff for steps of one length.
    """
    wrong = abs(numbers["balance_error_relative"])
    if not wrong > WORST_BALANCE or abs(numbers["balance_error_J"]) < LEAST_ENERGY:
        return []
    motor = max(own or {"": 0.0}, key=lambda name: abs((own or {}).get(name, 0.0)))
    missing = abs((own or {}).get(motor, 0.0))
    if missing > OWN_SHARE * abs(numbers["balance_error_J"]):
        return [
            f"energy balance: {wrong:.1e} of the energy moved is unaccounted for, more than {WORST_BALANCE:g}; the "
            f"actuator of motor {motor} leaves {missing:.3g} J out: expected out[POWER] = out[EFFORT] * w + out[LOSS] "
            "+ rate of energy(x, p)"
        ]
    remedy = "solver.method adaptive"
    if solver.method == "adaptive":
        remedy = f"a smaller solver.tolerance than {solver.tolerance:g}"
    elif solver.method != "fast":
        remedy = f"solver.method fast or adaptive, or more solver.steps than {solver.steps}"
    if walls:
        remedy += f"; what meets a stiff wall ({', '.join(walls)}) is through it within a step"
    return [
        f"energy balance: {wrong:.1e} of the energy moved is unaccounted for with solver.method {solver.method}, more "
        f"than {WORST_BALANCE:g}; take {remedy}"
    ]


def environment_work(machine: Machine) -> dict[str, float]:
    """What forces on links and the motion of the base brought in [J]; nothing without an environment."""
    if machine.environment is None:
        return {}
    world = machine.world[0]
    return {"environment_J": float(world["state"]["z"][int(world["environment_z"])])}


def environment_loss(machine: Machine) -> dict[str, float]:
    """What the environment's friction of joints took [J]; nothing without it."""
    env = machine.environment
    if env is None or not (env["viscous"].any() or env["coulomb"].any()):
        return {}
    world = machine.world[0]
    return {"environment_friction_J": float(world["state"]["z"][int(world["environment_z"]) + 1])}


def hysteresis_loss(machine: Machine) -> dict[str, float]:
    """What the hysteresis of gears took [J] (eq:hysteresis); nothing without it."""
    places = machine.motors["hysteresis_z"]
    if not (places >= 0).any():
        return {}
    z = machine.world[0]["state"]["z"]
    return {"hysteresis_J": float(z[places[places >= 0]].sum())}


def account(machine: Machine, plant: Robot, before: dict[str, float]) -> dict[str, float]:
    """Source, changes of what is stored, losses, and what does not add up [J] (eq:energy-balance)."""
    world, m = machine.world[0], len(machine.motors)
    z = world["state"]["z"]
    per_motor = z[: PER_MOTOR * m].reshape(PER_MOTOR, m).sum(axis=1)
    heat = world["state"]["heat"][:m].sum(axis=0)
    has_bus = world["at_bus"] >= 0
    after = stored_energies(machine, plant)
    changes = {name: after[name] - before[name] for name in after}
    losses = {
        "copper_J": float(heat[0]),
        "bridge_J": float(heat[1]),
        "friction_J": float(per_motor[FRICTION]),
        "gear_J": float(per_motor[GEAR]),
        "impact_J": float(world["state"]["impact_J"]),
        "brake_resistor_J": float(z[PER_MOTOR * m + 1]) if has_bus else 0.0,
        "supply_J": float(z[PER_MOTOR * m + 2]) if has_bus else 0.0,
    }
    if machine.own:
        losses["actuator_loss_J"] = float(z[machine.motors["loss_at"][list(machine.own)] + LOST].sum())
    losses |= hysteresis_loss(machine) | environment_loss(machine)
    for group in machine.groups:
        losses |= group.losses(machine)
    electric = z[ELECTRIC * m : (ELECTRIC + 1) * m]
    source = float(electric.sum())
    if has_bus:  # what no bridge feeds has a supply of its own
        source = float(z[PER_MOTOR * m] + electric[machine.motors["feed"] == Feed.COMMAND].sum())
    source += sum(group.source(machine) for group in machine.groups)
    flow = float(world["state"]["flowed"])
    changed = sum(
        abs(value) for value in (*changes.values(), *losses.values(), *environment_work(machine).values())
    )
    moved = max(flow, 0.5 * (flow + changed))  # eq:energy-moved
    brought = environment_work(machine)
    error = source + sum(brought.values()) - sum(changes.values()) - sum(losses.values())  # eq:energy-balance
    return {
        "source_J": source,
        **brought,
        **changes,
        **losses,
        "balance_error_J": error,
        "balance_error_relative": error / moved if moved > 0.0 else 0.0,
        "moved_J": moved,
    }
