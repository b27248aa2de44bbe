"""Drives after CiA 402: every command in every state and mode, option codes, faults, resets, modes."""

from __future__ import annotations

import numpy as np
import pytest

from one_drive import (
    CSP,
    DISABLED,
    ENABLE,
    ENABLED,
    FAULT,
    NO_VOLTAGE,
    ON,
    QUICK,
    QUICK_STOP,
    REACTION,
    READY,
    RESET,
    SHUTDOWN,
    SWITCH_ON,
    TURN,
    OneDrive,
)
from servotwin.fieldbus.cia402.states import STATUS, SUPPORTED_MODES, TRANSITIONS, State, state_of
from servotwin.fieldbus.ethercat.frames import Command, Datagram, Frame, encode_frame

MODES = (1, 3, 4, 6, 8, 9, 10)

# The standard's diagram, written down a second time: state and controlword give the state.
DIAGRAM = {
    DISABLED: {SHUTDOWN: READY},
    READY: {SWITCH_ON: ON, ENABLE: ON, NO_VOLTAGE: DISABLED, QUICK_STOP: DISABLED, RESET: DISABLED},
    ON: {SHUTDOWN: READY, ENABLE: ENABLED, NO_VOLTAGE: DISABLED, QUICK_STOP: DISABLED, RESET: DISABLED},
    ENABLED: {SHUTDOWN: READY, SWITCH_ON: ON, NO_VOLTAGE: DISABLED, QUICK_STOP: QUICK, RESET: DISABLED},
    QUICK: {NO_VOLTAGE: DISABLED, ENABLE: ENABLED, RESET: DISABLED},
    FAULT: {RESET: DISABLED},
}


def test_table_has_all_transitions_of_the_standard() -> None:
    assert {t.number for t in TRANSITIONS} == set(range(17))
    for state, bits in STATUS.items():
        if state is not State.START:
            assert state_of(bits | 0x0210) is state


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("state", sorted(DIAGRAM))
def test_every_command_in_every_state_and_mode(state: int, mode: int) -> None:
    for word in (SHUTDOWN, SWITCH_ON, ENABLE, NO_VOLTAGE, QUICK_STOP, RESET):
        drive = OneDrive()
        drive.mode = mode
        drive.objects["shutdown_option"] = drive.objects["disable_option"] = 0
        drive.bring_to(state)
        want = DIAGRAM[state].get(word, state)
        assert drive.cycle(word) == want, f"state {state}, word {word:#x}"
        powered = want in (ENABLED, QUICK)
        assert drive.drives.drives["command"]["enable"][0] == int(powered)
        assert state_of(drive.inputs[0]) == want


def test_statuswords_are_those_of_the_facts() -> None:
    drive = OneDrive()
    words = [drive.inputs[0]]
    for word in (SHUTDOWN, SWITCH_ON, ENABLE):
        drive.cycle(word)
        words.append(drive.inputs[0])
    assert [w & 0x6F for w in words] == [0x40, 0x21, 0x23, 0x27]
    drive.cycle(ENABLE)
    assert drive.inputs[0] & 0x1000, "in cyclic modes bit 12 says that the drive follows"
    assert int(drive.objects["supported_modes"][0]) == SUPPORTED_MODES == 0b11_1010_1101


def test_nothing_moves_without_the_enable_sequence() -> None:
    rng = np.random.default_rng(3)
    drive = OneDrive()
    drive.target = (TURN, TURN, 1000)
    for word in rng.integers(0, 2**16, 400):
        word = int(word) | 0x09 if word & 6 == 6 else int(word)  # anything but a shutdown
        drive.mode = int(rng.choice(MODES))
        drive.cycle(word)
        assert drive.drives.drives["command"]["enable"][0] == 0
    assert drive.inputs[2] == 0


STOPS = {0: (None, DISABLED), 1: (50, DISABLED), 2: (200, DISABLED), 3: (400, DISABLED)}
STOPS |= {5: (50, QUICK), 6: (200, QUICK), 7: (400, QUICK)}


