"""Homing methods find the edges and index pulses of the standard's pictures; touch probes keep positions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from one_drive import ENABLE, TURN, OneDrive
from servotwin.fieldbus.cia402.homing import SUPPORTED

LOW, HIGH = -3.3, 3.7  # turns of the shaft: limit switches
CAM = (-0.4, 0.65)  # turns: edges of a cam
EDGE = 0.4  # of a switch that is closed up to an end
# The pictures, written down by hand: the edge, the side of it on which the index pulse lies.
LEFT, RIGHT = -1, 1
PICTURES = {
    1: (LOW, RIGHT), 2: (HIGH, LEFT),
    3: (EDGE, LEFT), 4: (EDGE, RIGHT), 5: (EDGE, RIGHT), 6: (EDGE, LEFT),
    7: (CAM[0], LEFT), 8: (CAM[0], RIGHT), 9: (CAM[1], LEFT), 10: (CAM[1], RIGHT),
    11: (CAM[1], RIGHT), 12: (CAM[1], LEFT), 13: (CAM[0], RIGHT), 14: (CAM[0], LEFT),
}  # fmt: skip
SPEED, SLOW, RATE = 2.0, 0.2, 40.0  # turns/s, turns/s2


def home_switch(method: int, x: float) -> bool:
    base = method - 16 if method > 16 else method
    if base in (3, 4):
        return x >= EDGE
    if base in (5, 6):
        return x <= EDGE
    return CAM[0] <= x <= CAM[1]


class Homing(OneDrive):
    """An ideal axis with switches, at a position in turns."""

    def __init__(self, method: int, start: float) -> None:
        super().__init__()
        self.mode = 6
        self.method = method
        feedback = self.drives.drives["feedback"][0]
        feedback["position"] = start * 2 * math.pi
        objects = {
            "homing_method": method,
            "homing_speed_switch": SPEED * TURN,
            "homing_speed_zero": SLOW * TURN,
        }
        for name, value in (objects | {"homing_acceleration": RATE * TURN}).items():
            self.objects[name] = value
        self.switches()
        self.enable()

    def switches(self) -> None:
        feedback = self.drives.drives["feedback"]
        x = feedback["position"][0] / (2 * math.pi)
        bits = int(x <= LOW) | int(x >= HIGH) << 1 | int(home_switch(self.method, x)) << 2
        feedback["digital_inputs"][0] = bits

    def run(self, word: int = ENABLE | 0x10, most: int = 60_000) -> None:
        for _ in range(most):
            self.switches()
            self.cycle(word)
            if self.inputs[0] & 0x3000:
                return
        pytest.fail("homing did not end")

    @property
    def shaft(self) -> float:
        """Turns."""
        return float(self.drives.drives["feedback"]["position"][0]) / (2 * math.pi)

    @property
    def home(self) -> float:
        """Where the shaft is when the drive says 0 [turns]."""
        return self.shaft - self.inputs[2] / TURN


def expected(method: int) -> float:
    edge, side = PICTURES[method if method < 15 else method - 16]
    if method > 16:
        return edge
    return math.floor(edge) if side == LEFT else math.ceil(edge)


@pytest.mark.parametrize("start", [-2.2, 0.1, 2.6])
@pytest.mark.parametrize("method", [m for m in sorted(SUPPORTED) if m < 31])
def test_methods_find_the_edge_or_index_pulse_of_their_picture(method: int, start: float) -> None:
    drive = Homing(method, start)
    drive.run()
    assert drive.inputs[0] & 0x3400 == 0x1400, "attained and reached, no error"
    # an edge of a switch is seen at the end of a period
    tolerance = 1e-6 if method < 17 else SLOW * 0.001 * 1.1
    assert drive.home == pytest.approx(expected(method), abs=tolerance)


@pytest.mark.parametrize(("method", "pulse"), [(33, 1.0), (34, 2.0)])
def test_index_pulse_alone(method: int, pulse: float) -> None:
    drive = Homing(method, 1.3)
    drive.objects["home_offset"] = 5000
    drive.run()
    assert drive.home + 5000 / TURN == pytest.approx(pulse, abs=1e-6)


def test_switch_that_is_nowhere_is_a_homing_error() -> None:
    drive = Homing(7, 0.1)
    drive.method = 99
    feedback = drive.drives.drives["feedback"]

    def switches() -> None:
        x = feedback["position"][0] / (2 * math.pi)
        feedback["digital_inputs"][0] = int(x <= LOW) | int(x >= HIGH) << 1

    drive.switches = switches  # type: ignore[method-assign]
    drive.run()
    assert drive.inputs[0] & 0x3000 == 0x2000
    assert drive.inputs[3] == 0, "it stands"
    assert LOW - 0.3 < drive.shaft < HIGH + 0.3


def test_homing_can_be_stopped_and_begun_again() -> None:
    drive = Homing(23, 2.6)
    for _ in range(50):
        drive.switches()
        drive.cycle(ENABLE | 0x10)
    assert drive.inputs[3] != 0
    for _ in range(100):
        drive.switches()
        drive.cycle(ENABLE)
    assert drive.inputs[3] == 0
    assert drive.inputs[0] & 0x3000 == 0
    drive.run()
    assert drive.home == pytest.approx(CAM[0], abs=3e-4)


@pytest.mark.parametrize("start", [-2.2, 2.6])
@pytest.mark.parametrize("method", list(range(7, 15)) + list(range(23, 31)))
def test_axis_too_fast_to_turn_on_the_cam_does_not_take_its_far_edge(method: int, start: float) -> None:
    drive = Homing(method, start)
    fast, rate = 4.0, 6.0  # turns/s, turns/s2: 1.3 turns to rest, and the cam has 1.05
    drive.objects["homing_speed_switch"], drive.objects["homing_acceleration"] = fast * TURN, rate * TURN
    drive.run()
    assert drive.inputs[0] & 0x3400 == 0x1400
    tolerance = 1e-6 if method < 17 else fast * 0.001 * 1.1
    assert drive.home == pytest.approx(expected(method), abs=tolerance)


def test_edge_that_is_passed_while_a_halt_slows_down_is_the_home_position() -> None:
    drive, final = Homing(23, 2.6), 3
    while drive.drives.drives["homing_phase"][0] != final or drive.shaft > CAM[0] + 0.02:
        drive.switches()
        drive.cycle(ENABLE | 0x10)
    drive.objects["homing_acceleration"] = 0.4 * TURN  # 0.05 turns to rest
    for _ in range(1000):
        drive.switches()
        drive.cycle(ENABLE | 0x110)
    assert drive.shaft < CAM[0] - 0.02
    drive.run()
    assert drive.home == pytest.approx(CAM[0], abs=SLOW * 0.001 * 1.1)


def test_methods_that_are_not_there_are_refused_by_sdo() -> None:
    drive = OneDrive()
    for method in (15, 16, 31, 32, 36, -1):
        assert drive.download(0, 0x6098, 0, method.to_bytes(1, "little", signed=True)) == 0x06090030
    for method in SUPPORTED:
        assert drive.download(0, 0x6098, 0, bytes([method])) == 0


# --- touch probes -----------------------------------------------------------------------------------


def probed(word: int, positions: list[float], inputs: list[int]) -> OneDrive:
    """A shaft that is at positions [turns], with digital inputs, period by period."""
    drive = OneDrive()
    feedback = drive.drives.drives["feedback"]
    drive.objects["probe_function"] = word
    for place, bits in zip(positions, inputs, strict=True):
        feedback["position"][0], feedback["digital_inputs"][0] = place * 2 * math.pi, bits
        drive.cycle(0)
    return drive


def test_touch_probe_keeps_the_first_edges_of_its_input() -> None:
    places = list(np.arange(8) * 0.01)
    drive = probed(0x31, places, [0, 0, 4, 4, 0, 4, 0, 0])
    assert int(drive.objects["probe_status"][0]) == 0x07
    assert int(drive.objects["probe_1_rising"][0]) == round(0.02 * TURN)
    assert int(drive.objects["probe_1_falling"][0]) == round(0.04 * TURN)


def test_touch_probe_keeps_the_last_edge_if_it_goes_on() -> None:
    drive = probed(0x33, list(np.arange(8) * 0.01), [0, 0, 4, 4, 0, 4, 0, 0])
    assert int(drive.objects["probe_1_rising"][0]) == round(0.05 * TURN)
    assert int(drive.objects["probe_1_falling"][0]) == round(0.06 * TURN)


def test_second_touch_probe_by_the_index_pulse() -> None:
    drive = probed(0x1500, [0.9, 0.95, 0.99, 1.02, 1.5], [0] * 5)
    assert int(drive.objects["probe_status"][0]) == 0x0300
    assert int(drive.objects["probe_2_rising"][0]) == TURN
    assert int(drive.objects["probe_1_rising"][0]) == 0


def test_touch_probe_that_is_switched_off_forgets() -> None:
    drive = probed(0x11, [0.0, 0.1, 0.2], [0, 0, 4])
    assert int(drive.objects["probe_status"][0]) == 0x03
    drive.objects["probe_function"] = 0
    drive.cycle(0)
    assert int(drive.objects["probe_status"][0]) == 0
