"""True of the main controller whatever is pressed: power before motion, limits, emergency stop at once, no crash."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from operators import LIMITS, PERIOD_NS, SCARA, Bench, T, enabled, player, points, random_key, running
from servotwin.control.main.exchange import Command
from servotwin.control.main.jogging import Jog
from servotwin.control.main.states import MAY_MOVE, POWERED, TRANSITIONS, Event, Mode, State
from servotwin.jobs.player import TaughtPoints

SEQUENCES, KEYS = 2000, 14
JOBS = [
    "MOVEJ P2 SPEED 30%\nWAIT 50 ms\nMOVEJ P3\nSET OUT1 ON\nMOVEJ P1",
    "REPEAT FOREVER\nMOVEL P1 SPEED 0.5 m/s BLEND 20 mm\nMOVEL P2 SPEED 0.5 m/s\nSET OUT1 ON\n"
    "WAITFOR IN1 ON TIMEOUT 50 ms\nEND",
    "MOVEJ far\nMOVEL P3 SPEED 2 m/s",  # not possible
    'ALARM "no"',
]


def check(before: Command, now: Command, *, dead_man: bool = True) -> None:
    """What holds from one period to the next; ``dead_man``: the enabling switch in this period."""
    moved = now.q != before.q
    if now.mode is Mode.TEACH and not dead_man and before.enable:
        assert now.state not in (State.JOGGING, State.MOVING)
        assert before.qd.any() or not moved.any(), (
            "an arm that stood began to move without the enabling switch"
        )
    if not now.enable:
        assert not now.qd.any()
        assert not now.qdd.any()
        assert not moved.any(), "the reference moved without power"
    if not before.enable:
        return  # power came: the reference is where the arm stands
    assert before.state is not State.ENABLING or not moved.any()
    if before.state not in MAY_MOVE and now.state not in MAY_MOVE and now.state is not State.READY:
        assert np.abs(now.q - before.q).max() < 1e-9  # a step of no length may round
    # an arm that stood outside when power came may only find its way back
    assert (now.q >= np.minimum(LIMITS.q_min, before.q) - 1e-9).all()
    assert (now.q <= np.maximum(LIMITS.q_max, before.q) + 1e-9).all()
    if now.enable:
        assert (np.abs(now.q - before.q) / T <= LIMITS.speed * (1.0 + 1e-6)).all()
        assert (np.abs(now.qd) <= LIMITS.speed * (1.0 + 1e-6)).all()
        assert (np.abs(now.qdd) <= LIMITS.acceleration * (1.0 + 1e-5)).all()
        assert (np.abs(now.qd - before.qd) / T <= LIMITS.acceleration * 1.02).all()


def random_feedback(rng: np.random.Generator, bench: Bench) -> dict[str, Any]:
    """Mostly a healthy robot; now and then something breaks for a period."""
    bench.inputs = {"IN1": bool(rng.integers(2))}
    odd = rng.random()
    if odd < 0.01:
        return {"q": np.full(4, np.nan)}
    if odd < 0.02:
        return {"q": bench.q + rng.normal(0.0, 0.5, 4)}
    if odd < 0.03:
        return {"drive_fault": "overload"}
    if odd < 0.045:
        return {"circuit_closed": False}
    if odd < 0.10:
        return {"dead_man": False}
    if odd < 0.105:
        return [{"q": "x"}, {"q": None}, {"inputs": None}, {"qd": "x"}][rng.integers(4)]
    return {}


@pytest.mark.parametrize("seed", range(4))
def test_controller_pressed_at_random_keeps_to_its_rules(seed: int) -> None:
    rng = np.random.default_rng(seed)
    programs: list[Any] = [*(player(text) for text in JOBS), None]
    reached: set[State] = set()
    for _ in range(SEQUENCES // 4):
        bench = enabled(Mode(rng.choice([m.value for m in Mode]))) if rng.random() < 0.8 else Bench()
        bench.q = SCARA.random_q(rng) if not bench.commands else bench.q
        bench.controller.points = TaughtPoints(points(), SCARA.joint_names, [False] * 4, stamped=False)
        last = bench.step()
        if rng.random() < 0.5:
            bench.press(Event.LOAD, program=programs[rng.integers(4)])
            bench.press([Event.RUN, Event.SINGLE_STEP][rng.integers(2)])
        for _ in range(KEYS):
            event, arguments = random_key(rng, programs)
            reply = bench.press(event, **arguments)
            assert reply.accepted or reply.reason
            for k in range(int(rng.choice([1, 1, 2, 5, 12]))):
                feedback = random_feedback(rng, bench)
                now = bench.step(**feedback)
                check(last, now, dead_man=feedback.get("dead_man", True))
                if k == 0 and event is Event.EMERGENCY_STOP:
                    assert now.state is State.EMERGENCY
                    assert not now.enable
                    assert not now.brakes_released
                last = now
                reached.add(now.state)
    assert reached == set(State)


@pytest.mark.parametrize("state", list(State))
def test_emergency_stop_from_every_state_takes_the_power_within_one_period(state: State) -> None:
    bench = running()
    bench.step(8)
    bench.controller.state = state
    bench.must(Event.EMERGENCY_STOP)
    command = bench.step()
    assert command.state is State.EMERGENCY
    assert not command.enable
    assert not command.brakes_released
    assert not bench.press(Event.ENABLE)


@pytest.mark.parametrize("state", list(State))
def test_open_circuit_from_every_state_takes_the_power_in_the_same_period(state: State) -> None:
    bench = running()
    bench.step(8)
    bench.controller.state = state
    command = bench.step(circuit_closed=False)
    assert command.state is State.EMERGENCY
    assert not command.enable


def test_motion_is_reached_only_through_enable() -> None:
    """Without ENABLE no sequence of events leads from a state without power to one with it."""
    reached = {State.DISABLED, State.FAULT, State.EMERGENCY}
    while True:
        more = {
            after
            for (state, event), after in TRANSITIONS.items()
            if state in reached and event is not Event.ENABLE
        }
        if more <= reached:
            break
        reached |= more
    assert not reached & POWERED
    assert MAY_MOVE < POWERED


def test_every_state_is_left_and_every_powered_one_comes_to_rest() -> None:
    rest = {State.READY, State.PAUSED, State.ALARM}
    for state in MAY_MOVE:
        quiet = {TRANSITIONS.get((state, event)) for event in Event}
        assert quiet & (rest | {State.STOPPING, State.HALTING})
    for state in State:
        assert {after for (before, _), after in TRANSITIONS.items() if before is state} - {state}


@pytest.mark.parametrize("seed", range(3))
def test_jogs_at_random_stay_within_limits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bench = enabled()
    last = bench.step()
    for _ in range(50):
        frame = str(rng.choice(["joint", "base", "tool"]))
        direction = np.zeros(4 if frame == "joint" else 6)
        direction[rng.integers(4)] = rng.choice([-1.0, 1.0])
        jog = Jog(frame, tuple(direction.tolist()))  # type: ignore[arg-type]
        for _ in range(int(rng.integers(1, 80))):
            bench.press(Event.JOG, jog=jog)
            now = bench.step()
            check(last, now)
            last = now
        bench.press(Event.RELEASE)
        for _ in range(100):
            now = bench.step()
            check(last, now)
            last = now
            if now.state is State.READY:
                break
        assert now.state is State.READY, now.alarms
    assert not now.alarms
    assert bench.now == len(bench.commands) * PERIOD_NS
