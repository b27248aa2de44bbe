"""Random robots over kinds of motors, gears, friction, loads and voltages: `fast` against converged steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import small_drives as small
from tests.campaign import campaign, cases
from tests.unit.simulation.test_elastic_window import ABOVE, FINEST, largest, run_counted, there_and_back


def random_axis(rng: Any, place: small.Tree) -> small.Tree:
    """A motor, its friction, a gear that is stiff, elastic or stiffening, and a link."""
    kind = small.DC if rng.random() < 0.5 else small.PMSM
    motor = {**kind, "resistance": f"{rng.uniform(0.2, 1.5)} ohm"}
    rubs = rng.random()
    if rubs < 0.7:
        motor["coulomb_friction"] = f"{rng.uniform(0.005, 0.04)} N*m"
    if rubs < 0.3:
        motor["static_friction"] = f"{rng.uniform(0.045, 0.07)} N*m"
        motor["stribeck_speed"] = f"{10 ** rng.uniform(0, 1.5)} rad/s"
    gear: small.Tree = {"ratio": float(rng.uniform(25, 80))}
    if rng.random() < 0.55:
        gear["stiffness"] = f"{10 ** rng.uniform(3, 4.2)} N*m/rad"
        gear["damping"] = f"{10 ** rng.uniform(-1, 0.6)} N*m*s/rad"
        if rng.random() < 0.25:
            stiffer = f"{10 ** rng.uniform(4.2, 4.5)} N*m/rad"
            gear["stiffening"] = [[f"{rng.uniform(4, 15)} N*m", stiffer]]
    link = {
        "mass": f"{rng.uniform(0.3, 3.0)} kg",
        "center": [f"{rng.uniform(0.05, 0.3)} m", "0 m", "0 m"],
    }
    return small.axis(motor=motor, gear=gear, encoder=FINEST, link=link, **place)


def random_robot(seed: int) -> small.Tree:
    """One to three joints on a stiff supply, some with dead time: what soft supplies do is on the theory page."""
    rng = np.random.default_rng(seed)
    axes: small.Tree = {}
    for k in range(int(rng.integers(1, 4))):
        place = {"origin": small.HORIZONTAL} if k == 0 else {"origin": ABOVE, "parent": list(axes)[-1]}
        axes["ABC"[k]] = random_axis(rng, place)
    power: small.Tree = {"bus_voltage": f"{rng.uniform(40, 120)} V"}
    if rng.random() < 0.4:
        power["bridge"] = {"dead_time": f"{rng.uniform(0.5, 3)} us", "on_resistance": "0.05 ohm"}
    return small.robot({"power": power}, axes=axes)


def exact_positions(folder: Path, machine: small.Tree, start: float) -> Any:
    """Converged steps from a start that is off by so much [rad]; with 1e-11 some miss a slip that shakes the arm."""
    scenario = there_and_back(machine, method="adaptive", tolerance=1e-12)
    scenario["start"] = dict.fromkeys(machine["axes"], f"{0.1 + start:.12f} rad")
    return run_counted(folder, machine, scenario)[0]


@campaign
@pytest.mark.parametrize("seed", range(cases(4, 200)))
def test_random_robot_keeps_its_energy_and_follows_converged_steps(tmp_path: Path, seed: int) -> None:
    """Some robots amplify whatever differs: what becomes of 1e-9 rad at the start is the measure."""
    machine = random_robot(seed)
    fast, _, _ = run_counted(tmp_path, machine, there_and_back(machine, method="fast"))
    exact = exact_positions(tmp_path, machine, 0.0)
    amplified = largest(exact_positions(tmp_path, machine, 1e-9), exact, "_position_rad") / 1e-9
    assert fast.summary["energy"]["balance_error_relative"] == pytest.approx(0.0, abs=1e-6)
    assert largest(fast, exact, "_position_rad") < 2e-5 * max(amplified, 1.0)
