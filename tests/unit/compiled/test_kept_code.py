"""The compiled loops of the simulator can be kept on disk: what each of them depends on is known."""

from __future__ import annotations

import pytest

from servotwin.compiled.dependencies import dependency_digest
from servotwin.control.servo.tasks import step_servo
from servotwin.simulation.plant.loop import run
from servotwin.simulation.plant.pieces import PIECES

FUNCTIONS = {name: piece.function for name, piece in PIECES.items()}
FUNCTIONS |= {"run": run.py_func, "step_servo": step_servo.py_func}  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_loop_depends_on_is_known(name: str) -> None:
    """Otherwise it would be compiled in every process (NotFollowedError), and nothing but the time would tell."""
    assert dependency_digest(FUNCTIONS[name], {})
