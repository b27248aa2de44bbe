"""From a robot's description to the numbers that the loops are computed with."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from servotwin.control.gains import Gains, Scaling, axis_gains
from servotwin.control.sampled import AxisModel, Timing
from servotwin.description.schema import Controller, Motor, RobotDescription
from servotwin.errors import InputError, UnsupportedError


def controller_of(description: RobotDescription) -> Controller:
    """The controller of a robot file, or an error that says that there is none."""
    if description.controller is None:
        raise InputError(
            f"{description.name} has no controller; expected periods and bandwidths of its loops, as in gsis-scara",
            field="controller",
        )
    return description.controller


def timing_of(controller: Controller) -> Timing:
    """Clocks and delays of the loops. Whatever way pulses become a speed, it is the mean over one period."""
    return Timing(
        current_ns=controller.current_period_ns,
        speed_ns=controller.speed_period_ns,
        axis_ns=controller.axis_period_ns,
        current_delay=controller.computation_delay,
        speed_filter=(controller.speed_filter or 0.0) if controller.speed_sensing == "filtered" else 0.0,
    )


def axis_model(description: RobotDescription, motor: str, J_load: float) -> AxisModel:
    """Motor data of a robot file with a load of inertia ``J_load`` at the motor shaft [kg m2]."""
    axis = description.axes.get(motor)
    data = axis.motor if axis is not None and axis.motor is not None else Motor()
    if data.kind in ("hydraulic", "ideal"):
        raise UnsupportedError(f"axes.{motor}.motor: a motor of kind '{data.kind}' has no current loop")
    pmsm = data.kind == "pmsm"
    K_t = _stated(data, motor, "torque_constant", "N*m/A")
    L = data.inductance_q if pmsm and data.inductance_q is not None else data.inductance
    if L is None and data.kind != "dc-reduced":
        _stated(data, motor, "inductance", "H")
    # Field-oriented control takes the back-EMF out; the driver of a DC motor leaves it to its current loop.
    K_b = 0.0 if pmsm else data.voltage_constant if data.voltage_constant is not None else K_t
    model = AxisModel(
        R=_stated(data, motor, "resistance", "ohm"),
        L=0.0 if data.kind == "dc-reduced" or L is None else L,
        K_t=K_t,
        K_b=K_b,
        J_m=data.rotor_inertia or 0.0,
        J_load=J_load,
        friction=data.viscous_friction or 0.0,
    )
    gear = axis.gear if axis is not None else None
    n = gear.motor_per_joint if gear is not None else None
    if gear is None or n is None or gear.stiffness is None or not model.J_m:
        return model
    return replace(model, stiffness=gear.stiffness / n**2, damping=(gear.damping or 0.0) / n**2)


def _stated(data: Motor, motor: str, field: str, unit: str) -> float:
    value: float | None = getattr(data, field)
    if value is None:
        raise InputError(f"not stated; the loops need it in {unit}", field=f"axes.{motor}.motor.{field}")
    return value


def gains_of(controller: Controller, motor: str, model: AxisModel, **bandwidths: float) -> Gains:
    """Gains of an axis: of the bandwidths, unless the file states them under ``controller.gains``.

    ``bandwidths`` (current_bandwidth, speed_bandwidth, position_bandwidth,
    speed_integral_time) replace those of the controller; a gain that the file
    states does not stand against a bandwidth asked for here.
    """
    wanted = {
        key: bandwidths.get(key, getattr(controller, key))
        for key in ("current_bandwidth", "speed_bandwidth", "position_bandwidth")
    }
    designed = axis_gains(
        model.R,
        model.L,
        model.K_t,
        model.J,
        integral_time=bandwidths.get("speed_integral_time", controller.speed_integral_time),
        **wanted,
    )
    stated = controller.gains.get(motor)
    if stated is None:
        return designed
    values: dict[str, Any] = {f.name: getattr(stated, f.name) for f in fields(Gains)}
    asked = {key.split("_")[0] for key in bandwidths}
    kept = {k: v for k, v in values.items() if v is not None and k.split("_")[0] not in asked}
    return replace(designed, **kept)


def scaling_of(description: RobotDescription, motor: str) -> Scaling | None:
    """Scaling of integer gains; None where encoder, current limit or bus voltage are not stated."""
    axis = description.axes.get(motor)
    if axis is None or axis.motor is None or axis.encoder is None or description.power is None:
        return None
    if axis.motor.current_limit is None:
        return None
    controller = controller_of(description)
    return Scaling(
        counts_per_turn=axis.encoder.counts,
        current_limit=axis.motor.current_limit,
        bus_voltage=description.power.bus_voltage,
        axis_period=controller.axis_period,
        speed_period=controller.speed_period,
        current_period=controller.current_period,
    )
