"""Every number of a robot file: what is true leaves the controller alone, what is believed the plant."""

from __future__ import annotations

import copy
import typing
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from servotwin.description.as_built import as_built
from servotwin.description.error_sources import base_compliance
from servotwin.description.fields import Part
from servotwin.description.load import read_description
from servotwin.description.schema import RobotDescription
from servotwin.motion.limits import limits_of
from servotwin.simulation.live_robot import make_controller
from servotwin.simulation.run import Run, prepare
from servotwin.simulation.scenario.scenario import Scenario, read_scenario
from tests import small_drives as small

# What of the records is measured or has been integrated: it follows from both, through the plant.
MEASURED = {
    "count", "last_count", "w_command", "next_w", "w_ref", "i_ref", "next_i", "i_meas", "i_d_meas", "i_feedforward",
    "next_feedforward", "u_ref", "m_a", "m_b", "next_a", "next_b", "sum_x", "sum_n", "sum_i", "sum_d", "acc_x", "acc_n",
    "acc_i", "acc_d", "edge_time", "edge_rate", "edge_count", "p_load", "p_slow", "filter_memory",
}  # fmt: skip
# Where the plant stands: at what the controller believes to be the start.
STATE = {"theta", "tau", "torque_command", "current_command", "contact", "count", "y"}

