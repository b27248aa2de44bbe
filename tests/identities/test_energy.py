"""Energy is neither made nor lost: source = change of what is stored + losses, whatever the machine is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import servotwin as st
from servotwin.simulation.results.result import Result
from servotwin.simulation.scenario.scenario import scenario_names
from tests import small_drives as small
from tests.small_drives import DC

MOST = 1e-6  # of the energy moved: what the integration may lose


@pytest.mark.parametrize("name", scenario_names())
def test_shipped_scenario_keeps_its_energy(name: str) -> None:
    overrides = {"repeat": "1"} if name == "scara-repeatability" else {}
    result = st.simulate(name, overrides)
    energy = result.summary["energy"]
    assert abs(energy["balance_error_relative"]) < MOST
    passive = "power-off" in {fault.kind for fault in result.scenario.faults}
    assert (energy["copper_J"] > 0.0) is not passive
    assert energy["friction_J"] > 0.0


PALLETS = """\
format: servotwin-scenario/1
name: pallets
robot: palletizer-4
move:
  - {to: {th1: 20 deg, th2: 75 deg, th3: -60 deg, th5: 40 deg}, dwell: 0.05 s}
"""
REACH = """\
format: servotwin-scenario/1
name: reach
robot: puma560
move:
  - {to: {j1: 20 deg, j2: 20 deg, j3: -20 deg, j4: 30 deg, j5: 20 deg, j6: -30 deg}, dwell: 0.1 s}
