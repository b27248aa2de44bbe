"""A made-up run of the GSIS SCARA with plausible signals, for tests of what is done with results."""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.description.load import read_description
from servotwin.robot.load import load_robot
from servotwin.simulation.results.motion_log import MotionLog
from servotwin.simulation.results.result import Result, RunEvent, joint_signal
from servotwin.simulation.scenario.parts import Record, Solver
from servotwin.simulation.scenario.scenario import Scenario

RATED = {"A": 0.637, "B": 0.382, "Z": 0.319, "W": 0.186}
RATIO = {"A": 100.0, "B": 80.0, "Z": 785.4, "W": 13.3}
STROKE = {"A": np.radians(100.0), "B": np.radians(60.0), "Z": 0.06, "W": 0.0}
T = 2e-4  # s, current period


def synthetic_scenario() -> Scenario:
    known, true = {"variables.load": "4 kg"}, {"axes.A.link.mass": "18 kg"}
    return Scenario(
        name="synthetic",
        title="A goes 100 deg, B and Z with it",
        robot="gsis-scara",
        set=known,
        plant_set=true,
        start=dict.fromkeys(RATED, 0.0),
        moves=(),
        repeat=1,
        solver=Solver(),
        seed=1,
        record=Record(),
        faults=(),
        path=None,
        description=read_description("gsis-scara", known),
        plant_description=read_description("gsis-scara", {**known, **true}),
    )


def smooth(t: np.ndarray, start: float, end: float) -> tuple[np.ndarray, np.ndarray]:
    """A fifth-order step from 0 to 1 and its rate."""
    s = np.clip((t - start) / (end - start), 0.0, 1.0)
    return s**3 * (10 - 15 * s + 6 * s**2), 30 * s**2 * (1 - s) ** 2 / (end - start)


def synthetic_result(samples: int = 1401, *, complete: bool = True, zoom: bool = True) -> Result:
    rng = np.random.default_rng(5)
    robot = load_robot("gsis-scara", {"variables.load": "4 kg"})
    t = np.linspace(0.0, 1.4, samples)
    s, sd = smooth(t, 0.1, 0.85)
    lag, _ = smooth(t, 0.125, 0.875)
    wobble = np.exp(-np.clip(t - 0.875, 0, None) / 0.03) * np.sin(90 * np.clip(t - 0.875, 0, None))
    joints = robot.joint_names
    prismatic = tuple(unit == "m" for unit in robot.joint_units)
    signals: dict[str, np.ndarray] = {"time_s": t}
    q, q_ref = np.zeros((len(t), 4)), np.zeros((len(t), 4))
    for i, (name, slides) in enumerate(zip(joints, prismatic, strict=True)):
        stroke = STROKE[name]
        q_ref[:, i] = stroke * s
        q[:, i] = stroke * (lag + 4e-4 * wobble) + (2e-6 * np.sin(40 * t) if stroke == 0 else 0)
        signals[joint_signal(name, "position", prismatic=slides)] = q[:, i]
        signals[joint_signal(name, "position", prismatic=slides, reference=True)] = q_ref[:, i]
        signals[joint_signal(name, "velocity", prismatic=slides)] = np.gradient(q[:, i], t)
        signals[joint_signal(name, "velocity", prismatic=slides, reference=True)] = stroke * sd
    axes = []
    power = np.zeros_like(t)
    for i, name in enumerate(joints):
        w = RATIO[name] * np.gradient(q[:, i], t)
        torque = 2.4e-3 * RATED[name] / 0.4 * np.gradient(w, t) * 0.7 + 1e-4 * w
        torque += (0.25 * RATED[name] if name == "Z" else 0) + 0.004 * rng.standard_normal(len(t))
        limit = 3 * RATED[name]
        clipped = np.clip(torque, -limit, limit)
        k_t = {"A": 0.1187, "B": 0.084, "Z": 0.0812, "W": 0.0579}[name]
        bits = np.where(np.abs(torque) > limit, 2, 0)
        bits = np.where((name == "A") & (t > 0.40) & (t < 0.46), 1, bits)
        volt = k_t * w + 0.6 * clipped / k_t
        power += volt * clipped / k_t
        signals |= {
            f"motor_{name}_angle_rad": RATIO[name] * q[:, i],
            f"motor_{name}_speed_rad_per_s": w,
            f"motor_{name}_current_A": clipped / k_t,
            f"motor_{name}_current_ref_A": np.clip(torque, -limit, limit) / k_t + 0.1,
            f"motor_{name}_torque_N_m": clipped,
            f"motor_{name}_voltage_V": volt,
            f"motor_{name}_winding_temperature_degC": 25 + 4 * np.cumsum(clipped**2) * (t[1] - t[0]),
            f"motor_{name}_count": np.round(RATIO[name] * q[:, i] * 4000 / 2 / np.pi),
            f"motor_{name}_saturation": bits.astype(float),
        }
        axes.append(_axis(name, clipped, w, clipped / k_t, q[:, i] - q_ref[:, i], slides=prismatic[i]))
    axes[0]["saturation"] = [{"kind": "voltage limit", "from_s": 0.40, "to_s": 0.46}]
    energy = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(t))])
    tip, tip_ref = robot.fkine(q)[:, :3, 3], robot.fkine(q_ref)[:, :3, 3]
    signals |= {"bus_voltage_V": 75 - 0.01 * power, "bus_power_W": power, "bus_energy_J": energy}
    signals |= {f"tip_{a}_m": tip[:, k] for k, a in enumerate("xyz")}
    signals |= {f"tip_ref_{a}_m": tip_ref[:, k] for k, a in enumerate("xyz")}
    error = np.linalg.norm(tip - tip_ref, axis=1)
    signals |= {"tip_error_along_m": -error * 0.98, "tip_error_across_m": error * 0.15}
    summary = _summary(axes, float(energy[-1]), error)
    events = (RunEvent(0.40, "A", "voltage limit"), RunEvent(0.7, "B", "fault encoder-stuck"))
    fine = _zoom(joints) if zoom else {}
    log = MotionLog(t, q, q_ref, tip, tip_ref, energy)
    return Result(
        synthetic_scenario(), robot, joints, prismatic, joints, signals, fine, summary, events, complete, log
    )