# Who has a number: the controller (C), the plant (P), both, or nobody who runs.
REACHES = {
    "gravity": "CP",
    "axes.*.direction": "",  # a sign
    **dict.fromkeys([f"axes.*.{form}.{name}" for form in ("dh", "mdh") for name in ("theta", "d", "a", "alpha")], "CP"),
    "axes.*.origin.xyz": "CP",
    "axes.*.origin.rpy": "CP",
    "axes.*.axis": "CP",
    "axes.*.limits.position": "CP",  # the end stops lie beyond it
    "axes.*.limits.speed": "CP",  # a run is held against it
    "axes.*.limits.acceleration": "C",
    "axes.*.limits.jerk": "C",
    "axes.*.limits.effort": "CP",  # bounds plans, and a run is held against it
    "axes.*.link.mass": "CP",
    "axes.*.link.center": "CP",
    **dict.fromkeys([f"axes.*.link.inertia.tensor.{entry}" for entry in ("xx", "yy", "zz", "xy", "xz", "yz")], "CP"),
    **dict.fromkeys([f"axes.*.link.inertia.gyration.{name}" for name in ("radius", "x", "y", "z")], "CP"),
    "axes.*.link.inertia.rpy": "CP",
    "axes.*.gear.ratio": "CP",
    "axes.*.gear.lead": "CP",
    "axes.*.gear.efficiency": "CP",  # a plan keeps within what the drives can give
    "axes.*.gear.stiffness": "CP",  # references that are turned ahead by the twist of gears
    "axes.*.gear.damping": "P",
    "axes.*.gear.stiffening": "P",
    "axes.*.gear.backlash": "P",
    "axes.*.gear.inertia": "CP",
    "axes.*.gear.no_load_torque": "CP",
    "axes.*.gear.starting_torque": "CP",
    "axes.*.motor.rated_output": "",
    "axes.*.motor.rated_speed": "C",  # the largest speed command where no limit is stated
    "axes.*.motor.rated_torque": "C",  # current limit, and range of the driver's sensor, where none is stated
    "axes.*.motor.rated_current": "C",
    "axes.*.motor.rated_voltage": "",
    "axes.*.motor.peak_torque": "CP",
    "axes.*.motor.max_speed": "CP",
    "axes.*.motor.torque_constant": "CP",
    "axes.*.motor.voltage_constant": "",  # must agree with the torque constant
    "axes.*.motor.resistance": "CP",
    "axes.*.motor.inductance": "CP",
    "axes.*.motor.inductance_d": "CP",
    "axes.*.motor.inductance_q": "CP",
    "axes.*.motor.rotor_inertia": "CP",
    "axes.*.motor.viscous_friction": "CP",
    "axes.*.motor.coulomb_friction": "CP",
    "axes.*.motor.static_friction": "CP",
    "axes.*.motor.stribeck_speed": "CP",
    "axes.*.motor.friction_table": "CP",
    **dict.fromkeys(
        [f"axes.*.friction.{name}" for name in ("viscous", "coulomb", "static", "stribeck_speed", "table")], "CP"
    ),
    "axes.*.motor.current_limit": "C",  # set in the driver; the range of its sensor follows where none is stated
    "axes.*.motor.pole_pairs": "CP",
    **dict.fromkeys(
        [
            f"axes.*.motor.thermal.{name}"
            for name in (
                "winding_to_housing", "housing_to_ambient", "winding_capacity", "housing_capacity",
                "temperature_coefficient", "reference_temperature", "limit",
            )
        ],
        "P",
    ),
    "axes.*.motor.mass": "",
    **dict.fromkeys(
        [
            f"axes.*.motor.valve.{name}"
            for name in (
                "rated_flow", "rated_drop", "rated_current", "natural_frequency", "damping", "overlap", "null_leakage",
                "laminar_drop",
            )
        ],
        "CP",
    ),
    "axes.*.motor.valve.slew_time": "P",
    **dict.fromkeys(
        [
            f"axes.*.motor.{part}.{name}"
            for part in ("cylinder", "hydraulic_motor")
            for name in ("dead_volume", "leakage", "external_leakage")
        ],
        "CP",  # the damping that a pressure feedback has to add
    ),
    "axes.*.motor.cylinder.seal_friction": "P",  # a disturbance to the controller
    "axes.*.motor.hydraulic_motor.seal_friction": "P",
    "axes.*.motor.cylinder.area": "CP",
    "axes.*.motor.cylinder.rod_side_area": "CP",
    "axes.*.motor.hydraulic_motor.displacement": "CP",
    **dict.fromkeys([f"axes.*.motor.cylinder.cushion.{name}" for name in ("length", "flow", "drop")], "P"),
    "axes.*.brake.torque": "P",
    "axes.*.brake.delay": "CP",  # how long it takes, and how long the main controller waits
    "axes.*.encoder.lines": "CP",
    "axes.*.encoder.counting": "CP",
    "axes.*.encoder.bits": "CP",
    "axes.*.encoder.resolution": "CP",
    "parents": "",  # an order
    **dict.fromkeys([f"axes.*.deviation.{name}" for name in ("position", "rotation", "offset", "scale")], "CP"),
    **dict.fromkeys(
        [f"{place}.deviation.{name}" for place in ("base", "tool") for name in ("position", "rotation")], "CP"
    ),
    "axes.*.deviation.harmonics": "CP",
    "loops.*.between.*.deviation.position": "CP",
    "loops.*.between.*.deviation.rotation": "",  # as rpy
    "tool.xyz": "CP",
    "tool.rpy": "CP",
    "tool.limits.speed": "C",
    "tool.limits.acceleration": "C",
    "tool.limits.jerk": "C",
    "payload.mass": "CP",
    "payload.center": "CP",
    **dict.fromkeys([f"payload.inertia.tensor.{entry}" for entry in ("xx", "yy", "zz", "xy", "xz", "yz")], "CP"),
    **dict.fromkeys([f"payload.inertia.gyration.{name}" for name in ("radius", "x", "y", "z")], "CP"),
    "payload.inertia.rpy": "CP",
    "payload.largest": "",
    "couplings.*.of": "CP",
    "couplings.*.offset": "CP",
    "loops.*.between.*.xyz": "CP",
    "loops.*.between.*.rpy": "",  # its z is all that counts, and that must not leave the plane
    "transmission.matrix": "CP",
    "power.bus_voltage": "CP",
    "power.supply_resistance": "P",
    "power.capacitance": "P",
    "power.braking_resistor.resistance": "P",
    "power.braking_resistor.on": "P",
    "power.braking_resistor.off": "P",
    "power.max_voltage": "P",
    "power.bridge.dead_time": "P",
    "power.bridge.storage_time": "P",
    "power.bridge.on_resistance": "CP",
    **dict.fromkeys(
        [
            f"controller.{name}"
            for name in (
                "main_period", "axis_period", "speed_period", "current_period", "computation_delay", "speed_delay",
                "axis_delay", "jitter", "position_bandwidth", "speed_bandwidth", "current_bandwidth",
                "speed_integral_time", "speed_filter", "command_bits", "command_voltage",
            )
        ],
        "C",
    ),
    "hydraulics.supply_pressure": "CP",
    "hydraulics.tank_pressure": "CP",
    "hydraulics.oil.density": "P",
    "hydraulics.oil.bulk_modulus": "CP",
    "hydraulics.oil.entrained_gas": "CP",
    "hydraulics.oil.gas_exponent": "CP",
    "hydraulics.oil.cavitation_pressure": "P",
    **dict.fromkeys(
        [
            f"hydraulics.{name}"
            for name in (
                "pump.flow", "pump.efficiency", "relief.pressure", "relief.flow", "relief.override",
                "accumulator.volume", "accumulator.precharge", "accumulator.exponent", "line_volume",
            )
        ],
        "P",  # the controller counts on its supply pressure
    ),
    **dict.fromkeys([f"controller.pressure_sensor.{name}" for name in ("bits", "range", "offset", "noise")], "P"),
    **dict.fromkeys(
        [
            f"controller.valve.{name}"
            for name in ("damping", "pressure_gain", "pressure_corner", "overlap_compensation")
        ],
        "C",
    ),
    "controller.margins.phase": "C",  # that the pressure feedback of a valve keeps
    "controller.margins.gain": "",  # of it as well, where the phase is no tighter limit
    "controller.word_bits": "",  # warned of, no more
    **dict.fromkeys(
        [f"controller.state_feedback.{name}" for name in ("bandwidth", "integral_time", "observer_bandwidth")],
        "C",
    ),
    "controller.current_sensor.bits": "P",
    "controller.current_sensor.range": "CP",
    "controller.current_sensor.offset": "P",
    "controller.current_sensor.noise": "P",
    **dict.fromkeys(
        [
            f"controller.feedforward.{name}"
            for name in ("velocity", "acceleration", "torque", "gravity", "twist", "gravity_twist")
        ],
        "C",
    ),
    **dict.fromkeys(
        [
            f"controller.axes.*.{name}"
            for name in (
                "position_bandwidth", "speed_bandwidth", "current_bandwidth", "notches.*.frequency", "notches.*.width",
                "notches.*.depth", "torque_filter.frequency", "torque_filter.order", "torque_filter.damping",
            )
        ],
        "C",
    ),
    **dict.fromkeys(
        [f"controller.shaping.{name}" for name in ("frequency", "damping", "tolerance", "modes")], "C"
    ),
    **dict.fromkeys(
        [
            f"controller.gains.*.{form}{name}"
            for form in ("", "integers.")
            for name in (
                "position", "position_integral", "speed_proportional", "speed_integral", "current_proportional",
                "current_integral",
            )
        ],
        "C",
    ),
    # what makes the robot as it is: nobody tells the controller
    **dict.fromkeys(
        [
            f"error_sources.axes.*.{name}"
            for name in (
                "eccentricity", "encoder_noise", "stiffness", "damping", "stiffening", "backlash", "hysteresis",
                "transmission_error", "output_error", "coulomb_friction", "temperature_rise",
            )
        ],
        "P",
    ),
    "error_sources.axes.*.heating": "",  # of a drift over hours, which no run is
    **dict.fromkeys(
        [
            f"error_sources.geometry.{name}"
            for name in (
                "length", "angle", "joint_offset", "slide_offset", "base_position", "base_angle", "tool_position",
                "tool_angle", "sigmas",
            )
        ],
        "P",
    ),
    **dict.fromkeys(
        [f"error_sources.thermal.{name}" for name in ("expansion", "temperature_rise", "time_constant", "elapsed")],
        "P",
    ),
    **dict.fromkeys([f"error_sources.base.{name}" for name in ("stiffness", "rotational_stiffness", "matrix")], "P"),
    "error_sources.trial": "P",
    "error_sources.seed": "P",
    "home": "C",
    "axes.*.motor.mount.axis": "CP",
    "quantities.*.of": "C",  # limits of plans and of the watch; nothing stops there
    "quantities.*.offset": "C",
    "quantities.*.limits": "C",
    # limits of plans, inverse kinematics and workspaces: no run reads them
    "frame_quantities.*.limits": "",
    "frame_quantities.*.radius": "",
    # what stands still, and what is drawn
    **dict.fromkeys([f"base.{name}" for name in ("mass", "center", "inertia.rpy")], ""),
    **dict.fromkeys([f"base.inertia.tensor.{entry}" for entry in ("xx", "yy", "zz", "xy", "xz", "yz")], ""),
    **dict.fromkeys([f"base.inertia.gyration.{name}" for name in ("radius", "x", "y", "z")], ""),
    **dict.fromkeys(
        [
            f"{place}.shapes.*.{name}"
            for place in ("base", "axes.*.link")
            for name in ("box", "cylinder.length", "cylinder.radius", "rpy", "scale", "sphere", "xyz")
        ],
        "",
    ),
}  # fmt: skip


