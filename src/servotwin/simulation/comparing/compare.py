r"""A simulated run against a measured one: differences in position and velocity, axis by axis.

The simulated signals are taken at the measured instants, moved by the time
shift delta that the two clocks have between them (``align``):

.. math:: e_k = s(t_k - \delta) - y_k

Currents, torques, voltages and power of a result are means over its rows, all else are instants (``result.sampling``);
what was measured are instants unless a channel says that it holds means. Both sides are brought to what was measured:
instants against instants, means against means over the same times (``resample``).

Velocities that were not measured follow from the positions by a central
difference over a short window, on both sides in the same way, as in figures 9
and 10 of Lee et al. 1989.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from servotwin.description.fields import LARGEST
from servotwin.errors import InputError, ServotwinError
from servotwin.mechanism.model import Array
from servotwin.simulation.comparing.align import Pair, estimate_shift, refine_shift
from servotwin.simulation.comparing.differences import Metrics, Piece, derived, differences, share
from servotwin.simulation.comparing.measured_signals import Channel, MeasuredSignals, split_signal
from servotwin.simulation.comparing.resample import interpolate, mean_of_instants, mean_of_means, middles
from servotwin.simulation.results.result import sampling
from servotwin.simulation.results.result_files import Saved

WINDOW = 4e-3  # s, shortest window of a difference quotient: over one encoder step it would be noise
SAMPLED = 200_000  # instants that the usual distance between them is found from
OWN_REACH = 20e-3  # s, how far the shift of one axis may lie from the common one


@dataclass(frozen=True)
class SignalComparison:
    """One signal twice at the same instants (k,) of the simulation's clock, and their difference.

    Of long records the arrays hold some of the instants, evenly taken; the ``metrics`` are those of all.
    """

    signal: str
    unit: str
    time: Array
    measured: Array
    simulated: Array
    metrics: Metrics
    derived: bool = False  # a velocity by differentiation
    means: bool = False  # of the time since the row before; otherwise instants

    @property
    def difference(self) -> Array:
        """Simulated minus measured."""
        return self.simulated - self.measured


@dataclass(frozen=True)
class AxisComparison:
    """Position and velocity of a joint or motor; ``own_shift_s`` is the shift that suits it alone best."""

    kind: str  # joint or motor
    name: str
    position: SignalComparison | None
    velocity: SignalComparison | None
    own_shift_s: float | None


@dataclass(frozen=True)
class Comparison:
    """A simulated against a measured run; ``shift_s`` is positive if the measured one lags."""

    shift_s: float
    shift_given: bool
    axes: tuple[AxisComparison, ...]
    others: tuple[SignalComparison, ...]


def compare(saved: Saved, measured: MeasuredSignals, shift: float | None = None) -> Comparison:
    """Align, resample and measure the differences; ``shift`` [s] is estimated if None."""
    delta = shift
    if delta is None:
        try:
            delta = estimate_shift(_pairs(saved, measured))
        except ServotwinError as error:
            text = f"{error}; expected a time, such as '0 s'"
            raise InputError(text, file=measured.file, field="--shift") from None
    tracks = [track for track in _tracks(saved) if not measured.channels.keys().isdisjoint(track[2:])]
    used = {signal for _, _, position, velocity in tracks for signal in (position, velocity)}
    most = share(len(measured.channels.keys() | used))
    axes = [_axis(saved, measured, track, delta, most) for track in tracks]
    rest = [channel for signal, channel in measured.channels.items() if signal not in used]
    others = tuple(_compared(_curves(saved, measured, channel, delta), most) for channel in rest)
    return Comparison(delta, shift is not None, tuple(axes), others)


def _tracks(saved: Saved) -> list[tuple[str, str, str, str]]:
    """Kind, name, position and velocity signal of every joint and motor."""
    found = []
    for name, slides in zip(saved.joints, saved.prismatic, strict=True):
        unit = "m" if slides else "rad"
        stem = f"joint_{name}"
        found.append(("joint", name, f"{stem}_position_{unit}", f"{stem}_velocity_{unit}_per_s"))
    for name in saved.motors:
        slides = f"motor_{name}_position_m" in saved.signals
        place, speed = ("position_m", "speed_m_per_s") if slides else ("angle_rad", "speed_rad_per_s")
        found.append(("motor", name, f"motor_{name}_{place}", f"motor_{name}_{speed}"))
    return found


def _pairs(saved: Saved, measured: MeasuredSignals) -> list[Pair]:
    """What the shift is found from: positions, or velocities, or if there are none all that was measured."""
    tracks = _tracks(saved)
    positions = [p for _, _, p, _ in tracks if p in measured.channels]
    rates = [v for _, _, _, v in tracks if v in measured.channels]
    for signals, rate in ((positions, False), (rates, True), (list(measured.channels), False)):
        most = share(len(signals))
        pairs = [_pair(saved, measured, signal, most, rate=rate) for signal in signals]
        moving = [pair for pair in pairs if pair.moves]
        if moving:
            return moving
    return []


def _pair(saved: Saved, measured: MeasuredSignals, signal: str, most: int, *, rate: bool = False) -> Pair:
    """Both curves at the instants that their values belong to: those of means are the middles of their times.

    Of what was measured it takes ``most`` values, evenly.
    """
    channel = measured.channels[signal]
    t = saved.signals["time_s"]
    if sampling(signal) == "mean":
        t = middles(t, 0.0)
    there = np.flatnonzero(np.isfinite(channel.values))
    some = there[:: -(-len(there) // most)]
    time, values = measured.time[some], channel.values[some]
    if channel.mean:
        time = 0.5 * (measured.begin[some] + time)
    return Pair(t, saved.signals[signal], time, values, rate)


def _known(measured: MeasuredSignals, channel: Channel) -> tuple[Array, Array, Array]:
    """When the rows of a channel that have a number began and ended, and the numbers."""
    there = np.isfinite(channel.values)
    begin = measured.begin if channel.mean else measured.time  # only means have begun before
    if there.all():
        return begin, measured.time, channel.values
    return begin[there], measured.time[there], channel.values[there]


def _axis(
    saved: Saved, measured: MeasuredSignals, track: tuple[str, str, str, str], delta: float, most: int
) -> AxisComparison:
    kind, name, position, velocity = track
    place = rate = None
    if position in measured.channels:
        curves = _curves(saved, measured, measured.channels[position], delta, velocity)
        place = _compared(curves, most)
        rate = None if velocity in measured.channels else _differentiated(velocity, curves, most)
    if velocity in measured.channels:
        rate = _compared(_curves(saved, measured, measured.channels[velocity], delta), most)
    signal = position if place is not None else velocity
    pair = _pair(saved, measured, signal, most, rate=place is None)
    own = refine_shift([pair], delta, OWN_REACH) if pair.moves else None
    return AxisComparison(kind, name, place, rate, own)


def _instant(seconds: float) -> str:
    """An instant to 1 us, also where seconds are counted since 1970."""
    return f"{round(seconds, 6):.16g}"


@dataclass(frozen=True)
class _Curves:
    """A channel where it is simulated: its instants on the measured clock (k,) [s], and both curves by rows."""

    channel: Channel
    time: Array
    piece: Piece


def _curves(
    saved: Saved, measured: MeasuredSignals, channel: Channel, delta: float, rate_signal: str = ""
) -> _Curves:
    """One signal at the measured instants, or over the measured times, that are simulated."""
    begin, time, values = _known(measured, channel)
    t, x = saved.signals["time_s"], saved.signals[channel.signal]
    for signal in (channel.signal, rate_signal):
        _check_finite(saved, signal)
    averaged = sampling(channel.signal) == "mean"
    known = middles(t, 0.0) if averaged and not channel.mean else t
    first = 0.0 if averaged and channel.mean else known[0]
    slack = 1e-9  # s, rounding of decimal times
    start = int(np.searchsorted(begin if channel.mean else time, first + delta - slack))
    end = int(np.searchsorted(time, known[-1] + delta + slack, side="right"))
    if end - start < 4:
        raise InputError(
            f"measured from {_instant(time[0] - delta)} s to {_instant(time[-1] - delta)} s on the simulation's clock, "
            f"simulated from {t[0]:.6g} s to {t[-1]:.6g} s: they do not overlap; mend --shift",
            file=measured.file,
            field=channel.column,
        )

    def piece(a: int, b: int) -> tuple[Array, Array, Array]:
        rows = slice(start + a, start + b)
        at = time[rows] - delta
        if channel.mean:
            simulated = (mean_of_means if averaged else mean_of_instants)(t, x, begin[rows] - delta, at)
        else:
            simulated = interpolate(known, x, at, saved.signals.get(rate_signal))
        return at, values[rows], simulated

    return _Curves(channel, time[start:end], piece)


def _check_finite(saved: Saved, signal: str) -> None:
    """InputError for a signal of a run that diverged."""
    t = saved.signals["time_s"]
    wild = np.flatnonzero(~(np.abs(saved.signals.get(signal, t)) <= LARGEST))
    if len(wild):
        text = (
            f"the simulated run diverged: there is no number at {t[wild[0]]:.6g} s; expected one that did not"
        )
        raise InputError(text, file=str(saved.folder), field=signal)


def _compared(curves: _Curves, most: int) -> SignalComparison:
    signal, unit = curves.channel.signal, split_signal(curves.channel.signal)[1]
    found, t, measured, simulated = differences(len(curves.time), curves.piece, most)
    return SignalComparison(signal, unit, t, measured, simulated, found, means=curves.channel.mean)


def _differentiated(signal: str, curves: _Curves, most: int) -> SignalComparison | None:
    """The velocity of a measured position, against that of the simulated one at the same instants."""
    t = curves.time
    some = np.arange(0, len(t) - 1, -(-len(t) // SAMPLED))
    window = max(WINDOW, 2.0 * float(np.median(t[some + 1] - t[some])))
    if float(t[-1] - t[0]) < 3.0 * window:
        return None
    if not ((t >= t[0] + 0.5 * window) & (t <= t[-1] - 0.5 * window)).any():
        return None
    found, at, measured, simulated = differences(len(t), derived(t, window, curves.piece), most)
    unit = split_signal(curves.channel.signal)[1]
    return SignalComparison(signal, f"{unit}/s", at, measured, simulated, found, derived=True)


def comparison_summary(comparison: Comparison, saved: Saved, measured: MeasuredSignals) -> dict[str, Any]:
    """The numbers of a comparison as plain data; differences are simulated minus measured, in SI."""
    return {
        "scenario": saved.summary.get("scenario"),
        "robot": saved.summary.get("robot"),
        "result": str(saved.folder),
        "measured": measured.file,
        "shift_s": comparison.shift_s,
        "shift_given": comparison.shift_given,
        "axes": [
            {
                axis.kind: axis.name,
                "own_shift_s": axis.own_shift_s,
                "position": _numbers(axis.position),
                "velocity": _numbers(axis.velocity),
            }
            for axis in comparison.axes
        ],
        "others": [_numbers(other) for other in comparison.others],
        "columns": {channel.column: signal for signal, channel in measured.channels.items()},
        "ignored_columns": list(measured.ignored),
    }


def _numbers(found: SignalComparison | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "signal": found.signal,
        "unit": found.unit,
        "differentiated": found.derived,
        "means": found.means,
        **asdict(found.metrics),
    }
