"""The border of the servo is real: in another process, through two records, it gives the same run bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from servotwin.simulation.plant.signal_table import MOTOR, Writer
from servotwin.simulation.run import carry_out, prepare
from servotwin.simulation.scenario.scenario import read_scenario
from tests.servo_process import Elsewhere

SHORT = {"record.every": "1 ms"}
CASES = {
    "demo move": ("scara-a-axis-100deg", {}),
    "computed torque": ("scara-a-axis-100deg", {"set.controller.law": "computed-torque"}),
    "noise, jitter and edges timed": (
        "scara-perturbed-high-speed",
        {"set.controller.jitter": "13 us", "set.controller.speed_sensing": "inverse-time"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_servo_in_another_process_gives_the_same_signals_bit_for_bit(case: str) -> None:
    scenario, changes = CASES[case]
    here = carry_out(prepare(read_scenario(scenario, changes)), lambda part: None)
    run = prepare(read_scenario(scenario, changes))
    with Elsewhere(run, scenario, changes) as servo:
        there = carry_out(run, lambda part: None)
    assert servo.exchanges >= run.duration_ns // 200_000
    assert len([name for name in there.signals if name.endswith("_count")]) == 4
    hidden = set(here.signals) - set(there.signals)
    of_servo = {signal.column() for signal in MOTOR if signal.writer is Writer.SERVO}
    assert hidden == {name for name in here.signals if name.endswith(tuple(f"_{name}" for name in of_servo))}
    for name, values in there.signals.items():
        if not name.endswith("_saturation"):  # limits of the loops are known to their servo alone
            np.testing.assert_array_equal(values, here.signals[name], err_msg=name)
    assert np.ptp(here.signals["motor_A_count"]) > 1000