# --- robots that use every field --------------------------------------------------------------------

TENSOR = {
    "tensor": {"xx": "0.02 kg*m^2", "yy": "0.03 kg*m^2", "zz": "0.04 kg*m^2", "xy": "1e-3 kg*m^2",
               "xz": "2e-3 kg*m^2", "yz": "1.5e-3 kg*m^2"},
    "rpy": ["0.1 rad", "0.2 rad", "0.3 rad"],
}  # fmt: skip
LINK = {"mass": "2 kg", "center": ["0.2 m", "0.03 m", "0.02 m"], "inertia": TENSOR}
LIMITS = {
    "position": ["-2 rad", "2 rad"], "speed": "4 rad/s", "acceleration": "30 rad/s^2", "jerk": "1000 rad/s^3",
    "effort": "400 N*m",
}  # fmt: skip
THERMAL = {
    "winding_to_housing": "0.5 K/W", "housing_to_ambient": "0.8 K/W", "winding_capacity": "80 J/K",
    "housing_capacity": "400 J/K", "limit": "140 degC",
}  # fmt: skip
MOTOR = {
    **small.DC, "coulomb_friction": "0.02 N*m", "static_friction": "0.03 N*m", "stribeck_speed": "2 rad/s",
    "peak_torque": "3 N*m", "max_speed": "500 rad/s", "rated_speed": "300 rad/s", "thermal": THERMAL,
}  # fmt: skip
SOFT = {
    "ratio": 50,
    "efficiency": 0.9,
    "stiffness": "6000 N*m/rad",
    "damping": "5 N*m*s/rad",
    "backlash": "1 mrad",
    "inertia": "2e-5 kg*m^2",
    "no_load_torque": [["50 rad/s", "0.01 N*m"], ["300 rad/s", "0.02 N*m"]],
    "starting_torque": "0.012 N*m",
}
RUBS = {"viscous": "0.3 N*m*s/rad", "coulomb": "2 N*m", "static": "3 N*m", "stribeck_speed": "0.1 rad/s"}
AXIS = {"limits": LIMITS, "link": LINK, "gear": SOFT, "friction": RUBS, "motor": MOTOR,
        "encoder": {"lines": 2500, "counting": 4}, "brake": {"torque": "2 N*m", "delay": "30 ms"}}  # fmt: skip
