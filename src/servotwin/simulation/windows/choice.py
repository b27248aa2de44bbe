"""Which window carries the plant, chosen from the state of the machine wherever that state changes.

A machine that is built, loses or gets power, closes or opens a brake, or breaks a winding calls ``choose_window``. It
finds the window for a robot that moves freely and the one for a robot with a joint at its end stop. Between these two
the compiled loop chooses by itself, after every window and at every event, with ``select_window``, the second half of
the same choice. Nothing else writes the fields that choose.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.compiled.jit import helper
from servotwin.drives.dc import DC
from servotwin.drives.kind import ActuatorKind
from servotwin.drives.pmsm import PMSM
from servotwin.drives.records import BETWEEN, FREE, STUCK

if TYPE_CHECKING:
    from servotwin.simulation.plant.machine import Machine

LEAST_DECAY = 0.015  # of a current within its period, for the DC windows
MOST_TURN = (
    0.25  # rad by which a rotor swings against its gear in a current period, for the window of elastic gears
)


class Method(IntEnum):
    """Integration methods, by the names of ``solver.method``."""

    RK4 = 0
    MODIFIED_EULER = 1
    ADAPTIVE = 2
    FAST = 3

    @classmethod
    def named(cls, name: str) -> Method:
        """The method that a scenario names."""
        return cls[name.upper().replace("-", "_")]


class Window(IntEnum):
    """What carries the plant from one instant of the controller to the next."""

    EVENT_STEPS = 0  # Runge-Kutta from edge to edge, cut at events: every robot, every method
    GENERATED_RK4 = 1  # RK4 from edge to edge in generated code: DC motors
    GENERAL = 2  # fast method, iterated: every robot
    DC = 3  # fast method in one pass: DC motors
    DC_FRICTION = 4  # the same with dry friction
    PMSM = 5  # fast method in one pass: synchronous motors
    PMSM_FRICTION = 7  # the same with dry friction, coupled transmissions or a soft bus
    ELASTIC = 6  # fast method, every motor through its own edges and events: elastic gears


class Rejection(IntEnum):
    """Why a window was left to the steps from edge to edge."""

    NONE = 0
    END_STOP = 1  # a joint meets its stop
    EVENT = 2  # something sticks, lets go, touches or parts in a window that does not see when
    FORCE_JUMP = 3  # a force of the environment, or the base's acceleration, jumps
    COARSE_STEP = 4  # what Runge-Kutta carries is too quick for one step, or currents and speeds do not agree
    MANY_EVENTS = 5  # more events of a motor than a window follows
    BUS_CHANGE = 6  # the voltage of the bus changes too much
    BENT_LOAD = 7  # the path of a load bends more than its motor sees
    JOINT_FRICTION = 8  # a joint sticks or lets go by itself


FIRST_FAST = int(Window.GENERAL)  # from here on the currents are exact and the arm gets torque lines


def choose_window(machine: Machine) -> None:
    """Choose the window from the state of the machine: for calls after power, brakes, faults or friction change."""
    world, motors, stops = machine.world[0], machine.motors, machine.stops
    world["choice"]["smooth"] = int(is_smooth(motors, stops))
    world["choice"]["moving"] = moving_window(machine)
    world["choice"]["at_stop"] = Window.GENERAL if world["method"] == Method.FAST else Window.EVENT_STEPS
    world["choice"]["event_window"] = Window.ELASTIC if fits_elastic_window(machine) else Window.EVENT_STEPS
    world["prediction"]["eventful"] = 0
    world["prediction"]["windows"] = 0  # what a window remembers of the one before belongs to another state
    select = getattr(select_window, "py_func", select_window)
    select(machine.world.view(np.recarray)[0], motors.view(np.recarray), stops.view(np.recarray))


def first_choice(machine: Machine) -> None:
    """Choose the window of a machine that has just been built; where shafts may stick, its first one finds which do."""
    choose_window(machine)
    machine.world["choice"]["unconstrained"] &= machine.world["choice"]["smooth"]


def is_smooth(motors: Any, stops: Any) -> bool:
    """Whether nothing but end stops makes events: no dry friction, no closed brake, no play, no lossy stiff gear."""
    return bool(
        (motors["mode"] == FREE).all()
        and (stops["mode"] == FREE).all()
        and (motors["half_play"] == 0.0).all()
    )


def moving_window(machine: Machine) -> Window:
    """The window for a robot whose joints are all away from their end stops.

    Efforts of an environment enter in ``rates``: that is where the general window and steps from edge to edge pass.
    """
    if machine.world["code"]["environment_at"][0] == 0:
        return usual_window(machine)
    return Window.GENERAL if machine.world["method"][0] == Method.FAST else Window.EVENT_STEPS


def usual_window(machine: Machine) -> Window:
    """The same for a robot without environment."""
    world, motors = machine.world[0], machine.motors
    linear = world["choice"]["smooth"] and not motors["points"].any()  # friction in proportion to the speed
    if world["method"] == Method.FAST:
        if linear and fits_pmsm_window(machine):
            return Window.PMSM
        if fits_dc_window(machine) and decays(machine):
            return Window.DC if linear else Window.DC_FRICTION
        if not fits_elastic_window(machine):
            return Window.GENERAL
        smooth_pmsm = world["elastic"] == 0 and are_all(machine, PMSM)
        return Window.PMSM_FRICTION if smooth_pmsm else Window.ELASTIC
    generated = world["method"] == Method.RK4 and linear and fits_dc_window(machine)
    return Window.GENERATED_RK4 if generated else Window.EVENT_STEPS


def fits_dc_window(machine: Machine) -> bool:
    """Whether all motors are DC, each behind its own stiff gear without loss, their windings fed from a stiff bus."""
    return bool(machine.world["separate"][0]) and connected(machine, DC)


def fits_pmsm_window(machine: Machine) -> bool:
    """Whether all motors are synchronous, each behind its own stiff gear, their windings fed from a stiff bus."""
    world = machine.world[0]
    stiff = world["diagonal"] and world["elastic"] == 0 and world["n_x"] == world["n"]
    return bool(stiff) and connected(machine, PMSM)


def fits_elastic_window(machine: Machine) -> bool:
    """Whether DC and synchronous motors, as many as joints, have gears without loss, stiff or elastic.

    Nor have they hysteresis or a transmission error.

    Friction is no table, joints stick by themselves only behind an elastic gear of their own, and gears swing slowly
    enough for a few terms of a power series.
    """
    world, motors = machine.world[0], machine.motors
    if not (world["n_x"] == world["n"] == world["m"] and np.isin(motors["kind"], (DC.code, PMSM.code)).all()):
        return False
    plain = (
        not motors["open"].any()
        and not motors["points"].any()
        and (motors["eta"] >= 1.0).all()
        and (motors["hysteresis_at"] < 0).all()
        and not motors["gear_waves"].any()
    )
    return bool(plain and joints_fit(machine) and swing(machine) <= MOST_TURN)


def joints_fit(machine: Machine) -> bool:
    """Whether joints do not stick by themselves, or do so behind elastic gears of their own, without tables."""
    sticky = machine.stops["mode"] != FREE
    if not sticky.any():
        return True
    own = machine.world["diagonal"][0] and (machine.motors["flexible"][sticky] >= 0).all()
    return bool(own and not machine.stops["points"].any())


def swing(machine: Machine) -> float:
    """How far a rotor swings against its elastic gear in a current period [rad], or its damper stops it; the most."""
    return float(machine.world["gear_rate"][0] * machine.servo.servo["T_current"][0])


def are_all(machine: Machine, kind: ActuatorKind) -> bool:
    """Whether all motors are of this kind."""
    return bool((machine.motors["kind"] == kind.code).all())


def connected(machine: Machine, kind: ActuatorKind) -> bool:
    """Whether all motors are of one kind, none of them interrupted, on a stiff bus."""
    motors = machine.motors
    stiff_bus = machine.world["at_bus"][0] < 0
    return bool(stiff_bus and are_all(machine, kind) and not motors["open"].any())


def decays(machine: Machine) -> bool:
    """Whether every winding decays within a current period so much that the DC windows keep their digits.

    They divide by R T / L four times. The general window goes from edge to edge by series that hold down to R = 0.
    """
    motors = machine.motors
    rate = (motors["R"] + motors["R_bridge"]) / np.where(motors["L"] > 0.0, motors["L"], np.inf)
    return bool((rate * machine.servo.servo["T_current"][0] >= LEAST_DECAY).all())


@helper
def select_window(world: Any, motors: Any, stops: Any) -> None:
    """Compiled half of the choice: after a window, and where a shaft sticks or slides or a joint meets its stop.

    It sets the window that comes next, and whether the arm obeys its equation as it stands: no joint at its stop, no
    joint and no motor behind a stiff gear stuck, no loss in a stiff gear. Python calls it too, uncompiled: no helpers.
    """
    at_stop = False
    for i in range(world.n):
        at_stop = at_stop or stops[i].state != BETWEEN
    constrained = False
    if not world.choice.smooth:  # else nothing sticks and no stiff gear has losses
        for i in range(world.n):
            constrained = constrained or (stops[i].has_friction != 0 and stops[i].mode == STUCK)
        for j in range(world.m):
            motor = motors[j]
            constrained = constrained or (motor.flexible < 0 and (motor.mode == STUCK or motor.eta < 1.0))
    world.choice.unconstrained = 0 if at_stop or constrained else 1
    window = world.choice.at_stop if at_stop else world.choice.moving
    if window != world.choice.window:
        world.choice.window, world.prediction.windows, world.prediction.eventful = window, 0, 0
