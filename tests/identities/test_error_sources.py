"""True of every robot with error sources: energy balances, hysteresis loses, two methods agree, switches are exact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from servotwin.description.error_parts import SOURCES
from servotwin.simulation.results.result import Result
from tests import small_drives as small

MOVES = {
    "move": [{"to": {"A": "0.6 rad", "B": "-0.8 rad"}, "dwell": "0.1 s"}, {"to": {"A": "0 rad", "B": "0 rad"}}],
    "start": {"A": "0 rad", "B": "0 rad"},
}  # fmt: skip


def arm(random: np.random.Generator, motor: small.Tree) -> small.Tree:
    """Two joints under gravity with error sources of random size, each there or not."""

    def sometimes(**field: Any) -> small.Tree:
        return field if random.random() < 0.7 else {}

    def harmonics(largest: float) -> list[list[Any]]:
        return [[k, f"{random.uniform(0.0, largest)} rad", f"{random.uniform(0.0, 6.0)} rad"] for k in (1, 2)]

    errors = {}
    for name in "AB":
        elastic = random.random() < 0.8
        errors[name] = {
            **sometimes(eccentricity=harmonics(5e-4)),
            **sometimes(transmission_error=harmonics(3e-4)),
            **sometimes(output_error=harmonics(5e-4)),
            **sometimes(coulomb_friction=f"{random.uniform(0.0, 0.03)} N*m"),
        }
        if elastic:
            errors[name] |= {
                "stiffness": f"{random.uniform(5e3, 2e4)} N*m/rad", "damping": f"{random.uniform(2.0, 20.0)} N*m*s/rad",
                **sometimes(hysteresis=f"{random.uniform(5e-5, 5e-4)} rad"),
                **sometimes(backlash=f"{random.uniform(0.0, 3e-4)} rad"),
            }  # fmt: skip
    geometry = {"length": "1 mm", "angle": "0.1 deg", "joint_offset": "0.1 deg"}
    axes = {
        "A": small.axis(origin=small.HORIZONTAL, motor=motor),
        "B": small.axis(origin={"xyz": ["0.3 m", "0 m", "0 m"]}, motor=motor),
    }
    section = {"enabled": "true", "trial": int(random.integers(1, 100)), "axes": errors, "geometry": geometry}
    section["thermal"] = {"expansion": "23e-6 1/K", "temperature_rise": "10 K"}
    return small.robot({"error_sources": section}, axes)


def run(folder: Path, machine: small.Tree, method: str) -> Result:
    return small.run_case(folder, machine, {**MOVES, "solver": {"method": method}})


@pytest.mark.parametrize("motor", [small.DC, small.PMSM], ids=["dc", "pmsm"])
@pytest.mark.parametrize("seed", range(4))
def test_random_robot_balances_its_energy_and_moves_alike_by_two_methods(
    tmp_path: Path, seed: int, motor: small.Tree
) -> None:
    machine = arm(np.random.default_rng(seed), motor)
    fast, adaptive = (run(tmp_path, machine, method) for method in ("fast", "adaptive"))
    for result in (fast, adaptive):
        energy = result.summary["energy"]
        assert result.complete
        assert energy.get("hysteresis_J", 0.0) >= 0.0
        assert energy["gear_J"] >= 0.0
    # 60 other robots: 3e-7 and 6e-10 of the energy moved, 1.3e-7 rad
    assert abs(fast.summary["energy"]["balance_error_relative"]) < 3e-6
    assert abs(adaptive.summary["energy"]["balance_error_relative"]) < 1e-8
    # counts that fall on the other side part two accurate runs by more than their own errors
    assert np.abs(fast.log.q - adaptive.log.q).max() < 2e-6


def test_robot_with_all_sources_off_moves_as_one_without_the_section(tmp_path: Path) -> None:
    machine = arm(np.random.default_rng(1), small.DC)
    off = [name for name in SOURCES if name not in ("resolution", "friction")]
    # the friction of the section is its own: of the robot's file none is dry
    for errors in machine["error_sources"]["axes"].values():
        errors.pop("coulomb_friction", None)
    plain = {key: value for key, value in machine.items() if key != "error_sources"}
    switched = run(tmp_path, small.merged(machine, {"error_sources": {"off": off}}), "fast")
    bare = run(tmp_path, plain, "fast")
    assert np.array_equal(switched.log.q, bare.log.q)
    asleep = run(tmp_path, small.merged(machine, {"error_sources": {"enabled": "false"}}), "fast")
    assert np.array_equal(asleep.log.q, bare.log.q)