POWER = {
    "bus_voltage": "60 V", "supply_resistance": "0.4 ohm", "capacitance": "8 mF", "max_voltage": "90 V",
    "braking_resistor": {"resistance": "10 ohm", "on": "75 V", "off": "70 V"},
    "bridge": {"dead_time": "1 us", "storage_time": "0.5 us", "on_resistance": "20 mohm"},
}  # fmt: skip
GAINS = {
    "position": "20 1/s", "position_integral": "10 1/s^2", "speed_proportional": "0.2 A*s/rad",
    "speed_integral": "8 A/rad", "current_proportional": "1 V/A", "current_integral": "500 V/(A*s)",
}  # fmt: skip
INTEGERS = {
    "position": 5000, "position_integral": 20, "speed_proportional": 3000, "speed_integral": 90,
    "current_proportional": 700, "current_integral": 120,
}  # fmt: skip
CONTROLLER = {
    **small.CONTROLLER,
    "jitter": "10 us",
    "speed_sensing": "filtered",
    "speed_filter": "2 ms",
    "command_bits": 14,
    "speed_integral_time": "40 ms",
    "current_sensor": {"bits": 12, "range": "30 A", "offset": "10 mA", "noise": "5 mA"},
    "feedforward": {"velocity": 0.5, "acceleration": 0.2, "torque": 0.4, "gravity": 0.3},
}
PAYLOAD = {"mass": "1 kg", "center": ["0.05 m", "0.02 m", "0.03 m"], "inertia": TENSOR}
ODD = {"position": ["1 mm", "2 mm", "3 mm"], "rotation": ["1 mrad", "2 mrad", "3 mrad"]}
ODD_JOINT = {**ODD, "offset": "2 mrad", "scale": 1e-4, "harmonics": [[1, "1 mrad", "20 deg"]]}
TOOL = {"xyz": ["0.1 m", "0.02 m", "0.2 m"], "rpy": ["0.3 rad", "0.2 rad", "0.1 rad"],
        "limits": {"speed": "1 m/s", "acceleration": "9 m/s^2", "jerk": "90 m/s^3"},
        "deviation": ODD}  # fmt: skip
SIX = [[1e7 if i == k else 1e4 for k in range(6)] for i in range(6)]
HOME = {"A": "0.2 rad", "B": "0.4 rad"}


def with_dh(form: str) -> small.Tree:
    """Two axes of Denavit and Hartenberg rows with everything."""
    rows = [{"theta": "0.2 rad", "d": "0.1 m", "a": "0.3 m", "alpha": "1.2 rad"},
            {"theta": "0.3 rad", "d": "0.2 m", "a": "0.25 m", "alpha": "0.7 rad"}]  # fmt: skip
    axes = {name: {**AXIS, form: row, "deviation": ODD_JOINT} for name, row in zip("AB", rows, strict=True)}
    more = {"payload": PAYLOAD, "tool": TOOL, "home": HOME, "base": {"deviation": ODD}}
    return {"format": "servotwin/1", "name": "rich", "gravity": ["1 m/s^2", "2 m/s^2", "-9 m/s^2"], "axes": axes,
            "power": POWER, "controller": CONTROLLER, **more}  # fmt: skip


def synchronous() -> small.Tree:
    """Fixed arithmetic, integer gains, default sensor range; motors without stated current limits."""
    motor = {key: value for key, value in small.PMSM.items() if key != "current_limit"}
    turning = {
        "origin": {"xyz": ["0.1 m", "0.2 m", "0.3 m"], "rpy": ["1.3 rad", "0.2 rad", "0.4 rad"]},
        "axis": [0.2, 0.3, 0.9],
        "limits": {"position": ["-2 rad", "2 rad"]},
        "link": {"mass": "2 kg", "center": ["0.2 m", "0.1 m", "0.05 m"],
                 "inertia": {"gyration": {"x": "0.1 m", "y": "0.12 m", "z": "0.13 m"}}},
        "gear": {"ratio": 50}, "motor": {**motor, "rated_torque": "1 N*m", "rated_speed": "300 rad/s"},
        "encoder": {"bits": 20},
    }  # fmt: skip
    sliding = {
        "type": "prismatic", "origin": {"xyz": ["0.3 m", "0 m", "0 m"], "rpy": ["0.4 rad", "0 rad", "0 rad"]},
        "limits": {"position": ["-0.4 m", "0.4 m"], "speed": "0.5 m/s"},
        "link": {"mass": "3 kg", "center": ["0.1 m", "0.1 m", "0.05 m"],
                 "inertia": {"gyration": {"radius": "0.1 m", "axes": ["x", "y"]}}},
        "gear": {"lead": "10 mm"}, "motor": {**motor, "rated_current": "6 A"}, "encoder": {"lines": 5000},
    }  # fmt: skip
    control = {**small.CONTROLLER, "arithmetic": "fixed", "gains": {"A": {"integers": INTEGERS}, "B": GAINS}}
    payload = {"mass": "1 kg", "inertia": {"gyration": {"x": "0.1 m", "y": "0.1 m", "z": "0.1 m"}}}
    round_one = {"mass": "1 kg", "inertia": {"gyration": {"radius": "0.1 m", "axes": ["x", "y", "z"]}}}
    more = {"payload": payload, "home": {"A": "0.2 rad", "B": "0.1 m"}, "round": round_one}
    return {"format": "servotwin/1", "name": "rich", "axes": {"A": turning, "B": sliding},
            "power": {"bus_voltage": "60 V"}, "controller": control, **more}  # fmt: skip