"""


@pytest.mark.parametrize("text", [PALLETS, REACH], ids=["coupled axes", "dry friction everywhere"])
def test_larger_robots_keep_their_energy(tmp_path: Path, text: str) -> None:
    """Synchronous motors with a transmission matrix on a bus that takes energy back; a Puma with its friction."""
    path = tmp_path / "move.yaml"
    path.write_text(text, encoding="utf-8")
    result = st.simulate(path)
    assert balance(result) < MOST, result.summary["energy"]
    assert result.summary["tip_error_final_m"] < 1e-3


DRY = {
    **DC,
    "coulomb_friction": "0.02 N*m",
    "static_friction": "0.04 N*m",
    "stribeck_speed": "5 rad/s",
}
TABLED = {
    **{name: value for name, value in DC.items() if name != "viscous_friction"},
    "friction_table": [["0 rad/s", "0.02 N*m"], ["20 rad/s", "0.015 N*m"], ["200 rad/s", "0.03 N*m"]],
    "static_friction": "0.03 N*m",
}
TABLED_PMSM = small.merged({**small.PMSM, **TABLED, "kind": "pmsm"}, {"viscous_friction": None})
RUBS = {"coulomb": "2 N*m", "static": "3 N*m", "viscous": "0.2 N*m*s/rad"}
TURN = {"move": [{"to": {"A": "1 rad"}}, {"to": {"A": "0 rad"}, "dwell": "0.1 s"}]}
UP_DOWN = {"move": [{"to": {"A": "0.2 m"}}, {"to": {"A": "-0.1 m"}, "dwell": "0.1 s"}]}
REGENERATION = {
    "capacitance": "1 mF",
    "supply_resistance": "0.5 ohm",
    "braking_resistor": {"resistance": "20 ohm", "on": "66 V", "off": "63 V"},
}


def lift(**changes: Any) -> small.Tree:
    return small.robot(axes={"A": small.merged(small.LIFT, changes)})


def flat(**changes: Any) -> small.Tree:
    return small.robot(axes={"A": small.axis(origin=small.HORIZONTAL, **changes)})


def two(**changes: Any) -> dict[str, small.Tree]:
    """Two links one behind the other, about flat axes."""
    above = {"xyz": ["0.4 m", "0 m", "0 m"]}
    return {
        "A": small.axis(origin=small.HORIZONTAL, **changes),
        "B": small.axis(origin=above, parent="A", **changes),
    }


def three(**changes: Any) -> dict[str, small.Tree]:
    """Three turning joints one behind the other, the first upright, the others flat: every term of the dynamics."""
    ahead = {"xyz": ["0.3 m", "0 m", "0.1 m"]}
    return {
        "A": small.axis(**changes),
        "B": small.axis(origin={**ahead, **small.HORIZONTAL}, parent="A", **changes),
        "C": small.axis(origin=ahead, parent="B", **changes),
    }


ALL_THREE = {
    "start": {"A": "0.6 rad", "B": "-0.7 rad", "C": "0.9 rad"},
    "move": [
        {"to": {"A": "-0.4 rad", "B": "0.3 rad", "C": "-0.5 rad"}, "profile": "s-curve"},
        {"to": {"A": "0.3 rad", "B": "-0.5 rad", "C": "1.2 rad"}, "dwell": "0.1 s"},
    ],
}
BOTH = {
    "move": [{"to": {"A": "1 rad", "B": "-1 rad"}}, {"to": {"A": "0 rad", "B": "0.5 rad"}, "dwell": "0.1 s"}]
}
BLIND = {**BOTH, "faults": [{"at": "0.2 s", "axis": "A", "kind": "encoder-stuck"}]}  # runs into its stop
NARROW = {"position": ["-1.2 rad", "1.2 rad"], "speed": "4 rad/s"}
BELT = {"transmission": {"motors": ["A", "B"], "matrix": [[50, 0], [30, 50]]}}
SOFT = {"stiffness": "4000 N*m/rad", "damping": "2 N*m*s/rad"}
LATE = {"power": {"bridge": {"dead_time": "3 us", "storage_time": "0.5 us"}}}
REDUCED = {k: v for k, v in DC.items() if k != "inductance"} | {"kind": "dc-reduced"}
CASES: dict[str, tuple[small.Tree, small.Tree]] = {
    "smooth": (flat(), TURN),
    "coulomb, stiction and stribeck": (flat(motor=DRY), TURN),
    "lossy gear, lifting and lowering": (lift(gear={"efficiency": 0.8}), UP_DOWN),
    "lossy gear with dry friction": (lift(gear={"efficiency": 0.8}, motor=DRY), UP_DOWN),
    "elastic gear": (flat(gear={"stiffness": "4000 N*m/rad", "damping": "2 N*m*s/rad"}), TURN),
    "elastic gear that stiffens": (
        flat(gear={**SOFT, "stiffening": [["0.5 N*m", "6000 N*m/rad"], ["1.5 N*m", "7000 N*m/rad"]]}),
        TURN,
    ),
    "elastic lossy gear": (
        flat(gear={"stiffness": "4000 N*m/rad", "damping": "2 N*m*s/rad", "efficiency": 0.8}),
        TURN,
    ),
    "play": (
        flat(gear={"stiffness": "4000 N*m/rad", "damping": "2 N*m*s/rad", "backlash": "0.2 deg"}),
        TURN,
    ),
    "capacitor, regeneration and braking resistor": (
        small.merged(
            small.robot(axes={"A": small.axis(link={"mass": "20 kg"})}), {"power": REGENERATION}
        ),
        {"move": [{"to": {"A": "1.5 rad"}, "ramp": "0.1 s", "dwell": "0.1 s"}]},
    ),
    "synchronous motor": (flat(motor=small.PMSM), TURN),
    "synchronous motor with dry friction": (
        flat(motor={**small.PMSM, "coulomb_friction": "0.02 N*m", "static_friction": "0.03 N*m"}),
        TURN,
    ),
    "motor without inductance": (
        flat(motor=REDUCED),
        TURN,
    ),
    "brake closing": (
        flat(brake={"torque": "1 N*m"}),
        {**TURN, "faults": [{"at": "0.15 s", "axis": "A", "kind": "brake-closes"}]},
    ),
    "open winding": (flat(), {**TURN, "faults": [{"at": "0.15 s", "axis": "A", "kind": "winding-open"}]}),
    "two levels with dead time and resistance": (
        small.merged(
            flat(),
            {
                "power": {
                    "bridge": {
                        "modulation": "bipolar",
                        "dead_time": "2 us",
                        "storage_time": "1 us",
                        "on_resistance": "0.05 ohm",
                    }
                }
            },
        ),
        TURN,
    ),
    "end stop": (
        lift(limits={"position": ["-0.1 m", "0.25 m"]}),
        {**UP_DOWN, "faults": [{"at": "0.3 s", "axis": "A", "kind": "winding-open"}], "solver": {}},
    ),
    "end stop with a lossy gear": (
        lift(limits={"position": ["-0.1 m", "0.25 m"]}, gear={"efficiency": 0.9}),
        {**UP_DOWN, "faults": [{"at": "0.3 s", "axis": "A", "kind": "winding-open"}], "solver": {}},
    ),
    "end stop against a pushing motor": (
        lift(limits={"position": ["-0.1 m", "0.25 m"]}),
        {"move": [{"to": {"A": "0.2 m"}, "dwell": "0.2 s"}],
         "faults": [{"at": "0.3 s", "axis": "A", "kind": "encoder-stuck"}]},
    ),
    "two links with dry friction and losses": (small.robot(axes=two(motor=DRY, gear={"efficiency": 0.7})), BOTH),
    "two links, soft gears, play, dry friction": (
        small.robot(axes=two(motor=DRY, gear={**SOFT, "backlash": "0.1 deg"})), BOTH),
    "two links, one hits its stop": (small.robot(axes=two(limits=NARROW)), BLIND),
    "two links with dry friction, one hits its stop": (small.robot(axes=two(motor=DRY, limits=NARROW)), BLIND),
    "coupled axes with dry friction": (small.robot(BELT, axes=two(motor=DRY, gear=None)), BOTH),
    "coupled axes with dry friction, one hits its stop": (
        small.robot(BELT, axes=two(motor=DRY, gear=None, limits=NARROW)), BLIND),
    "late tasks": (small.robot({"controller": {"jitter": "130 us", "computation_delay": 1}}, axes=two()), BOTH),
    "capacitor seen closely, supply that sags": (
        small.robot({"power": REGENERATION}, axes=two()),
        {**BOTH, "record": {"zoom": {"at": "0.1 s", "span": "2 ms"}},
         "faults": [{"at": "0.2 s", "kind": "supply-voltage", "value": "50 V"}]},
    ),
    "dead time": (small.robot(LATE, axes=two()), BOTH),
    "dead time, synchronous motors": (small.robot(LATE, axes=two(motor=small.PMSM)), BOTH),
    "dead time, dry friction, coupled axes": (small.robot({**LATE, **BELT}, axes=two(motor=DRY, gear=None)), BOTH),
    "breakaway level and a friction table": (flat(motor=TABLED), TURN),
    "synchronous motor with a friction table": (flat(motor=TABLED_PMSM), TURN),
    "friction of the joint": (flat(friction=RUBS), TURN),
    "two joints that rub behind soft gears": (small.robot(axes=two(friction=RUBS, gear=SOFT)), BOTH),
    "synchronous motors, joints that rub behind soft gears": (
        small.robot(axes=two(motor=small.PMSM, friction=RUBS, gear=SOFT)), BOTH),
    "two joints that rub behind soft gears, one hits its stop": (
        small.robot(axes=two(friction=RUBS, gear=SOFT, limits=NARROW)), BLIND),
    "coupled axes, joints that rub": (small.robot(BELT, axes=two(friction=RUBS, gear=None)), BOTH),
    "coupled axes, joints and motors that rub, one hits its stop": (
        small.robot(BELT, axes=two(motor=DRY, friction=RUBS, gear=None, limits=NARROW)), BLIND),
    "three turning joints": (small.robot(axes=three()), ALL_THREE),
    "three turning joints with dry friction and losses": (
        small.robot(axes=three(motor=DRY, gear={"efficiency": 0.8})), ALL_THREE),
    "three turning joints, soft gears": (small.robot(axes=three(gear=SOFT)), ALL_THREE),
    "three turning joints, synchronous motors": (small.robot(axes=three(motor=small.PMSM)), ALL_THREE),
    "ideal drives with dry friction": (
        small.robot(axes=two(motor={"kind": "ideal", "rotor_inertia": "1e-4 kg*m^2", "coulomb_friction": "0.02 N*m"})),
        BOTH,
    ),
}  # fmt: skip


def balance(result: Result) -> float:
    return abs(result.summary["energy"]["balance_error_relative"])


def test_energy_of_motors_without_inductance_balances_with_dead_time(tmp_path: Path) -> None:
    """Edge by edge: their torque jumps, and with late edges the fast method's line leaves 1e-5 of it."""
    machine = small.robot(LATE, axes=two(motor=REDUCED))
    result = small.run_case(tmp_path, machine, {**BOTH, "solver": {"method": "rk4", "steps": 8}})
    assert balance(result) < MOST, result.summary["energy"]