def _axis(
    name: str, torque: np.ndarray, w: np.ndarray, current: np.ndarray, error: np.ndarray, *, slides: bool
) -> dict[str, Any]:
    return {
        "motor": name,
        "joint": name,
        "peak_torque_N_m": float(np.abs(torque).max()),
        "peak_torque_mean_N_m": float(np.abs(torque).max()),
        "rms_torque_N_m": float(np.sqrt(np.mean(torque**2))),
        "rated_torque_N_m": RATED[name],
        "peak_rating_N_m": 3 * RATED[name],
        "peak_speed_rad_per_s": float(np.abs(w).max()),
        "rated_speed_rad_per_s": 314.16,
        "peak_current_A": float(np.abs(current).max()),
        "rms_current_A": float(np.sqrt(np.mean(current**2))),
        "peak_winding_temperature_degC": 27.0,
        "joint_error_final": float(error[-1]),
        "joint_error_final_unit": "m" if slides else "rad",
        "joint_peak_speed": float(np.abs(w).max() / RATIO[name]),
        "joint_error_max": float(np.abs(error).max()),
        "saturation": [],
    }


def _summary(axes: list[dict[str, Any]], taken: float, error: np.ndarray) -> dict[str, Any]:
    parts = {"kinetic_J": 0.01, "potential_J": -2.6, "magnetic_J": 0.001, "spring_J": 0.0, "capacitor_J": 0.0}
    parts |= {"bridge_J": 1.1, "friction_J": 7.0, "gear_J": 2.2, "impact_J": 0.0, "brake_resistor_J": 0.0}
    parts["supply_J"] = 0.5
    parts["copper_J"] = taken - sum(parts.values())
    return {
        "scenario": "synthetic",
        "robot": "gsis-scara",
        "method": "fast",
        "pwm": "switched",
        "seed": 1,
        "simulated_s": 1.4,
        "wall_s": 0.07,
        "compile_s": 0.0,
        "real_time_factor": 20.0,
        "tip_error_final_m": float(error[-1]),
        "tip_error_max_m": float(error.max()),
        "settling_s": 0.094,
        "energy": {
            "source_J": taken,
            **parts,
            "balance_error_J": 2e-9,
            "balance_error_relative": 3e-11,
            "moved_J": 60.0,
        },
        "axes": axes,
        "warnings": ["motor A: RMS torque 105 % of rated: too warm in continuous operation"],
        "intervals_per_current_period_max": 17,
    }


def _zoom(motors: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Three-level PWM over five current periods, a point at each edge and eight between."""
    start = 0.4
    t = np.unique(np.concatenate([start + np.linspace(0, 5 * T, 401)]))
    phase = ((t - start) / T) % 1.0
    carrier = 1 - 4 * np.abs(phase - 0.5)
    columns = {"time_s": t, "carrier": carrier}
    for k, name in enumerate(motors):
        m = np.array([0.6, 0.35, -0.2, 0.05])[k] + 0.05 * np.floor((t - start) / T)
        v = 75.0 * np.sign(m) * (np.abs(m) > np.abs(carrier))
        ripple = np.cumsum(v - 75 * m) * (t[1] - t[0]) / 0.6e-3
        columns |= {
            f"motor_{name}_voltage_V": v,
            f"motor_{name}_current_A": 4.0 - k + ripple,
            f"motor_{name}_modulation": m,
        }
    return columns
