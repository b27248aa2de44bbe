"""A sizing as plain data in SI units, and as rows of a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from servotwin.design.sizing.ratings import rating_rows

if TYPE_CHECKING:
    from servotwin.design.sizing.evaluate import ActuatorDemand, Check
    from servotwin.design.sizing.result import Assessment, Sizing

CSV_COLUMNS = (
    *("axis", "motor", "gear", "ratio", "peak_torque_N_m", "rms_torque_N_m"),
    *("rms_torque_least_N_m", "peak_speed_rad_per_s"),
    *("mean_speed_rad_per_s", "rms_speed_rad_per_s", "peak_power_W", "mean_power_W", "regenerated_J"),
    *("copper_loss_W", "inertia_ratio", "winding_peak_degC", "gear_peak", "gear_average", "gear_holding"),
    *("gear_stop", "gear_unit", "life_L10_s", "life_L50_s", "worst_share", "worst_check"),
)

WORST_COLUMNS = (
    *(
        "name",
        "unit",
        "output_torque",
        "motor_torque",
        "holding_torque",
        "rms_torque",
        "winding",
        "output_speed",
        "motor_speed",
        "share",
    ),
)


SUPPLY_UNITS = {
    **dict.fromkeys(("peak_power", "mean_power", "returned_peak", "resistor_power", "resistor_peak"), "_W"),
    **dict.fromkeys(("source_energy", "returned_energy", "capacitor_room", "resistor_energy"), "_J"),
    "largest_resistance": "_ohm",
    "lowest_voltage": "_V",
}


def sizing_data(sizing: Sizing) -> dict[str, Any]:
    """The answer as plain data, units in the names of the keys."""
    return {
        "robot": sizing.description.name,
        "payload_kg": sizing.payload,
        "present": _assessment(sizing.present),
        "minimised": sizing.minimised,
        "chosen": None
        if sizing.chosen is None
        else {**(_assessment(sizing.chosen) or {}), **_choice(sizing)},
        "rejected": [
            {
                "axis": r.axis,
                "actuator": r.actuator.name,
                "cost": r.cost,
                "chosen_cost": r.chosen_cost,
                **_check(r.check),
            }
            for r in sizing.rejected
        ],
        "what_if": [
            {
                "question": w.question,
                "value": w.value,
                "unit": w.unit,
                "axis": w.axis,
                "breaks": None if w.check is None else _check(w.check),
                "cycle_time_s": w.cycle_time,
                "nothing_breaks": w.open,
            }
            for w in sizing.what_if
        ],
        "pareto": [
            {
                "cycle_time_s": p.cycle_time,
                "price": p.price,
                "mass_kg": p.mass,
                "set": list(p.names),
                "gap": _finite(p.gap),
            }
            for p in sizing.pareto
        ],
        "worst_case": _worst(sizing),
        "notes": list(sizing.notes),
    }


def _choice(sizing: Sizing) -> dict[str, Any]:
    choice = sizing.choice
    if choice is None or sizing.chosen is None:
        return {}
    return {
        "cost": choice.cost,
        "least_possible_cost": choice.bound,
        "gap": choice.gap,
        "price": sizing.chosen.price,
        "mass_kg": sizing.chosen.mass,
    }


def _worst(sizing: Sizing) -> dict[str, Any] | None:
    worst = sizing.worst
    if worst is None:
        return None
    names = sizing.robot.joint_names
    return {
        "tool_speed_m_per_s": worst.speed,
        "tool_acceleration_m_per_s2": worst.acceleration,
        "moving_share": worst.moving,
        "poses": worst.poses,
        "poses_left_out": worst.left_out,
        "actuators": [
            {
                "axis": load.name,
                f"output_torque_{'N_m' if load.unit == 'rad' else 'N'}": load.output_torque,
                "output_pose": dict(zip(names, load.output_pose, strict=True)),
                "motor_torque_N_m": load.motor_torque,
                "motor_pose": dict(zip(names, load.motor_pose, strict=True)),
                f"holding_{'N_m' if load.unit == 'rad' else 'N'}": load.holding_torque,
                f"output_speed_{load.unit}_per_s": load.output_speed,
                "motor_speed_rad_per_s": load.motor_speed,
                "motor_rms_torque_N_m": load.rms_torque,
                "winding_degC": _finite(load.winding),
                "share": _finite(load.share),
            }
            for load in worst.loads
        ],
    }


def _assessment(found: Assessment | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "cycle": found.load.duty.name,
        "cycle_time_s": found.load.duty.period,
        "passes": found.passes,
        "actuators": [{**demand_row(d), "checks": [_check(c) for c in d.checks]} for d in found.demands],
        "ratings": [
            {"axis": row.axis, "item": row.item, "motor": row.motor, "load_shaft": row.load, "gear": row.gear}
            for d in found.demands
            for row in rating_rows(d.name, d.actuator)
        ],
        "supply": {
            key + SUPPLY_UNITS.get(key, ""): _finite(value) for key, value in vars(found.supply).items()
        },
    }


def demand_row(d: ActuatorDemand) -> dict[str, Any]:
    """One actuator as a row."""
    worst = d.worst
    values = (
        *(
            d.name,
            d.actuator.motor.name,
            d.actuator.gear.name,
            d.actuator.gear.ratio,
            d.peak_torque,
            d.rms_torque,
            d.rms_least,
        ),
        *(d.peak_speed, d.mean_speed, d.rms_speed, d.peak_power, d.mean_power, d.regenerated, d.copper_loss),
        *(
            d.inertia_ratio,
            None if d.heating is None else d.heating.winding_peak,
            d.gear_peak,
            d.gear_average,
        ),
        *(d.gear_holding, d.gear_stop, "N m" if d.unit == "rad" else "N", d.life_10, d.life_50),
        *(None if worst is None else worst.share, None if worst is None else worst.name),
    )
    return {name: _finite(value) for name, value in zip(CSV_COLUMNS, values, strict=True)}


def _check(check: Check) -> dict[str, Any]:
    return {
        "check": check.name,
        "part": check.part,
        "need": _finite(check.need),
        "limit": _finite(check.limit),
        "unit": check.unit,
        "share": _finite(check.share),
    }


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def table_rows(sizing: Sizing) -> list[dict[str, Any]]:
    """The actuators, a row each."""
    found = sizing.assessment
    if sizing.worst is not None:
        return [{name: getattr(load, name) for name in WORST_COLUMNS} for load in sizing.worst.loads]
    return [demand_row(demand) for demand in (() if found is None else found.demands)]


def csv_text(sizing: Sizing) -> str:
    """The actuators as a table of comma-separated values with a line of names."""
    columns = CSV_COLUMNS if sizing.worst is None else WORST_COLUMNS
    lines = [",".join(columns)]
    lines += [",".join(_cell(row[name]) for name in columns) for row in table_rows(sizing)]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.9g}"
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n') else text
