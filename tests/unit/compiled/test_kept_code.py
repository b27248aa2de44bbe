"""The compiled loops of the simulator can be kept on disk: what each of them depends on is known."""

from __future__ import annotations

import pytest

from servotwin.compiled.dependencies import dependency_digest
from servotwin.control.servo.tasks import step_servo
from servotwin.simulation.plant.loop import run
from servotwin.simulation.plant.pieces import PIECES, WEIGHTS, aside, compiled_piece

FUNCTIONS = {name: compiled_piece(name).function for name in PIECES}
FUNCTIONS |= {"run": run.py_func, "step_servo": step_servo.py_func}  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_loop_depends_on_is_known(name: str) -> None:
    """Otherwise it would be compiled in every process (NotFollowedError), and nothing but the time would tell."""
    assert dependency_digest(FUNCTIONS[name], {})


def test_missing_pieces_are_shared_between_two_processes() -> None:
    missing = ["event_steps", "general", "constrained_arm", "change_modes"]
    for loop_missing in (True, False):
        there = aside(missing, loop_missing=loop_missing)
        here = [name for name in missing if name not in there]
        loads = [sum(WEIGHTS[name] for name in names) for names in (here, there)]
        loads[0] += loop_missing
        assert abs(loads[0] - loads[1]) < max(WEIGHTS[name] for name in missing)
    assert aside(["dc"], loop_missing=True) == ["dc"]
    assert aside(["dc"], loop_missing=False) == []