def geared(**changes: Any) -> small.Tree:
    """Two plain axes, for what couples them."""
    axis = small.axis(origin={"xyz": ["0.2 m", "0.1 m", "0 m"], "rpy": ["1.3 rad", "0.2 rad", "0.4 rad"]})
    axis["link"] = LINK
    return small.robot({"home": HOME, **changes}, axes={"A": axis, "B": copy.deepcopy(axis)})


def imperfect(**changes: Any) -> small.Tree:
    """Two revolute axes and a sliding one with every error source."""
    plain = geared(payload=PAYLOAD)
    slide = {**copy.deepcopy(plain["axes"]["B"]), "type": "prismatic", "gear": {"ratio": "600 rad/m"},
             "limits": {"position": ["-0.5 m", "0.5 m"], "speed": "0.4 m/s"}}  # fmt: skip
    plain["axes"]["C"] = slide
    gear = {"stiffness": "6000 N*m/rad", "damping": "5 N*m*s/rad", "hysteresis": "1 arcmin"}
    encoder = {"eccentricity": [[1, "1 arcmin"], [2, "20 arcsec", "10 deg"]], "encoder_noise": "2 arcsec"}
    first = {**gear, **encoder, "stiffening": [["2 N*m", "9000 N*m/rad"]], "temperature_rise": "5 K",
             "transmission_error": [[2, "30 arcsec"]], "output_error": [[1, "1 arcmin"]]}  # fmt: skip
    second = {**gear, "backlash": "1 mrad", "coulomb_friction": "0.02 N*m"}
    geometry = dict.fromkeys(("length", "slide_offset", "base_position", "tool_position"), "0.1 mm")
    geometry |= dict.fromkeys(("angle", "joint_offset", "base_angle", "tool_angle"), "0.01 deg")
    section = {
        "enabled": "true", "trial": 2, "axes": {"A": first, "B": second}, "geometry": geometry,
        "thermal": {"expansion": "23e-6 1/K", "temperature_rise": "10 K", "elapsed": "1 h"},
        "base": {"stiffness": ["1e7 N/m"] * 3, "rotational_stiffness": ["1e6 N*m/rad"] * 3},
    }  # fmt: skip
    return {**plain, "error_sources": small.merged(section, changes)}


def hydraulic() -> dict[str, small.Tree]:
    """A lift on a pump with every field of a cylinder, and a hydraulic motor with a stated pressure feedback."""
    valve = {
        "rated_flow": "3.8 L/min", "rated_drop": "70 bar", "rated_current": "40 mA", "natural_frequency": "120 Hz",
        "damping": 0.8, "slew_time": "5 ms", "overlap": "2 %", "null_leakage": "0.2 L/min", "laminar_drop": "1 bar",
    }  # fmt: skip
    cylinder = {
        "area": "2 cm^2", "rod_side_area": "1.5 cm^2", "dead_volume": "5 cm^3", "leakage": "1e-13 m^3/(s*Pa)",
        "external_leakage": "1e-14 m^3/(s*Pa)", "seal_friction": "3 %",
        "cushion": {"length": "10 mm", "flow": "0.5 L/min", "drop": "70 bar"},
    }  # fmt: skip
    supply = {
        "supply_pressure": "70 bar", "tank_pressure": "2 bar", "line_volume": "0.1 L",
        "oil": {"density": "860 kg/m^3", "bulk_modulus": "1.3 GPa", "entrained_gas": "1 %", "gas_exponent": 1.3,
                "cavitation_pressure": "0.2 bar"},
        "pump": {"flow": "5 L/min", "efficiency": 0.85},
        "relief": {"pressure": "70 bar", "flow": "6 L/min", "override": "4 bar"},
        "accumulator": {"volume": "0.3 L", "precharge": "45 bar", "exponent": 1.25},
    }  # fmt: skip
    sensor = {"bits": 12, "range": "100 bar", "offset": "0.1 bar", "noise": "0.02 bar"}
    control = {"pressure_sensor": sensor, "valve": {"damping": 0.5, "overlap_compensation": 0.9},
               "margins": {"phase": "35 deg"}}  # fmt: skip
    lift = {**small.LIFT, "gear": None, "link": {"mass": "40 kg"}, "encoder": {"resolution": "1 um"},
            "motor": {"kind": "hydraulic", "valve": valve, "cylinder": cylinder}}  # fmt: skip
    rotary = {"displacement": "2e-6 m^3/rad", "dead_volume": "20 cm^3", "leakage": "1e-13 m^3/(s*Pa)",
              "external_leakage": "1e-14 m^3/(s*Pa)", "seal_friction": "3 %"}  # fmt: skip
    turning = small.axis(
        motor={"kind": "hydraulic", "valve": valve, "hydraulic_motor": rotary}, gear={"ratio": 5}
    )
    stated = {"pressure_gain": "1e-9 A/Pa", "pressure_corner": "30 rad/s"}
    return {
        "cylinder": small.robot(
            {"hydraulics": supply, "controller": control, "power": None},
            axes={"A": {key: value for key, value in lift.items() if value is not None}},
        ),
        "hydraulic motor": small.robot(
            {"hydraulics": {"supply_pressure": "70 bar"}, "controller": {"valve": stated}, "power": None},
            axes={"A": turning},
        ),
        "damped hydraulic motor": small.robot(
            {"hydraulics": {"supply_pressure": "70 bar"}, "power": None}, axes={"A": turning}
        ),
    }


