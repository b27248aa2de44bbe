"""From a robot's description to the numbers that its loops run with: the one place for tuning and simulation."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np

from servotwin.control.tuning.filters import Biquad, low_pass, notch
from servotwin.control.tuning.gains import GAIN_ONE, Gains, Scaling, axis_gains, fixed_gains, gain_units
from servotwin.control.tuning.sampled import Array, AxisModel, Timing
from servotwin.control.tuning.valve import ValveModel, pressure_feedback, valve_gains
from servotwin.control.tuning.valve_stroke import with_feedback
from servotwin.description.drive_data import DriveData, drive_of, drives_of
from servotwin.description.hydraulic_data import cylinder_motors, valve_data
from servotwin.description.motors import required_current_limit, required_drive, required_drives
from servotwin.description.problems import refuse
from servotwin.description.schema import Controller, RobotDescription

HEADROOM = 1.2  # largest speed command over what the joints' speed limits need
LEAST_LOAD = 0.05  # of what a cylinder moves, if nothing else is known to be left without the payload
TOP_SPEED = 300.0  # rad/s: largest speed command of a motor whose limits nobody states


def controller_of(description: RobotDescription) -> Controller:
    """The controller of a robot file, or an error that says that there is none."""
    if description.controller is None:
        raise refuse(
            description,
            "controller",
            "missing: the loops need their periods and bandwidths; expected main_period, axis_period, "
            "speed_period, current_period, position_bandwidth, speed_bandwidth, current_bandwidth",
        )
    return description.controller


def bus_voltage_of(description: RobotDescription) -> float:
    """Voltage of the bus [V]; ideal motors do without one, and 1 V stands for it."""
    if description.power is not None:
        return description.power.bus_voltage
    if all(not required_drive(description, drive).actuator.bridge for drive in drives_of(description)):
        return 1.0
    raise refuse(description, "power.bus_voltage", "missing: what feeds the motors; expected such as '75 V'")


def timing_of(controller: Controller, motor: str | None = None) -> Timing:
    """Clocks and delays of the loops, those of one motor or of servo drivers that take speeds.

    Whatever way pulses become a speed, it is the mean over one period. Where the axis controller closes the speed
    loop, that runs with the position loop, and what the axis controller delays is its current.
    """
    together = motor is not None and controller.speed_in_axis_controller(motor)
    return Timing(
        current_ns=controller.current_period_ns,
        speed_ns=controller.axis_period_ns if together else controller.speed_period_ns,
        axis_ns=controller.axis_period_ns,
        current_delay=controller.computation_delay,
        speed_delay=controller.axis_delay if together else controller.speed_delay,
        axis_delay=0 if together else controller.axis_delay,
        speed_filter=(controller.speed_filter or 0.0) if controller.speed_sensing == "filtered" else 0.0,
        torque_filters=() if motor is None else speed_filters(controller, motor),
    )


def speed_filters(controller: Controller, motor: str) -> tuple[Biquad, ...]:
    """Notches and low-pass in the torque command of a motor, sampled with its speed loop; none under other laws."""
    own = controller.axes.get(motor)
    if own is None or not own.filtered or controller.law != "cascade":
        return ()
    together = controller.speed_in_axis_controller(motor)
    T = controller.axis_period if together else controller.speed_period
    turn = 2.0 * math.pi
    found = [notch(turn * one.frequency, one.width, one.depth, T) for one in own.notches]
    low = own.torque_filter
    if low is not None:
        found.append(low_pass(turn * low.frequency, low.order, low.damping, T))
    return tuple(found)


def feedback_bandwidth(control: Controller) -> float:
    """Bandwidth of a state feedback [rad/s]: as stated, or the geometric mean of those of the cascade."""
    stated = control.state_feedback.bandwidth
    return stated or math.sqrt(control.position_bandwidth * control.speed_bandwidth)


def axis_model(drive: DriveData, J: float) -> AxisModel:
    """A motor behind its gear, with the inertia ``J`` of rotor and load at its shaft [kg m2]."""
    winding = drive.electrical
    return AxisModel(
        R=winding.resistance,
        L=winding.inductance_q,
        torque_constant=winding.torque_constant,
        # Field-oriented control takes the back-EMF out; the driver of a DC motor leaves it to its current loop.
        voltage_constant=winding.voltage_constant if drive.actuator.brushes else 0.0,
        J_m=drive.rotor_inertia,
        J_load=max(J - drive.rotor_inertia, 0.0),
        friction=drive.viscous_friction,
        stiffness=drive.gear.stiffness,
        damping=drive.gear.damping,
    )


def valve_model(
    description: RobotDescription, drive: DriveData, J: float, *, feedback: bool = True
) -> ValveModel:
    """A hydraulic axis that moves ``J`` [kg], with the pressure feedback of its driver or without."""
    data, control = valve_data(description, drive), controller_of(description)

    def linearised(mass: float, position: float | None = None) -> ValveModel:
        linear = data.linear(mass, position)
        weights = np.zeros(len(linear.A))
        weights[-2:] = linear.weights
        return ValveModel(
            linear.A, linear.b, weights, 1.0 / data.speed_gain, mass, linear.natural_frequency, linear.damping,
            data.axis.natural_frequency, data.axis.damping, linear.flow_gain, linear.area, drive.viscous_friction,
            linearised, data.stroke,
        )  # fmt: skip

    model, stated, timing = linearised(J), control.valve, timing_of(control, drive.name)
    if not feedback:
        return model
    if stated.pressure_gain is not None:
        corner = stated.pressure_corner or pressure_feedback(model, timing, stated.damping)[1]
        return replace(model, pressure_gain=stated.pressure_gain, pressure_corner=corner)
    lightest = _lightest(description, drive, J)
    found = with_feedback(
        model, timing, stated.damping, control.margins, lightest, scheduled=stated.scheduled
    )
    return replace(found, pressure_corner=stated.pressure_corner or found.pressure_corner)


def _lightest(description: RobotDescription, drive: DriveData, J: float) -> float:
    """What a cylinder moves without the payload [kg]: a sliding joint moves all of that; of a motor what it is."""
    payload = description.payload
    if payload is None or drive.name not in cylinder_motors(description):
        return J
    ratio = next(ratio for ratio in drive.ratios if ratio)
    return max(J - payload.mass / ratio**2, LEAST_LOAD * J)


def axis_models(
    description: RobotDescription, J: Array, *, feedback: bool = True
) -> list[AxisModel | ValveModel]:
    """Every motor with its load: inertias J at the shafts (m,) [kg m2]; valves with the feedback of their pressures."""
    drives = required_drives(description)
    return [
        valve_model(description, drive, float(inertia), feedback=feedback)
        if drive.actuator.valve
        else axis_model(drive, float(inertia))
        for drive, inertia in zip(drives, J, strict=True)
    ]


def gains_of(
    description: RobotDescription, motor: str, model: AxisModel | ValveModel, **bandwidths: float | None
) -> Gains:
    """Gains of an axis: of the bandwidths, unless the file states them under ``controller.gains``.

    ``bandwidths`` (current_bandwidth, speed_bandwidth, position_bandwidth)
    replace those of the controller; a gain that the file states does not stand
    against a bandwidth asked for here.
    """
    controller = controller_of(description)
    asked = {key: value for key, value in bandwidths.items() if value is not None}
    names = ("current_bandwidth", "speed_bandwidth", "position_bandwidth")
    wanted = {name: asked.get(name, controller.bandwidth(name, motor)) for name in names}
    integral_time = controller.speed_integral_time
    if isinstance(model, ValveModel):
        designed = valve_gains(model, integral_time=integral_time, **wanted)
    else:
        designed = axis_gains(
            model.R, model.L, model.torque_constant, model.J, integral_time=integral_time, **wanted
        )
    loops = {name.split("_")[0] for name in asked}
    stated = _stated_gains(description, motor)
    kept = {name: value for name, value in stated.items() if name.split("_")[0] not in loops}
    return Gains(**{f.name: kept.get(f.name, getattr(designed, f.name)) for f in fields(Gains)})


def _stated_gains(description: RobotDescription, motor: str) -> dict[str, float]:
    """The gains of ``controller.gains``; integers over 256 in SI units (eq:fixed-point)."""
    stated = controller_of(description).gains.get(motor)
    if stated is None:
        return {}
    found = {f.name: getattr(stated, f.name) for f in fields(Gains)}
    if stated.integers is not None:
        units = gain_units(required_scaling(description, motor))
        for f in fields(Gains):
            integer = getattr(stated.integers, f.name)
            if integer is not None:
                found[f.name] = integer / GAIN_ONE * getattr(units, f.name)  # eq:fixed-point
    return {name: value for name, value in found.items() if value is not None}


def scaling_of(description: RobotDescription, motor: str) -> Scaling | None:
    """Scaling of integer gains; None where encoder, current limit or bus voltage are not known."""
    drive = drive_of(description, motor)
    if drive.counts_per_turn is None or drive.ratings.current_limit is None:
        return None
    if description.power is None and drive.actuator.bridge:
        return None
    return required_scaling(description, motor)


def required_scaling(description: RobotDescription, motor: str) -> Scaling:
    """Scaling of integer gains, or an error that names what it lacks."""
    drive = drive_of(description, motor)
    limit = required_current_limit(description, drive, ": integers count currents in parts of it")
    if drive.counts_per_turn is None:
        raise refuse(
            description,
            f"axes.{drive.owner}.encoder",
            "missing: integers count its pulses; expected '{lines: 1000}'",
        )
    controller = controller_of(description)
    together = controller.speed_in_axis_controller(motor)
    return Scaling(
        counts_per_turn=drive.counts_per_turn,
        current_limit=limit,
        bus_voltage=bus_voltage_of(description),
        axis_period=controller.axis_period,
        speed_period=controller.axis_period if together else controller.speed_period,
        current_period=controller.current_period,
    )


def word_warnings(description: RobotDescription, motor: str, gains: Gains) -> list[str]:
    """Integer gains that the words of a fixed-point controller do not hold, one line each."""
    controller = controller_of(description)
    if controller.arithmetic != "fixed":
        return []
    integers = fixed_gains(gains, required_scaling(description, motor))
    most = 2 ** (controller.word_bits - 1) - 1
    return [
        f"axis {motor}: integer gain {f.name} {getattr(integers, f.name)} is beyond {most}, the most that "
        f"controller.word_bits = {controller.word_bits} holds"
        for f in fields(integers)
        if getattr(integers, f.name) > most
    ]


def speed_limits(description: RobotDescription, qd_max: Array) -> Array:
    """Largest speed command of each motor [rad/s] (m,): what ``command_voltage`` stands for."""
    drives = required_drives(description)
    ratios = np.array([drive.ratios for drive in drives])
    needed = np.abs(ratios) @ np.where(np.isfinite(qd_max), qd_max, 0.0)
    stated = [drive.ratings.max_speed or drive.ratings.rated_speed or TOP_SPEED for drive in drives]
    return np.where(needed > 0.0, HEADROOM * needed, stated)


def robot_gains(
    description: RobotDescription, J: Array, **bandwidths: float | None
) -> list[tuple[AxisModel | ValveModel, Gains]]:
    """Model and gains of every motor, from inertias J at the shafts (m,) [kg m2]."""
    return [
        (model, gains_of(description, drive.name, model, **bandwidths))
        for drive, model in zip(drives_of(description), axis_models(description, J), strict=True)
    ]
