"""Servo, motor and gear of every joint: from the scenario, and where it is silent from the robot file."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from servotwin.description.drive_data import DriveData, drives_of
from servotwin.hil.observer_design import (
    MOST_DECAY,
    Observer,
    ShaftBelief,
    butterworth,
    design_harmonics,
    design_observer,
    fastest_rate,
)
from servotwin.hil.records import FREE, JOINT, STUCK, Estimator, Role
from servotwin.hil.scenario import SubstitutionScenario
from servotwin.hil.scenario_parts import AxisServo, Substitute


@dataclass(frozen=True)
class JointDrive:
    """What the simulation believes of a joint's drive (SI, at the shaft; stiffness and damping at the joint)."""

    N: float
    R: float
    K: float
    K_e: float
    J: float
    f: float
    tau_c: float
    u_limit: float
    tau_limit: float
    Kp: float
    Ki: float
    stiffness: float | None
    damping: float

    @property
    def back_emf_damping(self) -> float:
        """Torque per rate of back-EMF and viscous friction [N m s/rad]."""
        return self.K * self.K_e / self.R + self.f


_NAMES = {
    "ratio": "gear.ratio",
    "resistance": "motor.resistance",
    "torque_constant": "motor.torque_constant",
    "rotor_inertia": "motor.rotor_inertia",
}


def joint_drive(scenario: SubstitutionScenario, name: str) -> JointDrive:
    """The drive of a joint; InputError names what neither the scenario nor the robot file states."""
    drive = _drive_of(scenario, name)

    def value(field: str, of_robot: float | None, default: float | None = None) -> float:
        found = _stated(scenario, name, field)
        found = of_robot if found is None else found
        found = default if found is None else found
        if found is None:
            where = f" or axes.{name}.{_NAMES[field]} of the robot" if field in _NAMES else ""
            raise scenario.error(
                f"'{field}' of joint '{name}' is missing; expected servo.{field}{where}", "servo"
            )
        return float(found)

    winding = None if drive is None else drive.winding
    stiffness = _stated(scenario, name, "stiffness")
    if stiffness is None and drive is not None and drive.gear.stiffness is not None:
        stiffness = drive.gear.stiffness * drive.gear.ratio**2
    return JointDrive(
        N=value("ratio", _ratio(scenario, drive, name)),
        R=value("resistance", winding.resistance or None if winding is not None else None),
        K=value(
            "torque_constant", winding.torque_constant if winding and winding.has_torque_constant else None
        ),
        K_e=_back_emf(scenario, name, drive),
        J=value("rotor_inertia", drive.rotor_inertia or None if drive is not None else None),
        f=value("viscous_friction", None if drive is None else drive.viscous_friction, 0.0),
        tau_c=value("coulomb_friction", None if drive is None else drive.shaft_friction.coulomb, 0.0),
        u_limit=value("voltage_limit", None, np.inf),
        tau_limit=value("torque_limit", None if drive is None else drive.ratings.peak_torque, np.inf),
        Kp=value("proportional", None),
        Ki=value("integral", None, 0.0),
        stiffness=stiffness,
        damping=value("damping", None if drive is None else drive.gear.damping * drive.gear.ratio**2, 0.0),
    )


def _back_emf(scenario: SubstitutionScenario, name: str, drive: DriveData | None) -> float:
    """Back-EMF per rate [V s/rad]: of the robot file, whose phases count, or the torque constant of the scenario."""
    stated = _stated(scenario, name, "torque_constant")
    if stated is not None or drive is None or drive.winding is None:
        return stated or 0.0
    return drive.winding.voltage_constant


def drive_warnings(scenario: SubstitutionScenario) -> list[str]:
    """A line for what the robot file says of its drives and the servos of a substitution do not have."""
    left: dict[str, list[str]] = {
        "gear efficiency": [],
        "gear play": [],
        "gear stiffness that changes with the torque": [],
        "static friction above Coulomb's": [],
    }
    for name in scenario.description.joint_names:
        drive = _drive_of(scenario, name)
        if drive is None:
            continue
        friction = drive.shaft_friction
        above = max(friction.static) > friction.coulomb * (1.0 + 1e-9) or any(friction.tables)
        if _stated(scenario, name, "coulomb_friction") is not None:
            above = False
        gear = drive.gear
        found = (gear.efficiency < 1.0, gear.half_play > 0.0, bool(gear.stiffening), above)
        for names, here in zip(left.values(), found, strict=True):
            names += [name] if here else []
    said = [f"{what} ({', '.join(names)})" for what, names in left.items() if names]
    return [f"of the robot file the drives here leave out: {'; '.join(said)}"] if said else []


