"""Small catalogues of invented motors and gears, and loads of robots, for tests of sizing."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from servotwin.description.drive_data import drives_of
from servotwin.description.drive_parts import Thermal
from servotwin.description.friction_curve import FrictionCurve
from servotwin.description.load import read_description
from servotwin.design.sizing.actuators import GearChoice, MotorChoice
from servotwin.design.sizing.duty import Duty, duty_of_job
from servotwin.design.sizing.load import Load, load_of
from servotwin.drives.kind import Winding
from servotwin.robot.load import load_robot
from servotwin.simulation.job_run import rehearse

RATED = 100.0 * math.pi  # rad/s


def motors(count: int, seed: int = 1, low: float = 50.0, high: float = 7500.0) -> list[MotorChoice]:
    """Motors of rising power; mass, price and inertia scatter, so that no order of them is the same."""
    rng = np.random.default_rng(seed)
    return [_motor(f"m{i}", P, rng) for i, P in enumerate(np.geomspace(low, high, count))]


def _motor(name: str, P: float, rng: np.random.Generator) -> MotorChoice:
    T, K = P / RATED, 0.35 * (P / 400.0) ** 0.25
    R = 1.5 * (400.0 / P) * (K / 0.36) ** 2
    thermal = Thermal(
        winding_to_housing=f"{480.0 / P} K/W", housing_to_ambient=f"{360.0 / P} K/W",
        winding_capacity=f"{0.3 * P} J/K", housing_capacity=f"{2.25 * P} J/K", limit="155 degC",
    )  # fmt: skip
    return MotorChoice(
        name, rotor_inertia=6e-5 * (P / 400.0) ** 1.5 * rng.uniform(0.7, 1.3), rated_torque=T, rated_speed=RATED,
        peak_torque=3.0 * T, max_speed=2.0 * RATED, winding=Winding(R, *(3e-3 * R,) * 3, K, True, 3, 4, K / 6.0),
        current_limit=3.0 * T / K, thermal=thermal, friction=FrictionCurve(2.5e-7 * P, 0.02 * T, (), (0.02 * T,) * 2),
        mass=0.35 + P / 350.0 * rng.uniform(0.8, 1.3), price=100.0 + P / 5.0 * rng.uniform(0.8, 1.2),
        size=0.03 * P**0.25,
    )  # fmt: skip


def gears(count: int, seed: int = 2, low: float = 5.0, high: float = 1200.0) -> list[GearChoice]:
    """Strain-wave gears of rising torque and changing ratio."""
    rng = np.random.default_rng(seed)
    ratios = (50.0, 80.0, 100.0, 120.0, 160.0)
    return [_gear(f"g{i}", T, ratios[i % 5], rng) for i, T in enumerate(np.geomspace(low, high, count))]


def _gear(name: str, T: float, n: float, rng: np.random.Generator) -> GearChoice:
    idle = ((0.0, 0.02 * T / n), (600.0, 0.05 * T / n))
    return GearChoice(
        name, n, "strain-wave", efficiency=0.8 * rng.uniform(0.9, 1.1), inertia=1e-5 * (T / 30.0) ** 1.3,
        rated_torque=T,
        average_torque=1.5 * T, repeated_torque=3.0 * T, momentary_torque=6.0 * T, rated_speed=210.0,
        average_speed=370.0,
        max_speed=680.0, rated_life=35000.0 * 3600.0, friction=FrictionCurve(0.0, 0.0, (), (0.0, 0.0), (idle, idle)),
        mass=0.1 + T / 60.0 * rng.uniform(0.8, 1.2), price=200.0 + 3.0 * T * rng.uniform(0.8, 1.2),
        size=0.02 * T**0.33,
    )  # fmt: skip


@lru_cache(maxsize=8)
def job_duty(job: str) -> Duty:
    """The cycle of a job that ships."""
    return duty_of_job(rehearse(job))


@lru_cache(maxsize=8)
def job_load(robot: str, job: str) -> Load:
    """The load of such a job on its robot."""
    description = read_description(robot)
    return load_of(load_robot(robot), drives_of(description), job_duty(job), description.payload.center)


def cut_load(load: Load, keep: list[int], every: int = 1) -> Load:
    """The load on some of the actuators alone, at every so manieth sample; the others carry nothing."""
    from dataclasses import replace

    duty = load.duty
    thin = Duty(duty.name, duty.t[::every], duty.q[::every], duty.qd[::every], duty.qdd[::every], duty.rest)

    def cut(part):
        if part is None:
            return None
        return replace(
            part, torque=part.torque[::every][:, keep], gravity=part.gravity[::every][:, keep],
            coasting=part.coasting[:, keep], inertia=part.inertia[:, keep],
        )  # fmt: skip

    return replace(
        load, names=tuple(load.names[j] for j in keep), units=tuple(load.units[j] for j in keep), duty=thin,
        speed=load.speed[::every][:, keep], acceleration=load.acceleration[::every][:, keep], arm=cut(load.arm),
        carried=tuple(cut(load.carried[j]) for j in keep), payload=cut(load.payload),
        friction=tuple(load.friction[j] for j in keep),
    )  # fmt: skip