@pytest.mark.parametrize("option", STOPS)
def test_quick_stop_has_the_distance_of_its_ramp(option: int) -> None:
    """Against v^2 / 2a; speeds and decelerations in turns."""
    deceleration, final = STOPS[option]
    drive = OneDrive()
    drive.mode = 9
    drive.enable()
    for name, value in (("profile_deceleration", 50), ("stop_deceleration", 200), ("max_deceleration", 400)):
        drive.objects[name] = value * TURN
    drive.objects["quick_stop_option"] = option
    drive.target = (0, 10 * TURN, 0)
    drive.cycle(ENABLE, 5)
    start = drive.inputs[2]
    if deceleration is None:
        assert drive.cycle(QUICK_STOP) == DISABLED
        return
    states = [drive.cycle(QUICK_STOP) for _ in range(300)]
    assert states[0] == QUICK
    assert states[-1] == final
    stopped = (drive.inputs[2] - start) / TURN
    assert stopped == pytest.approx(10**2 / 2 / deceleration, abs=10 * 0.001 * 1.01)
    assert drive.inputs[3] == 0
    if final == QUICK:
        drive.target = (0, 0, 0)
        assert drive.cycle(ENABLE) == ENABLED


@pytest.mark.parametrize(
    ("word", "name", "final"), [(SHUTDOWN, "shutdown_option", READY), (SWITCH_ON, "disable_option", ON)]
)
def test_shutdown_and_disable_may_slow_down_first(word: int, name: str, final: int) -> None:
    drive = OneDrive()
    drive.mode = 9
    drive.enable()
    drive.objects[name] = 1
    drive.objects["profile_deceleration"] = 100 * TURN
    drive.target = (0, TURN, 0)
    drive.cycle(ENABLE, 3)
    states = [drive.cycle(word) for _ in range(30)]
    assert states[:9] == [ENABLED] * 9
    assert states[-1] == final