def _stated(scenario: SubstitutionScenario, name: str, field: str) -> float | None:
    servo = scenario.file.servo
    own = getattr(servo.axes.get(name, AxisServo()), field)
    found = getattr(servo, field) if own is None else own
    return None if found is None else float(found)


def _drive_of(scenario: SubstitutionScenario, name: str) -> DriveData | None:
    """The motor that moves a joint alone; one that shares joints is refused."""
    for drive in drives_of(scenario.description):
        if name in drive.joints and drive.driven:
            if not drive.alone:
                raise scenario.error(
                    f"{_sharing(scenario, name)}; expected a robot each of whose joints has a motor of its own",
                    "robot",
                )
            return drive
    return None


def _sharing(scenario: SubstitutionScenario, name: str) -> str:
    """Which motors move a joint with others, in words."""
    moving = [drive for drive in drives_of(scenario.description) if name in drive.joints and drive.driven]
    for drive in moving:
        if len(drive.joints) > 1:
            return f"motor '{drive.name}' moves {', '.join(drive.joints)} together"
    return f"joint '{name}' is moved by the motors {', '.join(drive.name for drive in moving)} together"


def _ratio(scenario: SubstitutionScenario, drive: DriveData | None, name: str) -> float | None:
    if drive is None or not any(drive.ratios):
        return None
    return drive.ratios[scenario.description.joint_names.index(name)]


def joint_records(scenario: SubstitutionScenario) -> Any:
    """An array of JOINT: the robot's joints in the order of q, then those of a moving base."""
    names, file = scenario.description.joint_names, scenario.file
    base = list(file.environment.base.items())
    joints = np.zeros(len(names) + len(base), dtype=JOINT)
    for joint, name in zip(joints, names, strict=False):
        drive = joint_drive(scenario, name)
        _enter(joint, drive)
        _enter_commands(joint, scenario, name)
        _enter_friction(joint, scenario, name)
        start = file.start.get(name, scenario.description.home.get(name, 0.0))
        joint["q"] = joint["q_last"] = start
        joint["theta"] = joint["theta_last"] = drive.N * start
        if name in scenario.substituted and file.substitute is not None:
            _substitute(joint, drive, file.substitute, scenario.substituted.index(name), scenario)
    for joint, (_, steps) in zip(joints[len(names) :], base, strict=True):
        joint["role"], joint["N"], joint["points"] = Role.BASE, 1.0, len(steps)
        joint["times"][: len(steps)], joint["values"][: len(steps)] = np.array(steps).T
    return joints


def _enter(joint: Any, drive: JointDrive) -> None:
    for name in ("N", "R", "K", "K_e", "J", "f", "tau_c", "u_limit", "tau_limit", "Kp", "Ki", "damping"):
        joint[name] = getattr(drive, name)
    joint["tau_s"] = drive.tau_c
    joint["stiffness"], joint["compliant"] = drive.stiffness or 0.0, int(drive.stiffness is not None)
    joint["mode"] = STUCK if drive.tau_c > 0.0 else FREE
    joint["rest_rate"], joint["load_limit"] = 0.2, np.inf


def _enter_commands(joint: Any, scenario: SubstitutionScenario, name: str) -> None:
    rate, points = 0.0, scenario.file.command
    for k, command in enumerate(points):
        rate = command.rates.get(name, rate)
        joint["times"][k], joint["values"][k] = command.at, rate
    joint["points"] = len(points)


def _enter_friction(joint: Any, scenario: SubstitutionScenario, name: str) -> None:
    """Friction of the joint itself: a rigid gear brings it to a simulated shaft, which sticks for it."""
    stated = scenario.file.environment.joint_friction.get(name)
    if stated is None:
        return
    if name in scenario.substituted or joint["compliant"]:
        joint["f_joint"], joint["c_joint"] = stated.viscous, stated.coulomb
        return
    N = abs(float(joint["N"]))
    joint["f"] += stated.viscous / N**2
    joint["tau_c"] += stated.coulomb / N
    joint["tau_s"] = joint["tau_c"]
    joint["mode"] = STUCK if joint["tau_c"] > 0.0 else FREE


