"""The enabling switch with three positions, and the lease: nothing but a fresh middle position allows motion."""

from __future__ import annotations

import random

import numpy as np
import pytest

from servotwin.errors import InputError
from servotwin.motion.limits import MotionLimits
from servotwin.pendant.cell.enabling import (
    LEASE,
    MIDDLE,
    RELEASED,
    SQUEEZED,
    Lease,
    braking_time,
    longest_braking,
)
from servotwin.pendant.cell.messages import OperatorState, operator_state
from servotwin.pendant.page.seats import Delay, Seats

MS = 1_000_000


def at(ms: int, switch: int, **more: object) -> OperatorState:
    return OperatorState(ms * MS, switch, **more)  # type: ignore[arg-type]


def test_middle_from_released_allows_and_both_ends_stop() -> None:
    lease = Lease()
    lease.take(at(0, RELEASED))
    lease.take(at(10, MIDDLE))
    lease.look(20 * MS)
    assert lease.held
    lease.take(at(30, SQUEEZED))
    assert not lease.held
    lease.take(at(40, MIDDLE))
    assert not lease.held  # squeezed through: it must be released first
    lease.take(at(50, RELEASED))
    lease.take(at(60, MIDDLE))
    assert lease.held
    lease.take(at(70, RELEASED))
    assert not lease.held


def test_switch_that_was_never_released_allows_nothing() -> None:
    lease = Lease()
    lease.take(at(0, MIDDLE))
    assert not lease.held


def test_lease_that_ran_out_is_not_renewed_by_a_held_switch() -> None:
    lease = Lease()
    lease.take(at(0, RELEASED))
    lease.take(at(10, MIDDLE, hold=True, direction=(1.0,)))
    assert lease.look(10 * MS + LEASE).hold
    state = lease.look(10 * MS + LEASE + 1)
    assert not lease.held
    assert (state.switch, state.hold, state.direction) == (RELEASED, False, ())
    lease.take(at(400, MIDDLE, hold=True, direction=(1.0,)))
    lease.look(401 * MS)
    assert not lease.held
    lease.take(at(420, RELEASED))
    lease.take(at(430, MIDDLE))
    assert lease.held


def test_older_state_does_not_count() -> None:
    lease = Lease()
    lease.take(at(0, RELEASED))
    lease.take(at(50, RELEASED))
    lease.take(at(20, MIDDLE))
    assert not lease.held


def test_messages_that_were_held_up_are_dated_back() -> None:
    """A stalled connection that delivers all at once does not renew the lease."""
    delay = Delay()
    for k in range(10):
        assert delay.sent_ns(30.0 * k, 1_000 * MS + 30 * k * MS) >= 1_000 * MS + 30 * k * MS - MS
    late = [delay.sent_ns(300.0 + 30.0 * k, 6_000 * MS) for k in range(100)]
    assert late[0] < (1_300 + 10) * MS
    assert max(late) < (1_300 + 30 * 99 + 10) * MS


def test_lease_runs_by_the_clock_of_the_cell_whatever_date_a_state_bears() -> None:
    lease = Lease()
    lease.take(at(0, RELEASED))
    lease.take(at(3_600_000, MIDDLE))  # dated an hour ahead
    lease.look(20 * MS)
    assert lease.held
    lease.look(20 * MS + LEASE)
    assert lease.held
    lease.look(20 * MS + LEASE + MS)
    assert not lease.held
    lease.take(at(200, RELEASED))  # and later states still count
    lease.take(at(210, MIDDLE))
    assert lease.held


def test_no_clock_of_a_page_dates_a_message_after_it_came() -> None:
    rng, delay, now = random.Random(20), Delay(), 10**12
    for _ in range(10_000):
        now += rng.randrange(10**9)
        assert delay.sent_ns(rng.choice((1.0, -1.0)) * 10.0 ** rng.uniform(-3.0, 15.0), now) <= now


@pytest.mark.parametrize(
    "data",
    [
        {"switch": True}, {"switch": 3}, {"switch": "1"}, {"switch": 1, "frame": "elsewhere"},
        {"switch": 1, "direction": "x"}, {"switch": 1, "direction": [2.0]}, {"switch": 1, "direction": [float("nan")]},
        {"switch": 1, "direction": [0.0] * 99}, {"switch": 1, "speed": 0}, {"switch": 1, "speed": 2},
        {"switch": 1, "speed": True}, {"switch": 1, "user": "x" * 99},
    ],
)  # fmt: skip
def test_state_that_is_none_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(InputError):
        operator_state(data, 0)


def test_one_operates_and_taking_over_waits_until_the_arm_stands() -> None:
    seats = Seats()
    first, second = seats.join(may_operate=True), seats.join(may_operate=True)
    viewer = seats.join(may_operate=False)
    assert seats.operator is first
    assert seats.holder(second.token) is None
    assert seats.take(second, moving=True)
    assert seats.take(viewer, moving=False)
    assert seats.operator is first
    assert seats.take(second, moving=False) == ""
    assert seats.holder(first.token) is None
    assert seats.holder(second.token) is second
    assert seats.leave(second)
    assert seats.operator is None


def limits(acceleration: float, jerk: float) -> MotionLimits:
    one = np.ones(1)
    return MotionLimits(-one, one, one, acceleration * one, jerk * one, one)


def test_braking_takes_as_long_as_its_ramps_say() -> None:
    """Against the closed forms: v/a; v/a + a/j with the limit of acceleration reached, 2 sqrt(v/j) without."""
    v = np.array([-0.8])
    assert braking_time(v, limits(4.0, np.inf)) == pytest.approx(0.2)
    assert braking_time(v, limits(4.0, np.inf), 2.0) == pytest.approx(0.1)
    assert braking_time(v, limits(4.0, 40.0)) == pytest.approx(0.2 + 0.1)
    assert braking_time(v, limits(4.0, 5.0)) == pytest.approx(2.0 * (0.8 / 5.0) ** 0.5)
    assert braking_time(np.zeros(1), limits(4.0, 5.0)) == 0.0


def test_controller_too_slow_to_brake_in_time_is_refused_and_no_motion_gets_a_negative_rate() -> None:
    assert longest_braking(2_000_000) == pytest.approx(0.126)
    with pytest.raises(
        InputError, match="200 ms is too short for a main period of 100 ms; expected more than 270 ms"
    ):
        longest_braking(100_000_000)
    assert longest_braking(100_000_000, 300_000_000) == pytest.approx(0.03)
    assert longest_braking(2_000_000, late_ns=25_000_000) == pytest.approx(0.126)
    with pytest.raises(InputError, match=r"150 ms is too short .* 28 ms; expected more than 151 ms"):
        longest_braking(28_000_000, 150_000_000, 25_000_000)


def test_page_that_was_given_up_is_heard_of_again_by_a_newer_word_only() -> None:
    lease = Lease()
    lease.take(at(100, RELEASED))
    assert lease.heard(150 * MS, 60 * MS)
    assert not lease.heard(170 * MS, 60 * MS)
    assert not lease.heard(172 * MS, 140 * MS)  # more patience brings nobody back
    lease.take(at(100, RELEASED))
    assert not lease.heard(173 * MS, 140 * MS)
    lease.take(at(165, RELEASED))
    assert lease.heard(174 * MS, 140 * MS)