@pytest.mark.parametrize(("option", "cycles"), [(0, 1), (1, 20), (2, 5)])
def test_following_error_is_a_fault_with_its_reaction(option: int, cycles: int) -> None:
    drive = OneDrive()
    drive.enable()
    drive.objects["fault_option"] = option
    drive.objects["profile_deceleration"], drive.objects["stop_deceleration"] = 50 * TURN, 200 * TURN
    drive.objects["max_motor_speed"] = 60
    drive.plant.context["stuck"][0, 0] = 1
    drive.objects["following_window"], drive.objects["following_time"] = TURN // 100, 5
    position, faulted = drive.inputs[2], 0
    for k in range(40):
        drive.target = (position + TURN // 1000 * (k + 1), 0, 0)
        if drive.cycle(ENABLE) in (REACTION, FAULT):
            break
        faulted = k + 1
    assert 14 <= faulted <= 18  # 10 periods to the window, 5 ms beyond it
    assert int(drive.objects["error_code"][0]) == 0x8611
    states = [int(drive.drives.drives["state"][0]), *(drive.cycle(ENABLE) for _ in range(30))]
    reacting = states.index(FAULT)
    assert reacting <= cycles + 3
    assert (reacting > 1) == (option > 0)
    assert drive.drives.drives["command"]["enable"][0] == 0


def test_following_error_bit_waits_for_the_time_out() -> None:
    """Bit 13 is set when the error has lasted longer than 6066, and until the fault is reset."""
    drive = OneDrive()
    drive.enable()
    drive.plant.context["stuck"][0, 0] = 1
    drive.objects["following_window"], drive.objects["following_time"] = TURN // 100, 8
    drive.target = (drive.inputs[2] + TURN // 20, 0, 0)
    bits = []
    while drive.cycle(ENABLE) == ENABLED:
        bits.append(drive.inputs[0] & 0x2000)
    assert len(bits) >= 8
    assert not any(bits)
    assert drive.inputs[0] & 0x2000
    drive.plant.context["stuck"][0, 0] = 0
    drive.cycle(0, 200)
    assert drive.inputs[0] & 0x2000
    assert drive.cycle(RESET) == DISABLED
    assert not drive.inputs[0] & 0x2000


def test_reset_wants_a_rising_edge_and_a_fault_that_is_gone() -> None:
    drive = OneDrive()
    drive.enable()
    drive.fault(0x3210)
    assert drive.cycle(ENABLE, 3) == FAULT
    assert drive.inputs[5] == 0x3210
    assert drive.drives.drives["command"]["enable"][0] == 0
    drive.plant.context["permanent"][0, 0] = 1
    drive.cycle(RESET)
    assert drive.cycle(RESET, 5) == FAULT, "the fault is still there"
    drive.plant.context["permanent"][0, 0] = 0
    drive.fault(0)
    assert drive.cycle(RESET, 5) == FAULT, "a level is no edge"
    assert drive.cycle(ENABLE) == FAULT
    assert drive.cycle(RESET | ENABLE) == DISABLED
    assert drive.inputs[5] == 0
    assert drive.cycle(ENABLE, 3) == DISABLED, "no motion without the whole sequence"


def test_lost_outputs_stop_an_enabled_drive() -> None:
    drive = OneDrive()
    drive.mode = 9
    drive.enable()
    drive.target = (0, 10 * TURN, 0)
    drive.cycle(ENABLE, 5)
    drive.segment.idle(drive.segment.now + 101_000_000)
    assert drive.state() == (4 | 0x10, 0x1B)
    before = drive.inputs[2]
    for _ in range(50):
        drive.cycle(ENABLE)
    assert drive.drives.drives["state"][0] == FAULT
    assert drive.inputs[5] == 0x7500
    moved = drive.inputs[2] - before
    assert 0 < moved < 2 * TURN
    assert drive.inputs[3] == 0


def test_a_thousand_frames_lost_at_random_do_no_harm() -> None:
    """The target is absolute: after a lost frame the axis is where the next one says, within what the motor can."""
    rng = np.random.default_rng(5)
    drive = OneDrive()
    drive.enable()
    lost, place = 0, drive.inputs[2]
    while lost < 1000:
        place += 1000
        drive.target = (place, 0, 0)
        if rng.random() < 0.3:
            drive.segment.record["lose"] = 1
            frame = encode_frame(Frame((Datagram(Command.LWR, 0, bytes(20)),)))
            assert drive.segment.process(frame) is None
            lost += 1
        else:
            assert drive.cycle(ENABLE) == ENABLED
            assert drive.inputs[2] == place
    assert drive.state() == (8, 0)


# --- modes ------------------------------------------------------------------------------------------


def test_csp_follows_to_the_count_and_over_the_end_of_32_bits() -> None:
    drive = OneDrive()
    drive.enable()
    place = drive.inputs[2]
    for _ in range(3):
        for _ in range(100):
            place = (place + 20 * TURN // 1000 + 2**31) % 2**32 - 2**31
            drive.target = (place, 0, 0)
            drive.cycle(ENABLE)
            assert drive.inputs[2] == place
        shift = 2**31 - 5 * TURN - place  # on to the end of the range
        drive.drives.drives["offset"] += shift
        drive.drives.drives["position"] += shift
        place += shift
        drive.target = (place, 0, 0)
        drive.cycle(ENABLE)
    assert drive.inputs[6] == 0


def test_period_of_the_master_is_that_of_the_drives() -> None:
    drive = OneDrive()
    for state in (4, 2):
        drive.ask(0, state)
    assert drive.download(0, 0x1C32, 2, (4_000_000).to_bytes(4, "little")) == 0
    drive.ask(0, 4)
    drive.cycle(0)
    drive.ask(0, 8)
    drive.cycle(0, 2)
    drive.enable()
    drive.target = (drive.inputs[2] + 4000, 0, 0)
    drive.cycle(ENABLE)
    assert drive.inputs[3] == 1_000_000, "4000 user units in 4 ms"


def test_csp_never_commands_more_than_the_motor_can() -> None:
    drive = OneDrive()
    drive.enable()
    drive.objects["max_motor_speed"] = 600  # 10 turns/s
    drive.target = (drive.inputs[2] + TURN, 0, 0)
    drive.cycle(ENABLE)
    assert drive.inputs[2] == pytest.approx(TURN / 100, abs=1)
    assert drive.inputs[0] & 0x0800, "internal limit"
    drive.cycle(ENABLE, 100)
    assert drive.inputs[2] == TURN
    assert not drive.inputs[0] & 0x0800


def test_csp_stays_within_the_software_limits() -> None:
    drive = OneDrive()
    drive.enable()
    drive.objects["position_limit_low"], drive.objects["position_limit_high"] = -1000, 2000
    drive.target = (5000, 0, 0)
    drive.cycle(ENABLE, 3)
    assert drive.inputs[2] == 2000
    drive.target = (-5000, 0, 0)
    drive.cycle(ENABLE, 3)
    assert drive.inputs[2] == -1000


@pytest.mark.parametrize("way", [3.0, -0.02, 0.0001])
def test_pp_takes_the_time_of_a_trapezoid(way: float) -> None:
    """Against the closed form: d/v + v/a, or 2 sqrt(d/a) where the top speed is not reached."""
    drive = OneDrive()
    drive.mode = 1
    drive.enable()
    top, rate = 20.0, 200.0
    drive.objects["profile_velocity"] = int(top * TURN)
    drive.objects["profile_acceleration"] = drive.objects["profile_deceleration"] = int(rate * TURN)
    goal = int(way * TURN)
    drive.target = (goal, 0, 0)
    drive.cycle(ENABLE)
    drive.cycle(ENABLE | 0x10)
    assert drive.inputs[0] & 0x1000, "set-point acknowledge"
    periods = 1
    while drive.inputs[2] != goal:
        drive.cycle(ENABLE)
        periods += 1
        assert periods < 1000
        assert (drive.inputs[2] - goal) * (1 if way > 0 else -1) <= 0, "overshoot"
    d = abs(way)
    want = d / top + top / rate if d > top**2 / rate else 2 * (d / rate) ** 0.5
    assert periods * 1e-3 == pytest.approx(want, rel=0.05, abs=0.012)
    drive.cycle(ENABLE, 20)
    assert drive.inputs[0] & 0x0400, "target reached"
    assert not drive.inputs[0] & 0x1000
    drive.target = (1000, 0, 0)
    drive.cycle(ENABLE | 0x50)  # relative
    drive.cycle(ENABLE, 200)
    assert drive.inputs[2] == goal + 1000


@pytest.mark.parametrize("mode_before", [6, 8])
def test_pp_takes_no_target_without_a_rising_edge(mode_before: int) -> None:
    """Bit 4 that is still set from a homing, or from before the mode, asks for no motion."""
    drive = OneDrive()
    drive.mode = mode_before
    drive.enable()
    start = drive.inputs[2]
    drive.cycle(ENABLE | 0x10, 3)
    drive.mode, drive.target = 1, (start + TURN, 0, 0)
    drive.cycle(ENABLE | 0x10, 20)
    assert drive.inputs[2] == start
    assert not drive.inputs[0] & 0x1000
    drive.cycle(ENABLE)
    drive.cycle(ENABLE | 0x10)
    assert drive.inputs[0] & 0x1000
    drive.cycle(ENABLE | 0x10, 20)
    assert drive.inputs[2] > start


def test_speed_that_no_object_holds_keeps_its_sign() -> None:
    drive = OneDrive()
    drive.objects["feed"] = 1_000_000_000
    drive.mode = 10
    drive.enable()
    drive.target = (0, 0, 1000)
    speeds = []
    for _ in range(300):
        drive.cycle(ENABLE)
        speeds.append(int(drive.inputs[3]))
    assert min(speeds) >= 0
    assert max(speeds) == 2**31 - 1


def test_pp_halts_and_goes_on() -> None:
    drive = OneDrive()
    drive.mode = 1
    drive.enable()
    drive.target = (3 * TURN, 0, 0)
    drive.cycle(ENABLE | 0x10, 100)
    drive.cycle(ENABLE | 0x100, 200)
    assert drive.inputs[3] == 0
    assert 0 < drive.inputs[2] < 3 * TURN
    drive.cycle(ENABLE, 600)
    assert drive.inputs[2] == 3 * TURN


def test_pv_follows_its_ramps() -> None:
    drive = OneDrive()
    drive.mode = 3
    drive.enable()
    drive.objects["profile_acceleration"] = 100 * TURN
    drive.objects["profile_deceleration"] = 200 * TURN
    drive.target = (0, 10 * TURN, 0)
    drive.cycle(ENABLE, 50)
    assert drive.inputs[3] == pytest.approx(5 * TURN, rel=0.03)
    drive.cycle(ENABLE, 60)
    assert drive.inputs[3] == 10 * TURN
    assert drive.inputs[0] & 0x0400
    drive.cycle(ENABLE | 0x100, 25)
    assert drive.inputs[3] == pytest.approx(10 * TURN - 0.025 * 100 * TURN * 2, rel=0.1)
    drive.cycle(ENABLE | 0x100, 60)
    assert drive.inputs[3] == 0


def test_torque_modes_accelerate_the_inertia() -> None:
    """Against tau t / J of a free shaft without damping."""
    drive = OneDrive()
    drive.mode = 10
    drive.enable()
    drive.plant.context["damping"] = 0.0
    drive.target = (0, 0, 500)  # half of 1 N m
    drive.cycle(ENABLE, 10)
    want = 0.5 / 1e-4 * 0.010 / (2 * np.pi) * TURN
    assert drive.inputs[3] == pytest.approx(want, rel=1e-6)
    assert drive.inputs[4] == 500
    drive.objects["torque_limit_positive"] = 100
    drive.cycle(ENABLE, 2)
    assert drive.inputs[4] == 100
    assert drive.inputs[0] & 0x0800
    drive.objects["torque_limit_positive"] = 3000
    drive.mode, drive.target = 4, (0, 0, 0)
    drive.objects["torque_slope"] = 10_000
    drive.cycle(ENABLE, 5)
    assert drive.inputs[4] == pytest.approx(50, abs=11)


def test_homing_takes_the_present_position() -> None:
    drive = OneDrive()
    drive.enable()
    drive.target = (12345, 0, 0)
    drive.cycle(ENABLE, 3)
    drive.mode = 6
    drive.objects["home_offset"] = 500
    drive.cycle(ENABLE, 2)
    assert not drive.inputs[0] & 0x1000
    drive.cycle(ENABLE | 0x10, 2)
    assert drive.inputs[0] & 0x3400 == 0x1400
    assert drive.inputs[2] == 500
    assert drive.drives.drives["feedback"]["position"][0] == pytest.approx(12345 / TURN * 2 * np.pi)
    drive.cycle(ENABLE)
    drive.objects["homing_method"] = 36
    drive.cycle(ENABLE | 0x10)
    assert drive.inputs[0] & 0x2000, "a method that is not there is a homing error"


def test_user_units_follow_gear_and_feed() -> None:
    drive = OneDrive()
    drive.objects["gear_motor_turns"], drive.objects["feed"] = 100, 360_000
    drive.cycle(0)
    drive.enable()
    drive.target = (900, 0, 0)  # thousandths of a degree behind a gear of 100
    drive.cycle(ENABLE, 5)
    assert drive.drives.drives["feedback"]["position"][0] == pytest.approx(np.deg2rad(0.9) * 100)


def test_mode_that_does_not_exist_leaves_the_last_in_force() -> None:
    drive = OneDrive()
    drive.enable()
    drive.mode = 7
    drive.cycle(ENABLE)
    assert drive.inputs[1] == CSP
    assert drive.drives.drives["state"][0] == ENABLED
