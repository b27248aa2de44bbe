"""Input shapers: their residual vibration against linear plants that are integrated, and impulses between samples."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import expm

from servotwin.errors import InputError
from servotwin.linear.shapers import KINDS, Shaper, convolved, shaper, split_impulses
from servotwin.motion.shaping import ShapedMode, ShapingFilter

T = 1e-3
W = 60.0


def left(made: Shaper, w: float, damping: float) -> float:
    """Vibration that a shaped step leaves of an oscillator, over that of the step; exact between samples."""
    chain = ShapingFilter([ShapedMode(made)], T, np.zeros((3, 1)))
    step = np.array([[1.0], [0.0], [0.0]])
    A = np.array([[0.0, 1.0, 0.0], [-w * w, -2.0 * damping * w, w * w], [0.0, 0.0, 0.0]])
    over = expm(A * T)
    x = np.zeros(3)
    for _ in range(1000):
        x[2] = chain.step(step, 0.0)[0, 0]
        x = over @ x
        if x[2] > 1.0 - 1e-12:
            break
    w_d = w * math.sqrt(1.0 - damping**2)
    away, rate = x[0] - 1.0, x[1]
    return math.hypot(away, (rate + damping * w * away) / w_d) * math.sqrt(1.0 - damping**2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("damping", [0.0, 0.02, 0.1])
def test_shaped_step_leaves_what_the_formula_says_over_40_percent_of_frequency(
    kind: str, damping: float
) -> None:
    made = shaper(kind, W, damping)
    for ratio in np.linspace(0.6, 1.4, 17):
        expected = float(made.residual(ratio * W, damping))
        # 5 % of the curve; where the curve is near zero, 0.1 % of the vibration without a shaper
        assert left(made, ratio * W, damping) == pytest.approx(expected, rel=0.05, abs=1e-3)


def test_ten_percent_of_frequency_cost_what_the_texts_print() -> None:
    assert 1.0 / shaper("zv", W).residual(0.9 * W) == pytest.approx(6.4, abs=0.05)
    assert 1.0 / shaper("zvd", W).residual(1.1 * W) == pytest.approx(41.0, abs=0.3)


def test_ei_allows_its_tolerance_at_the_mode_and_nothing_beside_it() -> None:
    for damping in (0.0, 0.15):
        made = shaper("ei", W, damping, tolerance=0.08)
        ratios = np.linspace(0.7, 1.3, 601)
        curve = made.residual(ratios * W)
        assert float(made.residual(W)) == pytest.approx(0.08, rel=1e-9)
        assert curve[ratios < 1.0].min() < 0.08
        assert curve[ratios > 1.0].min() < 0.08
    undamped = shaper("ei", W, tolerance=0.08).residual(np.linspace(0.7, 1.3, 6001) * W)
    assert undamped[:3000].min() < 1e-3
    assert undamped[3000:].min() < 1e-3


def test_two_hump_stays_below_its_tolerance_in_a_wider_range_than_ei() -> None:
    ratios = np.linspace(0.5, 1.5, 2001)
    widths = []
    for kind in ("zvd", "ei", "two-hump"):
        curve = shaper(kind, W, tolerance=0.05).residual(ratios * W)
        widths.append(float(np.ptp(ratios[curve <= 0.05 * (1.0 + 1e-3)])))
    assert widths[0] < widths[1] < widths[2]
    inside = shaper("two-hump", W, tolerance=0.05).residual(np.linspace(0.75, 1.25, 1001) * W)
    assert inside.max() == pytest.approx(0.05, rel=5e-3)  # on both humps


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_positive_and_add_up_to_one(kind: str) -> None:
    for damping in (0.0, 0.3, 0.7):
        made = shaper(kind, W, damping)
        assert (made.amplitudes > 0.0).all()
        assert made.amplitudes.sum() == pytest.approx(1.0, rel=1e-12)


def test_split_impulses_keep_sum_and_first_moment() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        times, amplitudes = np.sort(rng.uniform(0.0, 0.1, 4)), rng.uniform(0.1, 1.0, 4)
        taps = split_impulses(times, amplitudes, T)
        assert (taps >= 0.0).all()
        assert taps.sum() == pytest.approx(amplitudes.sum(), rel=1e-12)
        assert taps @ (T * np.arange(len(taps))) == pytest.approx(amplitudes @ times, rel=1e-12)


def test_splitting_does_not_cost_the_mode() -> None:
    """With coarse samples the split impulses alone would leave a percent of the vibration."""
    made, w = shaper("zv", 60.0), 60.0
    coarse = 0.007
    chain = ShapingFilter([ShapedMode(made)], coarse, np.zeros((3, 1)))
    step = np.array([[1.0], [0.0], [0.0]])
    values = np.array([chain.step(step, 0.0)[0, 0] for _ in range(30)])
    impulses = np.diff(values, prepend=0.0)
    after = abs((impulses * np.exp(1j * w * coarse * np.arange(30))).sum())
    taps = made.taps(coarse)
    plain = abs((taps * np.exp(1j * w * coarse * np.arange(len(taps)))).sum())
    assert plain > 0.009
    assert after < 0.3 * plain


def test_shapers_one_after_the_other_leave_nothing_of_either_mode() -> None:
    first, second = shaper("zv", 50.0, 0.02), shaper("zvd", 80.0, 0.05)
    times, amplitudes = convolved(first, second)
    assert len(times) == 6
    for w, damping in ((50.0, 0.02), (80.0, 0.05)):
        pole = w * complex(damping, math.sqrt(1.0 - damping**2))
        assert abs((amplitudes * np.exp(pole * times)).sum()) < 1e-12


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("zvdd", 60.0), "shaper"),
        (("zv", 0.0), "frequency"),
        (("zv", math.nan), "frequency"),
        (("zv", 60.0, 0.95), "damping"),
    ],
)
def test_shaper_that_cannot_be_made_is_refused(arguments: tuple[str, float], field: str) -> None:
    with pytest.raises(InputError) as error:
        shaper(*arguments)
    assert error.value.field == field


def humps(made: Shaper) -> list[float]:
    """What the curve of residual vibration reaches between its zeros."""
    curve = made.residual(np.linspace(0.4, 1.8, 28_001) * W)
    zeros = np.flatnonzero((curve[1:-1] < curve[:-2]) & (curve[1:-1] <= curve[2:])) + 1
    return [float(curve[a:b].max()) for a, b in pairwise(zeros.tolist())]


@pytest.mark.parametrize(("kind", "count"), [("ei", 1), ("two-hump", 2)])
def test_tolerant_shapers_of_damped_modes_reach_their_tolerance_and_do_not_pass_it(
    kind: str, count: int
) -> None:
    for damping in (0.0, 0.05, 0.1, 0.2, 0.3):
        for tolerance in (0.01, 0.05):
            found = humps(shaper(kind, W, damping, tolerance=tolerance))
            assert found == pytest.approx([tolerance] * count, rel=1e-4)


def test_tolerant_shapers_have_the_stated_value_at_the_mode() -> None:
    for damping in (0.0, 0.1, 0.3):
        assert float(shaper("ei", W, damping).residual(W)) == pytest.approx(0.05, rel=1e-8)
        assert float(shaper("two-hump", W, damping).residual(W)) < 1e-10


def test_two_hump_of_a_damped_mode_is_that_of_the_literature() -> None:
    """Singhose, Porter, Tuttle and Singer (1997), curve fits for 5 %, good to half a percent up to a damping of 0.3."""
    for z in (0.05, 0.1, 0.2, 0.3):
        made = shaper("two-hump", 2.0 * math.pi, z, tolerance=0.05)
        times = [
            0.49890 + 0.16270 * z - 0.54262 * z**2 + 6.16180 * z**3,
            0.99748 + 0.18382 * z - 1.58270 * z**2 + 8.17120 * z**3,
            1.49920 - 0.09297 * z - 0.28338 * z**2 + 1.85710 * z**3,
        ]
        np.testing.assert_allclose(made.times[1:], times, rtol=5e-3)
        first = 0.16054 + 0.76699 * z + 2.26560 * z**2 - 1.22750 * z**3
        assert made.amplitudes[0] == pytest.approx(first, abs=2e-3)


def test_tolerant_shapers_of_much_damping_allow_less_than_asked_for() -> None:
    near = np.linspace(0.8, 1.2, 401) * W
    for kind in ("ei", "two-hump"):
        for damping in (0.4, 0.6, 0.9):
            for tolerance in (0.1, 0.5):
                made = shaper(kind, W, damping, tolerance=tolerance)
                assert (made.amplitudes > 0.0).all()
                assert made.residual(near).max() <= tolerance * (1.0 + 1e-9)
