"""Random robots whose gears have play and whose joints stick by themselves: `fast` against converged steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from servotwin.simulation.windows.choice import Window
from tests import small_drives as small
from tests.campaign import campaign, cases
from tests.unit.simulation.test_elastic_window import ABOVE, largest, run_counted, there_and_back
from tests.unit.simulation.test_random_windows import exact_positions, random_axis

UPRIGHT: small.Tree = {}  # gravity does not load the gear: it goes through its play


def random_gear_axis(rng: Any, place: small.Tree, *, elastic: bool) -> small.Tree:
    """An axis of random robots; behind an elastic gear with play, with a joint that sticks, or with both."""
    axis = random_axis(rng, place)
    gear = axis["gear"]
    if elastic and "stiffness" not in gear:
        gear["stiffness"] = f"{10 ** rng.uniform(3, 4.2)} N*m/rad"
        gear["damping"] = f"{10 ** rng.uniform(-1, 0.6)} N*m*s/rad"
    if "stiffness" not in gear:
        return axis
    kind = rng.random()
    if kind < 0.7:
        gear.pop("stiffening", None)  # a gear that stiffens has no play
        gear["backlash"] = f"{10 ** rng.uniform(-2.5, -0.7)} deg"
    if kind > 0.4:
        coulomb = rng.uniform(0.1, 2.0)
        axis["friction"] = {"coulomb": f"{coulomb} N*m", "viscous": f"{rng.uniform(0, 0.5)} N*m*s/rad"}
        if rng.random() < 0.5:
            axis["friction"]["static"] = f"{rng.uniform(1.0, 1.8) * coulomb} N*m"
            axis["friction"]["stribeck_speed"] = f"{10 ** rng.uniform(-2, 0)} rad/s"
    return axis


def random_robot(seed: int) -> small.Tree:
    """One to three joints on a stiff supply, some with dead time, upright or lying; the first gear is elastic."""
    rng = np.random.default_rng(seed)
    axes: small.Tree = {}
    for k in range(int(rng.integers(1, 4))):
        first = small.HORIZONTAL if rng.random() < 0.5 else UPRIGHT
        place = {"origin": first} if k == 0 else {"origin": ABOVE, "parent": list(axes)[-1]}
        axes["ABC"[k]] = random_gear_axis(rng, place, elastic=k == 0)
    power: small.Tree = {"bus_voltage": f"{rng.uniform(40, 120)} V"}
    if rng.random() < 0.4:
        power["bridge"] = {"dead_time": f"{rng.uniform(0.5, 3)} us", "on_resistance": "0.05 ohm"}
    return small.robot({"power": power}, axes=axes)


@campaign
@pytest.mark.parametrize("seed", range(cases(5, 200)))
def test_random_gears_keep_their_energy_and_follow_converged_steps(tmp_path: Path, seed: int) -> None:
    """Some robots amplify whatever differs: what becomes of 1e-9 rad at the start is the measure."""
    machine = random_robot(seed)
    fast, _, window = run_counted(tmp_path, machine, there_and_back(machine, method="fast"))
    exact = exact_positions(tmp_path, machine, 0.0)
    amplified = largest(exact_positions(tmp_path, machine, 1e-9), exact, "_position_rad") / 1e-9
    assert window == Window.ELASTIC
    assert fast.summary["energy"]["balance_error_relative"] == pytest.approx(0.0, abs=1e-6)
    assert largest(fast, exact, "_position_rad") < 2e-5 * max(amplified, 1.0)


def test_light_link_on_stiff_gears_is_handed_over_where_the_window_misses_its_load(tmp_path: Path) -> None:
    """Links that swing by half a radian in a window: bounds of slow ones miss 4e-6 rad (eq:light-load)."""
    machine = random_robot(50)
    fast, _, window = run_counted(tmp_path, machine, there_and_back(machine, method="fast"))
    assert window == Window.ELASTIC
    assert fast.summary["windows"]["rejected"]["bent_load"] > 0
    assert largest(fast, exact_positions(tmp_path, machine, 0.0), "_position_rad") < 1e-7
