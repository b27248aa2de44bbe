"""What a plan is refused for, in words that can be read."""

from __future__ import annotations

import math

import pytest

from servotwin.motion.errors import Demand, refusal, share_text


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (1.0312, "103.1 % of"),
        (9.99, "999 % of"),
        (12.34, "12.3 times"),
        (266.1, "266 times"),
        (26610.0, "26600 times"),
        (999_999.0, "1000000 times"),
        (1e9, "more than a million times"),
        (math.inf, "more than a million times"),
    ],
)
def test_share_of_a_limit_is_readable(share: float, said: str) -> None:
    assert share_text(share) == said


def test_refusal_of_far_too_much_has_no_powers_of_ten() -> None:
    said = str(refusal(0, Demand("speed", 266.1, "A", 0.5), None))
    assert said.startswith("move 1, 50 % of the path: axis A would need 266 times its largest speed; ")
    said = str(refusal(0, Demand("motor torque", 1.4, "M1", 0.5), 0.1))
    assert "the move would need 140 % of the torque of motor M1 at its speed" in said