def robots() -> dict[str, small.Tree]:
    """The robots by name."""
    fixed = synchronous()
    round_one = fixed.pop("round")
    bare = copy.deepcopy(small.DC)
    bare.pop("current_limit")
    bare.pop("rated_torque")
    driven = {
        "motor": {**bare, "peak_torque": "2 N*m"},
        "gear": {"ratio": 50},
        "encoder": {"bits": 20},
        "limits": {"speed": "4 rad/s"},
    }
    follower = {
        key: value for key, value in small.axis().items() if key in ("origin", "axis", "link", "type")
    }
    follower = {
        **follower,
        "origin": {"xyz": ["0.2 m", "0.1 m", "0.1 m"], "rpy": ["0.5 rad", "0.2 rad", "0.4 rad"]},
    }
    coupled = geared()
    for axis in coupled["axes"].values():
        axis["motor"] = {key: value for key, value in small.DC.items() if key != "viscous_friction"}
        axis["motor"]["friction_table"] = [["0 rad/s", "0.02 N*m"], ["80 rad/s", "0.05 N*m"]]
        axis["friction"] = {"table": [["0 rad/s", "1 N*m"], ["2 rad/s", "3 N*m"]]}
    coupled["axes"] = {**coupled["axes"], "C": {**follower, "link": LINK}}
    coupled["couplings"] = [{"joint": "C", "of": {"A": 0.5, "B": -1.0}, "offset": "0.1 rad"}]
    belt = geared(
        transmission={"motors": ["A", "B"], "matrix": [[50, 5], [12, 30]]},
        controller={"law": "computed-torque"},
        rotor_coupling="full",
        quantities={"elbow": {"of": {"A": 1, "B": -0.5}, "offset": "0.2 rad", "limits": ["-3 rad", "3 rad"]}},
    )
    for axis in belt["axes"].values():
        axis.pop("gear")
        axis["motor"] = {**axis["motor"], "mount": {"link": "A", "axis": [0.3, 0.5, 0.8]}}
    feedback = geared(
        controller={
            "law": "state-feedback",
            "state_feedback": {
                "bandwidth": "60 rad/s",
                "integral_time": "50 ms",
                "observer_bandwidth": "240 rad/s",
            },
        }
    )
    pin = {
        "name": "tip",
        "type": "revolute",
        "between": [
            {
                "link": link,
                "xyz": ["= forearm", "0 m", "0 m"],
                "rpy": ["90 deg", "0 deg", "0 deg"],
                "deviation": ODD,
            }
            for link in ("left-fore", "right-fore")
        ],
    }
    stiffening = geared()
    stiffening["axes"]["A"]["gear"] = {
        "ratio": 50,
        "stiffness": "6000 N*m/rad",
        "stiffening": [["2 N*m", "9000 N*m/rad"]],
    }
    filtered = geared(
        controller={
            "axes": {
                "A": {
                    "position_bandwidth": "20 1/s",
                    "speed_bandwidth": "100 rad/s",
                    "current_bandwidth": "900 rad/s",
                    "notches": [{"frequency": "120 Hz", "width": 0.6, "depth": 0.2}],
                    "torque_filter": {"frequency": "200 Hz", "order": 2, "damping": 0.6},
                },
                "B": {"torque_filter": {"frequency": "200 Hz", "order": 1}},
            },
            "shaping": {"shaper": "ei", "frequency": "5 Hz", "damping": 0.1, "tolerance": 0.06},
            "feedforward": {"twist": 0.5},
        }
    )
    modal = geared(
        controller={"shaping": {"shaper": "zv", "modes": 1}, "feedforward": {"gravity_twist": 0.5}}
    )
    for robot in (filtered, modal):
        for axis in robot["axes"].values():
            axis["gear"] = {"ratio": 50, "stiffness": "2000 N*m/rad", "damping": "1 N*m*s/rad"}
    return {
        "dh": with_dh("dh"),
        "mdh": with_dh("mdh"),
        "synchronous": fixed,
        "round payload": {**fixed, "payload": round_one},
        "coupled": coupled,
        "transmission": belt,
        **hydraulic(),
        "closed": {"extends": "five-bar", "axes": {"left": driven, "right": driven}, "power": {"bus_voltage": "60 V"},
                   "controller": small.CONTROLLER},
        "closed as built": {"extends": "five-bar", "axes": {"left": driven, "right": driven}, "loops": [pin],
                            "power": {"bus_voltage": "60 V"}, "controller": small.CONTROLLER},
        "state feedback": feedback,
        "stiffening": stiffening,
        "filtered": filtered,
        "modal": modal,
        "imperfect": imperfect(),
        "on a soft floor": imperfect(base={"matrix": SIX, "stiffness": None, "rotational_stiffness": None}),
    }  # fmt: skip


# --- fields and their changes -----------------------------------------------------------------------


def types_in(annotation: Any) -> list[type]:
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return [annotation]
    return [found for part in typing.get_args(annotation) for found in types_in(part)]


