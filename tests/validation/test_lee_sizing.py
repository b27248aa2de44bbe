"""Lee et al. 1989, Fig. 7: required torque of the A motor over the full range at full speed and payload.

The figure is lost; its story is the choice of the motor: peaks above the rated torque, which the driver gives for a
moment, and an RMS torque below it, which the motor gives for ever.
"""

from __future__ import annotations

import pytest

import servotwin as st

KGF_CM = 9.80665e-2  # N m
RATED = 6.5 * KGF_CM


def test_ratings_of_the_a_motor_tell_the_story_of_figure_7():
    found = st.size("gsis-scara", scenario="scara-full-range", what_if=["payload", "speed"])
    A = found.assessment.demands[0]
    assert A.actuator.motor.rated_torque == pytest.approx(RATED)
    assert RATED < A.peak_torque < 3.0 * RATED
    assert 0.65 * RATED < A.rms_torque < 0.85 * RATED
    assert A.passes
    tight = [d.worst.share for d in found.assessment.demands]
    assert max(tight) == tight[0]  # A is the axis that decides
    by_payload, by_speed = found.what_if
    assert by_payload.axis == by_speed.axis == "A"
    assert by_payload.value > 4.0
    assert 1.0 < by_speed.value < 1.5


def test_simulated_rms_torque_of_the_full_range_is_the_predicted_one():
    """Cascade without feedforward: peaks differ by its lag and by the steps of the 16 ms controller, RMS by 2 %."""
    found = st.size("gsis-scara", scenario="scara-full-range")
    run = st.simulate("scara-full-range", {"solver.pwm": "averaged"})
    assert found.assessment.demands[0].rms_torque == pytest.approx(
        run.summary["axes"][0]["rms_torque_N_m"], rel=0.02
    )
