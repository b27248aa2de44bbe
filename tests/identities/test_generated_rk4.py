"""Generated RK4 steps and the steps from edge to edge in general code carry a robot alike."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pytest

from servotwin.mechanism.model import Array
from servotwin.simulation.plant.machine import Machine, attach_pieces
from servotwin.simulation.run import carry_out, prepare
from servotwin.simulation.scenario.scenario import read_scenario
from servotwin.simulation.windows.choice import Window

Change = Callable[[Machine], None]
RK4 = {"solver.method": "rk4"}


def _end(change: Change, *, overrides: dict[str, str]) -> tuple[Array, Array, int]:
    run = prepare(read_scenario("scara-full-range", {**RK4, **overrides, "move.0.dwell": "0 s"}))
    change(run.machine)
    carry_out(run, lambda part: None)
    world = run.machine.world
    return (
        np.array(world["state"]["y"][0]),
        np.array(world["state"]["z"][0]),
        int(world["state"]["events"][0]),
    )


def _general(machine: Machine) -> None:
    attach_pieces(machine, every=True)
    machine.world["choice"]["window"] = machine.world["choice"]["moving"] = Window.EVENT_STEPS


def _same(machine: Machine) -> None:
    assert machine.world["choice"]["window"][0] == Window.GENERATED_RK4
    assert machine.world["code"]["windows"][0, Window.EVENT_STEPS] == 0


def _narrow(then: Change, machine: Machine) -> None:
    """A stop in the way of joint A."""
    machine.stops["high"][0] = 0.3
    then(machine)


@pytest.mark.parametrize("steps", ["1", "2"])
def test_generated_and_general_steps_end_in_the_same_state(steps: str) -> None:
    overrides = {"solver.steps": steps}
    generated, general = _end(_same, overrides=overrides), _end(_general, overrides=overrides)
    np.testing.assert_allclose(generated[0], general[0], rtol=0, atol=2e-6)
    np.testing.assert_allclose(generated[1], general[1], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("steps", ["1", "3"])
def test_generated_steps_stop_before_an_event_and_the_general_ones_find_it(steps: str) -> None:
    overrides = {"solver.steps": steps}
    generated = _end(functools.partial(_narrow, _same), overrides=overrides)
    general = _end(functools.partial(_narrow, _general), overrides=overrides)
    assert generated[2] == general[2] > 0
    np.testing.assert_allclose(generated[0], general[0], rtol=0, atol=1e-5)
