"""The rig's twin against SciPy and closed forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from servotwin.errors import InputError
from servotwin.hil.ports import SHAFT_COMMAND, SHAFT_FEEDBACK, RigFault
from servotwin.hil.rig_file import read_rig, rig_names
from servotwin.hil.rig_model import rig_step
from servotwin.hil.rig_record import ANGLE, DRIVE_CURRENT, FILTERED, RATE

LAGS = {
    "shafts.S1.drive.inductance": "3 mH",
    "shafts.S1.drive.bandwidth": "400 Hz",
    "shafts.S1.drive.ripple": "5 %",
    "shafts.S1.drive.ripples": "7",
    "shafts.S1.load.bandwidth": "300 Hz",
    "shafts.S1.misalignment.once": "3e-3 N*m",
    "shafts.S1.misalignment.twice": "1e-3 N*m",
}


def on(voltage: float, torque: float = 0.0) -> Any:
    """A command to the first shaft, amplifiers on and brake open."""
    command = np.zeros(1, SHAFT_COMMAND)
    command["enable"], command["brake_released"] = 1, 1
    command["drive_voltage"][0, 0], command["load_torque"][0, 0] = voltage, torque
    return command


def scipy_shaft(u: float, tau_l: float, duration: float) -> Any:
    """angle, rate, u, i_d, i_l, y, yd of the same rig, sliding forward, by SciPy."""
    J, K, R, L, f, tau_c, w_0 = 6.38e-5, 0.061, 2.05, 3e-3, 2.58e-5, 0.0205, 2 * np.pi * 50

    def slope(_: float, x: Any) -> Any:
        theta, w, v, i, i_l, y, yd = x
        tau = K * i * (1 + 0.05 * np.cos(7 * theta)) + 0.072 * i_l
        tau += 3e-3 * np.cos(theta) + 1e-3 * np.cos(2 * theta)
        moving = w > 0 or tau > tau_c
        return [
            w,
            (tau - f * w - tau_c) / J if moving else 0.0,
            2 * np.pi * 400 * (u - v),
            (v - R * i - K * w) / L,
            2 * np.pi * 300 * (tau_l / 0.072 - i_l),
            yd,
            w_0**2 * (w - y) - np.sqrt(2) * w_0 * yd,
        ]

    return solve_ivp(slope, (0, duration), np.zeros(7), rtol=1e-9, atol=1e-12, max_step=1e-4).y[:, -1]


def test_shaft_with_lags_and_ripple_follows_scipy() -> None:
    rig, shown = read_rig("met-rig", LAGS).records(), np.zeros(1, SHAFT_FEEDBACK)
    for _ in range(20):
        rig_step(rig, on(5.0, -0.01), shown, 0.01)
    expected = scipy_shaft(5.0, -0.01, 0.2)
    # the first instants, until it lets go, are found to a step of the twin (20 us): 1e-4 of the motion
    assert rig["x"][0] == pytest.approx(expected, rel=2e-4)
    assert shown["rate"][0, 0] == pytest.approx(expected[5], rel=2e-4)
    assert shown["drive_current"][0, 0] == pytest.approx(expected[3], rel=2e-4)
    assert shown["time"][0] == 200_000_000


def test_shaft_below_breakaway_stands_still_exactly() -> None:
    rig, shown = read_rig("met-rig").records(), np.zeros(1, SHAFT_FEEDBACK)
    limit = 0.0205 / 0.061 * 2.05
    for _ in range(10):
        rig_step(rig, on(0.999 * limit), shown, 0.01)
    assert rig["x"][0, ANGLE] == 0.0 == rig["x"][0, RATE]
    rig_step(rig, on(1.01 * limit), shown, 0.01)
    assert rig["x"][0, RATE] > 0.0


def test_coasting_shaft_stops_where_energy_says_and_stays() -> None:
    rig, shown = (
        read_rig("met-rig", {"shafts.S1.friction.viscous": "0 N*m*s/rad"}).records(),
        np.zeros(1, SHAFT_FEEDBACK),
    )
    rig["x"][0, RATE], rig["mode"][0] = 40.0, 1
    off = on(0.0)
    off["enable"] = 0
    for _ in range(30):
        rig_step(rig, off, shown, 0.01)
    assert rig["x"][0, RATE] == 0.0
    # 1/2 J w^2 = tau_c theta
    assert rig["x"][0, ANGLE] == pytest.approx(0.5 * 6.38e-5 * 40.0**2 / 0.0205, rel=1e-9)


def test_closed_brake_stops_the_shaft_sooner() -> None:
    rig, shown = read_rig("met-rig").records(), np.zeros(1, SHAFT_FEEDBACK)
    rig["x"][0, RATE], rig["mode"][0] = 40.0, 1
    rig_step(rig, np.zeros(1, SHAFT_COMMAND), shown, 0.02)
    assert rig["x"][0, RATE] == 0.0
    assert rig["x"][0, ANGLE] == pytest.approx(
        0.5 * 6.38e-5 * 40.0**2 / 0.3205, rel=1e-2
    )  # viscous part: less than 1 %


def test_over_speed_trips_and_stays_off_until_it_is_switched_off() -> None:
    rig, shown = (
        read_rig("met-rig", {"shafts.S1.over_speed": "50 rad/s"}).records(),
        np.zeros(1, SHAFT_FEEDBACK),
    )
    for _ in range(50):
        rig_step(rig, on(10.0), shown, 0.01)
    assert shown["fault"][0, 0] == RigFault.OVER_SPEED
    assert rig["x"][0, RATE] == 0.0
    rig_step(rig, np.zeros(1, SHAFT_COMMAND), shown, 0.01)
    assert shown["fault"][0, 0] == RigFault.NONE


def test_command_that_is_no_number_switches_the_amplifiers_off() -> None:
    rig, shown = read_rig("met-rig").records(), np.zeros(1, SHAFT_FEEDBACK)
    rig_step(rig, on(5.0), shown, 0.05)
    rig_step(rig, on(np.nan), shown, 0.01)
    assert shown["drive_current"][0, 0] == 0.0 == shown["load_current"][0, 0]
    assert np.isfinite(rig["x"]).all()


def test_tachometer_noise_has_the_density_that_is_stated() -> None:
    changes = {"shafts.S1.tachometer.noise": "1 rad/s", "shafts.S1.tachometer.noise_bandwidth": "1000 Hz"}
    rig, shown = read_rig("met-rig", changes).records(3), np.zeros(1, SHAFT_FEEDBACK)
    rates = []
    for _ in range(4000):
        rig_step(rig, np.zeros(1, SHAFT_COMMAND), shown, 0.01)
        rates.append(shown["rate"][0, 0])
    # white noise through a second-order Butterworth: S^2 times its noise bandwidth, pi f / (2 sqrt 2)
    expected = np.sqrt(1.0 / 1000 * np.pi * 50 / (2 * np.sqrt(2)))
    assert np.std(rates) == pytest.approx(expected, rel=0.05)  # 4000 samples: 1.1 % and their correlation


def test_same_seed_gives_the_same_bits_and_another_one_does_not() -> None:
    def run(seed: int) -> bytes:
        rig, shown = read_rig("met-rig-noisy").records(seed), np.zeros(1, SHAFT_FEEDBACK)
        for _ in range(20):
            rig_step(rig, on(4.0, -0.005), shown, 0.01)
        return rig.tobytes() + shown.tobytes()

    assert run(5) == run(5)
    assert run(5) != run(6)


def test_encoder_without_tachometer_gives_counts_and_their_difference() -> None:
    changes: dict[str, str | None] = {"shafts.S1.tachometer": None, "shafts.S1.encoder.counts": "4000"}
    rig, shown = read_rig("met-rig", changes).records(), np.zeros(1, SHAFT_FEEDBACK)
    before = 0.0
    for _ in range(10):
        rig_step(rig, on(4.0), shown, 0.01)
        count = shown["angle"][0, 0] * 4000 / (2 * np.pi)
        assert count == pytest.approx(np.floor(rig["x"][0, ANGLE] * 4000 / (2 * np.pi) + 0.5), abs=1e-6)
        assert shown["rate"][0, 0] == pytest.approx((shown["angle"][0, 0] - before) / 0.01, rel=1e-12)
        before = shown["angle"][0, 0]


def test_converters_quantise_rate_and_command() -> None:
    changes = {
        "shafts.S1.tachometer.bits": "8",
        "shafts.S1.tachometer.range": "127 rad/s",
        "shafts.S1.drive.bits": "8",
    }
    rig, shown = read_rig("met-rig", changes).records(), np.zeros(1, SHAFT_FEEDBACK)
    rig_step(rig, on(5.03), shown, 0.1)
    assert shown["rate"][0, 0] == round(rig["x"][0, FILTERED])
    assert rig["u_command"][0] == pytest.approx(round(5.03 / 20 * 127) * 20 / 127)


def test_several_shafts_run_side_by_side() -> None:
    one, three = read_rig("met-rig").records(), read_rig("met-rig-three").records()
    shown = np.zeros(1, SHAFT_FEEDBACK)
    command = on(4.0)
    command["drive_voltage"][0, 2] = 4.0
    rig_step(three, command, shown, 0.1)
    rig_step(one, command, np.zeros(1, SHAFT_FEEDBACK), 0.1)
    assert three["x"][0].tobytes() == three["x"][2].tobytes() == one["x"][0].tobytes()
    assert three["x"][1, RATE] == 0.0 == three["x"][1, DRIVE_CURRENT]


@pytest.mark.parametrize("name", rig_names())
def test_every_rig_that_ships_is_read(name: str) -> None:
    assert read_rig(name).name == name


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"shafts.S1.inertia": "0.1 kg"}, "shafts.S1.inertia"),
        ({"shafts.S1.friction.static": "0.001 N*m"}, "less than coulomb"),
        ({"shafts.S1.tachometer": None}, "no sensor"),
        ({"shafts.S1.drive.torque": "1"}, "unknown field"),
        ({"format": "servotwin/1"}, "expected format: servotwin-rig/1"),
    ],
)
def test_bad_rig_gets_one_line(changes: dict[str, str | None], said: str) -> None:
    with pytest.raises(InputError, match=r".") as caught:
        read_rig("met-rig", changes)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_rig_is_named_with_those_that_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no rig 'met-rug'.*did you mean 'met-rig'"):
        read_rig("met-rug")
    with pytest.raises(InputError, match="no such file"):
        read_rig(tmp_path / "rig.yaml")


@pytest.mark.parametrize("bandwidth", ["100 Hz", "5 kHz"])
def test_samples_of_a_tachometer_without_filter_have_the_stated_noise(bandwidth: str) -> None:
    """Whatever the step of the twin, a tenth of the amplifier's lag."""
    changes = {
        "shafts.S1.tachometer": "{noise: 0.3 rad/s, noise_bandwidth: 1 kHz}",
        "shafts.S1.drive.bandwidth": bandwidth,
    }
    rig, shown = read_rig("met-rig", changes).records(3), np.zeros(1, SHAFT_FEEDBACK)
    rates = []
    for _ in range(3000):
        rig_step(rig, np.zeros(1, SHAFT_COMMAND), shown, 0.01)
        rates.append(shown["rate"][0, 0])
    assert np.std(rates) == pytest.approx(0.3, rel=0.05)


@pytest.mark.parametrize("field", ["drive_voltage", "load_torque"])
def test_command_that_is_no_number_switches_off_and_keeps_the_fault(field: str) -> None:
    rig, shown = (
        read_rig("met-rig", {"shafts.S1.over_speed": "50 rad/s"}).records(),
        np.zeros(1, SHAFT_FEEDBACK),
    )
    bad = on(10.0)
    bad[field][0, 0] = np.nan
    rig_step(rig, bad, shown, 0.01)
    assert (rig["enabled"][0], rig["brake_closed"][0], shown["fault"][0, 0]) == (0, 1, RigFault.NONE)
    for _ in range(30):
        rig_step(rig, on(10.0), shown, 0.01)
    assert shown["fault"][0, 0] == RigFault.OVER_SPEED
    for command in (bad, on(10.0)):
        rig_step(rig, command, shown, 0.01)
        assert shown["fault"][0, 0] == RigFault.OVER_SPEED
        assert (rig["enabled"][0], rig["brake_closed"][0]) == (0, 1)
