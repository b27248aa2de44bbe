"""The simulated arm feels the spin of rotors on its links: Pinocchio with rotors as bodies, integrated by SciPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import servotwin as st
from servotwin.control.servo.user_laws import PythonLaw
from servotwin.errors import InputError, UnsupportedError
from tests import small_drives as small
from tests.crosscheck.test_rotor_spin_pinocchio import Peer

RATIOS = np.array([30.0, 40.0, 25.0])
VOLTS = np.array([6.0, -5.0, 8.0])
SPAN = 0.15


def machine(coupling: str = "full", **gear: str) -> small.Tree:
    """Three turning joints; B's motor lies across link A, C's along link B: neither is parallel to its joint."""
    mounts = {
        "A": {"link": "base", "axis": [0, 0, 1]},
        "B": {"link": "A", "axis": [1, 0, 0]},
        "C": {"link": "B", "axis": [0.3, 0.0, 1.0]},
    }
    frames: dict[str, Any] = {
        "A": {},
        "B": {"xyz": ["0.1 m", "0 m", "0.3 m"], "rpy": ["90 deg", "0 deg", "0 deg"]},
        "C": {"xyz": ["0.3 m", "0 m", "0 m"], "rpy": ["0 deg", "90 deg", "0 deg"]},
    }
    axes = {}
    for k, name in enumerate("ABC"):
        motor = {**small.DC, "rotor_inertia": "1.5e-3 kg*m^2", "mount": mounts[name]}
        axes[name] = small.axis(origin=frames[name], gear={"ratio": float(RATIOS[k]), **gear})
        axes[name]["motor"] = motor
        axes[name]["link"] = {
            "mass": "2 kg",
            "center": ["0.1 m", "0.02 m", "0 m"],
            "inertia": {"tensor": {"xx": "0.03 kg*m^2", "yy": "0.03 kg*m^2", "zz": "0.03 kg*m^2"}},
        }
    return small.robot(
        {"rotor_coupling": coupling, "gravity": "0 m/s^2"}, axes
    )  # so that it starts without current


def simulated(folder: Path, method: str, coupling: str) -> Any:
    scenario = {
        "start": {"A": "0.1 rad", "B": "0.2 rad", "C": "-0.3 rad"},
        "move": [{"to": {"A": "0.1 rad", "B": "0.2 rad", "C": "-0.3 rad"}, "dwell": f"{SPAN} s"}],
        "solver": {"method": method, "pwm": "averaged", "steps": 4},
    }
    law = PythonLaw(lambda _time, _signals: VOLTS, 0.01, "voltage")
    return small.run_case(folder, machine(coupling), scenario, law)


def integrated(robot: st.Robot) -> np.ndarray:
    """Positions at the end: DC motors at constant voltage on the peer's arm."""
    peer, N = Peer(robot), np.diag(RATIOS)

    def rate(_: float, y: np.ndarray) -> np.ndarray:
        q, qd, i = y[:3], y[3:6], y[6:]
        w = N @ qd
        tau = N.T @ (small.K * i - small.VISCOUS * w)
        qdd = np.linalg.solve(peer.inertia(q), tau - peer.rne(q, qd, np.zeros(3)))
        return np.concatenate([qd, qdd, (VOLTS - small.R * i - small.K * w) / small.L])

    start = np.array([0.1, 0.2, -0.3, *np.zeros(6)])
    return solve_ivp(rate, (0.0, SPAN), start, method="DOP853", rtol=1e-10, atol=1e-12).y[:3, -1]


@pytest.mark.parametrize("method", ["rk4", "fast"])
def test_run_with_rotors_on_moving_links_ends_where_the_peer_ends(tmp_path: Path, method: str) -> None:
    result = simulated(tmp_path, method, "full")
    robot = st.load_robot(tmp_path / "robot.yaml")
    assert robot.mechanism.rotors.spinning == (1, 2)
    end = np.array([result.signals[f"joint_{name}_position_rad"][-1] for name in "ABC"])
    want = integrated(robot)
    assert end == pytest.approx(want, abs=2e-6)
    (tmp_path / "reflected").mkdir()
    without = simulated(tmp_path / "reflected", method, "reflected")
    apart = np.array([without.signals[f"joint_{name}_position_rad"][-1] for name in "ABC"]) - want
    assert np.abs(apart).max() > 1e-3  # the coupling is no rounding
    energy = result.summary["energy"]
    assert abs(energy["balance_error_relative"]) < 1e-6


def test_mount_that_is_missing_or_of_no_link_is_refused(tmp_path: Path) -> None:
    tree = machine()
    del tree["axes"]["B"]["motor"]["mount"]
    small.write_case(tmp_path, tree)
    with pytest.raises(
        InputError, match=r"axes\.B\.motor\.mount: missing: rotor_coupling full needs the link"
    ):
        st.load_robot(tmp_path / "robot.yaml")
    tree = machine()
    tree["axes"]["B"]["motor"]["mount"] = {"link": "Q", "axis": [0, 0, 1]}
    small.write_case(tmp_path, tree)
    with pytest.raises(InputError, match=r"axes\.B\.motor\.mount\.link: 'Q' is not an axis; expected one of"):
        st.load_robot(tmp_path / "robot.yaml")
    tree["axes"]["B"]["motor"]["mount"] = {"link": "A", "axis": [0, 0, 0]}
    small.write_case(tmp_path, tree)
    with pytest.raises(InputError, match=r"axes\.B\.motor\.mount\.axis: the zero vector has no direction"):
        st.load_robot(tmp_path / "robot.yaml")


def test_spin_behind_an_elastic_gear_is_refused_rather_than_dropped(tmp_path: Path) -> None:
    path = small.write_case(tmp_path, machine(stiffness="2e4 N*m/rad", damping="10 N*m*s/rad"))
    with pytest.raises(UnsupportedError, match="rotor_coupling full behind the elastic gears of B, C"):
        st.simulate(path)