def numbers_of(model: type[Part], path: str = "") -> Iterator[str]:
    """All numeric fields of a schema; * stands for a name or an index."""
    for name, field in model.model_fields.items():
        here = f"{path}.{name}" if path else name
        kinds = types_in(field.annotation)
        parts = [kind for kind in kinds if issubclass(kind, Part)]
        many = any(
            typing.get_origin(a) in (dict, tuple)
            for a in (field.annotation, *typing.get_args(field.annotation))
        )
        if parts:
            for part in parts:
                yield from numbers_of(part, f"{here}.*" if many else here)
        elif any(issubclass(kind, int | float) and kind is not bool for kind in kinds):
            yield here


def changed(value: Any, path: list[str]) -> list[Any]:
    """Copies of ``value`` with every number at ``path`` changed by a hundredth, together; empty if none is there."""
    if not path:
        return more(value)
    name, rest = path[0], path[1:]
    if isinstance(value, Part):
        if getattr(value, name) is None:
            return []
        return [value.model_copy(update={name: new}) for new in changed(getattr(value, name), rest)]
    assert name == "*"
    if isinstance(value, dict):
        made = {key: changed(child, rest) for key, child in value.items()}
        return (
            [{key: (new[0] if new else value[key]) for key, new in made.items()}]
            if any(made.values())
            else []
        )
    made = [changed(child, rest) for child in value]
    return (
        [tuple(new[0] if new else child for new, child in zip(made, value, strict=True))] if any(made) else []
    )