def _substitute(
    joint: Any, drive: JointDrive, how: Substitute, shaft: int, scenario: SubstitutionScenario
) -> None:
    period = scenario.period
    joint["role"], joint["shaft"], joint["delay"] = Role.SUBSTITUTED, shaft, scenario.delay
    joint["rest_rate"], joint["load_limit"] = how.rest_rate, how.load_limit or np.inf
    joint["stamped"] = int(how.stamps)
    joint["measured_current"] = int(how.drive_torque == "current")
    if how.estimator == "filter" and how.filter is not None:
        joint["estimator"] = Estimator.FILTER
        for name, value in zip(
            ("b0", "b1", "b2", "a1", "a2"), butterworth(how.filter.cut_off, period), strict=True
        ):
            joint[name] = value
        return
    joint["estimator"] = Estimator.OBSERVER
    joint["angle_measured"] = int(how.observer.measures == "angle")
    filtered = rig_cut_off(scenario, shaft)
    _check_speed(shaft_belief(drive, how, filtered), scenario)
    observer = shaft_observer(drive, how, period, scenario.delay, filtered)
    for name in ("A", "B", "C", "L", "B_before", "A_ahead", "B_ahead", "F", "flow", "terms"):
        joint[name] = getattr(observer, name)
    if how.observer.harmonics:
        belief = shaft_belief(drive, how, filtered)
        made = design_harmonics(belief, period, scenario.delay, how.observer.harmonic_torque)
        orders = how.observer.harmonics
        joint["harmonics"], joint["orders"][: len(orders)] = len(orders), orders
        for each in fields(made):
            joint[each.name] = getattr(made, each.name)


def _check_speed(shaft: ShaftBelief, scenario: SubstitutionScenario) -> None:
    """Refuse an observer whose states are over long before the next sample."""
    most = MOST_DECAY / scenario.period
    if fastest_rate(shaft) <= most:
        return
    where, text = "substitute.observer", f"states as fast as {fastest_rate(shaft):.4g} 1/s"
    remedy = "a higher rates.servo"
    if shaft.cut_off is not None and 2.0 * math.pi * shaft.cut_off > most:
        where, text = f"{where}.analog_cut_off", f"{shaft.cut_off:g} Hz"
        remedy = (
            f"at most {most / (2.0 * math.pi):.4g} Hz, or none: such a filter is over before the next sample"
        )
    raise scenario.error(
        f"{text} cannot be observed at {1.0 / scenario.period:g} Hz; expected {remedy}", where
    )


def rig_cut_off(scenario: SubstitutionScenario, shaft: int) -> float | None:
    """Cut-off of the analog filter behind the tachometer of a shaft, as the rig file says [Hz]; None: no filter.

    None too for one that is over before the next sample: what the tachometer shows then is the rate.
    """
    shafts = [] if scenario.rig is None else list(scenario.rig.shafts.values())
    tachometer = shafts[shaft].tachometer if shaft < len(shafts) else None
    cut_off = None if tachometer is None else tachometer.cut_off
    return None if 2.0 * math.pi * (cut_off or 0.0) * scenario.period > MOST_DECAY else cut_off


def shaft_observer(
    drive: JointDrive, how: Substitute, period: float, delay: float = 0.0, cut_off: float | None = None
) -> Observer:
    """The observer of a substituted shaft; ``cut_off`` [Hz] of its rig where the scenario states none."""
    return design_observer(shaft_belief(drive, how, cut_off), period, delay)


def shaft_belief(drive: JointDrive, how: Substitute, cut_off: float | None = None) -> ShaftBelief:
    """What the observer of a substituted shaft believes."""
    belief, angle = how.observer, how.observer.measures == "angle"
    return ShaftBelief(
        J=drive.J,
        damping=drive.back_emf_damping,
        cut_off=None if angle else belief.analog_cut_off or cut_off,
        noise=belief.noise / np.sqrt(belief.noise_bandwidth),
        resolution=belief.angle_resolution if angle else belief.resolution,
        disturbance=belief.disturbance,
        angle=angle,
        noise_rms=belief.noise,
    )