@pytest.mark.parametrize("method", ["fast", "rk4"])
@pytest.mark.parametrize("case", CASES)
def test_energy_balances(tmp_path: Path, case: str, method: str) -> None:
    machine, scenario = CASES[case]
    steps = 1 if method == "fast" else 8
    result = small.run_case(tmp_path, machine, {**scenario, "solver": {"method": method, "steps": steps}})
    energy = result.summary["energy"]
    # the fast method lays a line through the torque of a period; the large ripple of two levels is none
    most = 2e-5 if method == "fast" and case.startswith("two levels") else MOST
    # nor is a soft gear that an end stop makes swing a thing for steps of a period, with friction or without
    most = (
        5e-6
        if method == "fast" and case == "two joints that rub behind soft gears, one hits its stop"
        else most
    )
    assert balance(result) < most, energy
    expected = {
        "coulomb, stiction and stribeck": "friction_J",
        "lossy gear, lifting and lowering": "gear_J",
        "elastic gear": "gear_J",
        "two joints that rub behind soft gears, one hits its stop": "impact_J",
        "capacitor, regeneration and braking resistor": "brake_resistor_J",
        "two levels with dead time and resistance": "bridge_J",
        "end stop": "impact_J",
        "end stop with a lossy gear": "impact_J",
        "end stop against a pushing motor": "impact_J",
    }
    if case in expected:  # what the case is about has happened
        assert energy[expected[case]] > 0.0