def more(value: Any) -> list[Any]:
    """A value a hundredth larger, at least by one where it is whole; empty where there is nothing to change."""
    if isinstance(value, dict):
        return [{key: more(child)[0] if more(child) else child for key, child in value.items()}]
    if isinstance(value, tuple):
        which = next((k for k, child in enumerate(value) if more(child)), None)  # all alike leave a direction
        return [] if which is None else [(*value[:which], more(value[which])[0], *value[which + 1 :])]
    if isinstance(value, int):
        return [1 - value if value in (0, 1) else value + max(1, value // 100)]
    return [] if value is None or value == 0.0 else [1.01 * value]


PERIODS = {"main_period", "axis_period", "speed_period", "current_period"}


def changed_robot(robot: RobotDescription, field: str) -> RobotDescription | None:
    """The robot with all numbers of a field changed; None if it has none."""
    name = field.rsplit(".", 1)[-1]
    if name in PERIODS and robot.controller is not None:  # each must stay a multiple
        factor = {"main_period": 2.0, "axis_period": 2.0, "speed_period": 2.0, "current_period": 0.5}[name]
        control = robot.controller.model_copy(update={name: factor * getattr(robot.controller, name)})
        return robot.model_copy(update={"controller": control})
    made = changed(robot, field.split("."))
    return made[0] if made and made[0] != robot else None


# --- what a run is made of --------------------------------------------------------------------------


def record(array: Any, without: set[str]) -> dict[str, bytes]:
    """The fields of a record but those ``without`` and those that hold addresses."""
    found = {}
    for name in array.dtype.names:
        values = array[name]
        if values.dtype.names is not None:
            found |= {f"{name}.{inner}": value for inner, value in record(values, without).items()}
            continue
        address = values.dtype == np.int64 and values.size and int(np.abs(values).max()) > 1 << 40
        if name not in without and not address:
            found[name] = values.tobytes()
    return found


def driver_ranges(run: Run) -> bytes:
    """Ranges of current sensors that nobody states: they belong to the drivers, and follow their current limits."""
    sensors = run.machine.sensors
    return bytes(np.where(sensors["current_full_scale"] > 0.0, 0.0, sensors["current_range"]).tobytes())


def controller_side(run: Run) -> dict[str, Any]:
    """Everything that the controller knows, by name."""
    machine, belief = run.machine, run.scenario.description
    found: dict[str, Any] = {
        "axes": record(machine.axes, MEASURED),
        "servo": record(machine.servo.servo, set()),
        "tasks": machine.servo.tasks.tobytes(),
        "table": machine.servo.setpoints.tobytes(),
        "inverse": machine.inverse.tobytes(),
        "model": [
            entry.data.tobytes()
            for entry in machine.servo.kept
            if getattr(entry, "address", None) == machine.servo.servo["model"][0]
        ],
        "state feedback": feedback_matrices(machine.servo.feedback_law),
        "kinematics": run.model.fkine(run.model.mechanism.q_home).tobytes(),
        "sensors of the drivers": driver_ranges(run),
    }
    if not np.isfinite(run.model.limits.qd_max).all():
        return found  # no job can be run on it
    limits = limits_of(run.model, belief)
    main = make_controller(run.model, limits, belief)
    parts = {"limits": limits, "watch": main.watch, "settings": main.settings, "pulses": main.pulses}
    return found | {name: repr(part) for name, part in parts.items()}


def feedback_matrices(law: Any) -> bytes:
    """The matrices of state feedback, not where it has got to."""
    return (
        b""
        if law is None
        else b"".join(law[0][name].tobytes() for name in ("Phi", "Gamma", "C", "L", "K", "K_i", "M", "f"))
    )


def plant_side(run: Run) -> dict[str, Any]:
    """Everything that happens to arm and drives, by name."""
    machine, truth = run.machine, run.scenario.plant_description
    return {
        "world": record(machine.world, STATE),
        "motors": record(machine.motors, STATE),
        "power": record(machine.power, STATE),
        "sensors": record(machine.sensors, {*STATE, "current_range"}),
        "stops": record(machine.stops, STATE),
        "arm": [entry.data.tobytes() for entry in machine.kept[:2]],
        "base": repr(base_compliance(truth)),
        "tool": run.plant.fkine([run.scenario.start[name] for name in run.plant.joint_names]).tobytes(),
        "brakes": repr([axis.brake for axis in truth.axes.values()]),
        "thermal limits": repr([axis.motor and axis.motor.thermal for axis in truth.axes.values()]),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rich")


@cache
def scenario_of(name: str, folder: Path) -> Scenario:
    """A move of a robot."""
    place = folder / name.replace(" ", "-")
    place.mkdir()
    machine = robots()[name]
    first = "left" if name.startswith("closed") else "A"
    target = {"closed": "2.0 rad", "closed as built": "2.0 rad", "cylinder": "0.2 m"}.get(name, "0.5 rad")
    speed = {"speed": "1 rad/s"} if name == "synchronous" or name == "round payload" else {}
    moves = {"move": [{"to": {first: target}, **speed}], "solver": {"method": "fast"}}
    scenario = read_scenario(small.write_case(place, machine, moves))
    assert read_description(place / "robot.yaml") == scenario.description
    return scenario


def run_of(scenario: Scenario, belief: RobotDescription, truth: RobotDescription) -> Run:
    truth = as_built(truth)
    return prepare(replace(scenario, description=belief, plant_description=truth, plant_set={"a": "change"}))


def of_datasheet(field: str) -> bool:
    """Whether a number stands in a data sheet: when a file is read it becomes other fields, which run instead."""
    return any(part in field for part in (".motor.datasheet.", ".gear.datasheet.", ".gear.screw_datasheet."))


def test_every_number_of_a_robot_file_is_classified() -> None:
    assert {field for field in numbers_of(RobotDescription) if not of_datasheet(field)} == set(REACHES)


# Robots in which these numbers reach all whom they may reach; the others are tried with the first that has them.
BEST = {
    **{
        field: "filtered" for field in REACHES if field.startswith("controller.axes.") or ".shaping." in field
    },
    "controller.axes.*.torque_filter.order": "filtered",
    "controller.shaping.modes": "modal",
    "controller.feedforward.gravity_twist": "modal",
    "axes.*.motor.rated_speed": "synchronous",
    "axes.*.motor.rated_torque": "synchronous",
    "axes.*.motor.peak_torque": "closed",
    "axes.*.motor.current_limit": "coupled",
    **{field: "cylinder" for field in REACHES if field.startswith("controller.pressure_sensor.")},
    "controller.margins.phase": "cylinder",
    "controller.valve.damping": "cylinder",
    "controller.valve.overlap_compensation": "cylinder",
    **{field: "damped hydraulic motor" for field in REACHES if ".hydraulic_motor." in field},
}
# What turns motor into joint angles and counts, and amperes into newton metres, is tried with all of them.
EVERYWHERE = {
    f"axes.*.{name}"
    for name in (
        "gear.ratio",
        "gear.lead",
        "encoder.lines",
        "encoder.bits",
        "motor.torque_constant",
        "link.mass",
    )
}


def fields_of(name: str, folder: Path) -> dict[str, tuple[RobotDescription, bool]]:
    """The fields to be tried with a robot: the robot with the number changed, and whether it must reach all of them."""
    found = {}
    for field in (field for field, who in REACHES.items() if who):
        having = [robot for robot in robots() if changed_robot(scenario_of(robot, folder).description, field)]
        best = BEST.get(field, having[0] if having else "")
        if name == best or (name in having and field in EVERYWHERE):
            changed_one = changed_robot(scenario_of(name, folder).description, field)
            assert changed_one is not None
            found[field] = changed_one, name == best
    return found


def test_every_number_that_somebody_has_is_tried(folder: Path) -> None:
    tried = [field for name in robots() for field, (_, must) in fields_of(name, folder).items() if must]
    assert sorted(tried) == sorted(field for field, who in REACHES.items() if who)


@pytest.mark.parametrize("name", robots())
def test_truth_stays_out_of_the_controller_and_belief_out_of_the_plant(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("servotwin.simulation.run.run_warnings", lambda *_: [])  # about both, and slow
    monkeypatch.setattr(
        "servotwin.simulation.plant.machine.attach_pieces", lambda *_, **__: None
    )  # nothing is run
    scenario = scenario_of(name, folder)
    robot = scenario.description
    run = run_of(scenario, robot, robot)
    controller, plant = controller_side(run), plant_side(run)
    for field, (other, must) in fields_of(name, folder).items():
        true, believed = run_of(scenario, robot, other), run_of(scenario, other, robot)
        assert controller_side(true) == controller, f"{field}: what is true has reached the controller"
        assert plant_side(believed) == plant, f"{field}: what is believed has reached the plant"
        reached = "C" * (controller_side(believed) != controller) + "P" * (plant_side(true) != plant)
        assert reached == REACHES[field] if must else set(reached) <= set(REACHES[field]), (
            f"{field}: {reached}"
        )
