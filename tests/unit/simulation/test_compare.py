"""Simulated against measured: reading, alignment in time, differences."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from servotwin.errors import InputError
from servotwin.report.compare_page import write_comparison
from servotwin.report.simulation_files import write_result
from servotwin.simulation.comparing.align import Pair, estimate_shift
from servotwin.simulation.comparing.compare import compare, comparison_summary
from servotwin.simulation.comparing.differences import derived
from servotwin.simulation.comparing.measured_signals import read_measured
from servotwin.simulation.results.result_files import Saved, read_result
from synthetic_result import synthetic_result

POSITION = "joint_A_position_rad"
VELOCITY = "joint_A_velocity_rad_per_s"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    folder = tmp_path_factory.mktemp("result")
    write_result(synthetic_result(1401, zoom=False), folder, report=False)
    return read_result(folder)


def write_csv(path: Path, columns: Mapping[str, np.ndarray], delimiter: str = ",") -> Path:
    rows = np.stack(list(columns.values()), axis=1)
    lines = [delimiter.join(f"{value:.12g}" for value in row) for row in rows]
    path.write_text("\n".join([delimiter.join(columns), *lines]) + "\n", encoding="utf-8")
    return path


def shifted(saved: Saved, shift: float, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Joint A as another clock and another sampling would see it."""
    t = np.arange(0.02, 1.3, step)
    return t + shift, np.interp(t, saved.signals["time_s"], saved.signals[POSITION])


@pytest.mark.parametrize("step", [0.3e-3, 1.7e-3, 10e-3])
@pytest.mark.parametrize("shift", [0.0, 0.01234567, -0.4321])
def test_shift_is_found_finer_than_the_samples(
    saved: Saved, tmp_path: Path, shift: float, step: float
) -> None:
    t, q = shifted(saved, shift, step)
    file = write_csv(tmp_path / "m.csv", {"time_ms": 1e3 * t, "joint_A_position_deg": np.degrees(q)})
    found = compare(saved, read_measured(file, saved.signals))
    # measured points lie on the linear interpolation of a 1 ms record: 20 us is a fiftieth of its step
    assert found.shift_s == pytest.approx(shift, abs=2e-5)
    assert found.axes[0].own_shift_s == pytest.approx(shift, abs=2e-5)
    assert found.axes[0].position is not None
    assert found.axes[0].position.metrics.rms < 1e-4
    assert found.axes[0].position.metrics.correlation == pytest.approx(1.0, abs=1e-6)


def test_encoder_with_another_zero_and_noise_is_aligned(saved: Saved, tmp_path: Path) -> None:
    t, q = shifted(saved, 0.05, 1e-3)
    noise = 1e-3 * np.random.default_rng(3).standard_normal(len(q))
    file = write_csv(tmp_path / "m.csv", {"t_s": t, "joint_A_position_rad": q + 0.3 + noise})
    found = compare(saved, read_measured(file, saved.signals))
    assert found.shift_s == pytest.approx(0.05, abs=2e-4)  # noise over slope and root of the samples
    place = found.axes[0].position
    assert place is not None
    assert place.metrics.mean == pytest.approx(-0.3, abs=1e-3)


@given(
    shift=some.floats(-0.5, 0.5),
    step=some.floats(0.5e-3, 8e-3),
    gain=some.floats(0.8, 1.2),
)
def test_shift_of_a_smooth_curve_is_exact(shift: float, step: float, gain: float) -> None:
    def curve(t: np.ndarray) -> np.ndarray:
        return np.tanh(8.0 * (t - 0.7))

    t_s, t_m = np.arange(0.0, 1.4, 1e-3), np.arange(0.0, 1.4, step)
    pair = Pair(t_s, curve(t_s), t_m + shift, gain * curve(t_m) + 3.0)
    assert estimate_shift([pair]) == pytest.approx(shift, abs=max(1e-5, 0.05 * step))


def test_velocity_that_was_not_measured_is_differentiated_on_both_sides(saved: Saved, tmp_path: Path) -> None:
    t, q = shifted(saved, 0.0, 1e-3)
    file = write_csv(tmp_path / "m.csv", {"time_s": t, POSITION: 1.01 * q})
    found = compare(saved, read_measured(file, saved.signals), shift=0.0).axes[0].velocity
    assert found is not None
    assert found.derived
    assert found.signal == VELOCITY
    # one percent of the velocity is the difference
    peak = np.abs(saved.signals[VELOCITY]).max()
    assert found.metrics.max == pytest.approx(0.01 * peak, rel=0.02)


def test_measured_velocity_is_used_as_it_is(saved: Saved, tmp_path: Path) -> None:
    t = saved.signals["time_s"][::3]
    rpm = saved.signals["motor_A_speed_rad_per_s"][::3] * 30 / np.pi
    columns = {"time_s": t, "joint_A_velocity_deg_per_s": np.degrees(saved.signals[VELOCITY][::3])}
    file = write_csv(tmp_path / "m.csv", {**columns, "motor_A_speed_rpm": rpm})
    found = compare(saved, read_measured(file, saved.signals))
    assert [axis.kind for axis in found.axes] == ["joint", "motor"]
    for axis in found.axes:
        assert axis.position is None
        assert axis.velocity is not None
        assert not axis.velocity.derived
        assert axis.velocity.metrics.nrmse == pytest.approx(0.0, abs=1e-4)


def test_derivative_of_a_parabola_is_exact() -> None:
    t = np.sort(np.random.default_rng(1).uniform(0, 1, 4000))
    inside, rate, _ = derived(t, 0.02, lambda a, b: (t[a:b], 3 * t[a:b] ** 2, t[a:b]))(0, len(t))
    assert rate == pytest.approx(6 * inside, abs=1e-2)  # linear between random samples


def test_mapping_names_columns_and_units(saved: Saved, tmp_path: Path) -> None:
    t, q = shifted(saved, 0.0, 2e-3)
    columns = {"stamp_us": 1e6 * t, "enc1_deg": np.degrees(q), "raw": q, "other": q}
    file = write_csv(tmp_path / "m.csv", columns, ";")
    text = file.read_text(encoding="utf-8").replace(".", ",")  # as a German spreadsheet writes it
    file.write_text("# a remark\n\n" + text, encoding="utf-8")
    mapping = {"time_s": "stamp_us", POSITION: "enc1_deg", "joint_B_position_rad": "raw"}
    record = read_measured(file, saved.signals, mapping)
    assert record.time == pytest.approx(t)
    assert record.channels[POSITION].values == pytest.approx(q)
    assert record.channels[POSITION].unit == "deg"
    assert record.channels["joint_B_position_rad"].values == pytest.approx(q)
    assert record.ignored == ("other",)


def test_units_in_brackets_and_empty_cells_are_read(saved: Saved, tmp_path: Path) -> None:
    file = tmp_path / "m.csv"
    rows = [f"{i},{10 * i},{'' if i == 2 else i}" for i in range(8)]
    file.write_text(
        "\n".join(["time [ms],joint Z position (mm),motor_A_current_mA", *rows]), encoding="utf-8"
    )
    record = read_measured(file, saved.signals)
    assert record.time[-1] == pytest.approx(7e-3)
    assert record.channels["joint_Z_position_m"].values[-1] == pytest.approx(0.07)
    assert np.isnan(record.channels["motor_A_current_A"].values[2])
    assert record.channels["motor_A_current_A"].values[3] == pytest.approx(3e-3)


HEAD = "time_s,joint_A_position_deg\n"
ROWS = "0,0\n0.1,1\n0.2,2\n0.3,3\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "m.csv: is empty"),
        (HEAD, "0 rows of numbers; expected 4 or more"),
        (HEAD + "0,0\n0.1,x1\n0.2,2\n0.3,3\n", "m.csv:3: joint_A_position_deg: 'x1' is not a number"),
        (HEAD + "0,0\n0.1,1\n0.2\n0.3,3\n", "m.csv:4: 1 cells; expected 2"),
        (HEAD + "0,0\n0.1,1\n0.05,2\n0.3,3\n", "m.csv:4: time_s: 0.05 s is before 0.1 s"),
        (HEAD + "0,0\n,1\n0.1,2\n0.3,3\n", "m.csv:3: time_s: the time is missing"),
        (HEAD + "0,inf\n0.1,1\n0.2,2\n0.3,3\n", "m.csv:2: joint_A_position_deg: 'inf' is not a number"),
        (HEAD + "0,\n0.1,\n0.2,\n0.3,3\n", "joint_A_position_deg: has fewer than 4 numbers"),
        ("joint_A_position_deg,x\n" + ROWS, "has no time column"),
        ("time,joint_A_position_deg\n" + ROWS, "time: says no unit of time"),
        ("time_s,joint_A_position\n" + ROWS, "no unit in the name of an angle"),
        ("time_s,joint_A_position_V\n" + ROWS, "the unit 'V' does not measure an angle"),
        ("time_s,arm\n" + ROWS, "names a signal of the result; expected such as joint_A_position_rad"),
        ("time_s,time_s\n" + ROWS, "stands there twice"),
        (
            "time_s,joint_A_position_deg,joint_A_position_rad\n0,0,0\n1,1,1\n2,2,2\n3,3,3\n",
            "are the same signal",
        ),
    ],
)
def test_bad_file_is_one_clear_line(saved: Saved, tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "m.csv"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_measured(file, saved.signals)
    assert message in str(caught.value)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_file_that_is_no_text_or_missing_is_refused(saved: Saved, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_bytes(b"time_s\xff\xfe")
    with pytest.raises(InputError, match=r"m\.csv:1: not UTF-8 text"):
        read_measured(tmp_path / "m.csv", saved.signals)
    with pytest.raises(InputError, match="no such file; expected a CSV file"):
        read_measured(tmp_path / "none.csv", saved.signals)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({POSITION: "enc2"}, "'enc2' is no column .*; did you mean 'enc1'"),
        ({"joint_A_positon_rad": "enc1"}, "is no signal of the result; did you mean 'joint_A_position_rad'"),
        ({"joint_A_position_V": "enc1"}, "'V' does not measure an angle"),
    ],
)
def test_bad_mapping_is_one_clear_line(
    saved: Saved, tmp_path: Path, mapping: dict[str, str], message: str
) -> None:
    file = tmp_path / "m.csv"
    file.write_text("time_s,enc1\n" + ROWS, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_measured(file, saved.signals, mapping)


def test_record_beyond_the_simulated_time_is_refused(saved: Saved, tmp_path: Path) -> None:
    t, q = shifted(saved, 0.0, 1e-2)
    file = write_csv(tmp_path / "m.csv", {"time_s": t, POSITION: q})
    with pytest.raises(InputError, match="do not overlap"):
        compare(saved, read_measured(file, saved.signals), shift=-5.0)


def test_record_at_rest_needs_a_given_shift(saved: Saved, tmp_path: Path) -> None:
    t = np.arange(0.0, 1.0, 0.01)
    file = write_csv(tmp_path / "m.csv", {"time_s": t, POSITION: 0 * t})
    record = read_measured(file, saved.signals)
    with pytest.raises(InputError, match="--shift: nothing that was measured moves"):
        compare(saved, record)
    place = compare(saved, record, shift=0.0).axes[0].position
    assert place is not None
    assert place.metrics.nrmse is None


def test_page_and_numbers_are_written(saved: Saved, tmp_path: Path) -> None:
    t, q = shifted(saved, 0.02, 2e-3)
    current = np.interp(t - 0.02, saved.signals["time_s"], saved.signals["motor_A_current_A"])
    columns = {"time_s": t, POSITION: q, "motor_A_current_A": current, "spare": q}
    record = read_measured(write_csv(tmp_path / "m.csv", columns), saved.signals)
    comparison = compare(saved, record)
    files = write_comparison(comparison, saved, record, tmp_path / "out")
    numbers = comparison_summary(comparison, saved, record)
    assert numbers["axes"][0]["joint"] == "A"
    assert numbers["others"][0]["signal"] == "motor_A_current_A"
    assert numbers["ignored_columns"] == ["spare"]
    page = files.page.read_text(encoding="utf-8")
    for word in ("Joint A", "difference [deg]", r"difference [deg\u002fs]", "NRMSE", "current [A]", "spare"):
        assert word in page, word
    names = sorted(path.name for path in (tmp_path / "out").iterdir() if not path.name.startswith("."))
    assert names == ["comparison.html", "comparison.json", "comparison.parquet"]


# --- means and instants -----------------------------------------------------------------------------

CURRENT = "motor_A_current_A"
WAVE = 2.0 * np.pi * 8.0  # rad/s


def wave(t: np.ndarray) -> np.ndarray:
    """A current [A]: a ramp and a wave."""
    return 3.0 * t + np.sin(WAVE * t)


def mean_wave(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Its exact means over (a, b]."""
    return 1.5 * (b + a) - (np.cos(WAVE * b) - np.cos(WAVE * a)) / WAVE / (b - a)


def waving(h: float) -> Saved:
    """A result with that current, rows of ``h`` [s] and a shorter last one, and a joint that moves."""
    t = np.append(h * np.arange(1, int(1.0 / h)), 1.0 - 0.3 * h)
    joint = {POSITION: np.tanh(8.0 * (t - 0.5)), VELOCITY: 8.0 / np.cosh(8.0 * (t - 0.5)) ** 2}
    means = mean_wave(np.append(0.0, t[:-1]), t)
    return Saved(Path("none"), {"time_s": t, **joint, "motor_A_angle_rad": t, CURRENT: means}, {}, {})


@pytest.mark.parametrize("h", [1e-3, 5e-3])
def test_instants_of_a_current_are_compared_with_the_middles_of_its_rows(tmp_path: Path, h: float) -> None:
    """A line between middles is off by at most w^2 h^2 (1/8 + 1/24); half a row late it would be w h / 2."""
    t = np.arange(0.0021, 0.99, 0.73e-3)
    file = write_csv(tmp_path / "m.csv", {"time_s": t, CURRENT: wave(t)})
    (found,) = compare(waving(h), read_measured(file, waving(h).signals), shift=0.0).others
    assert not found.means
    assert found.metrics.max < (WAVE * h) ** 2 / 6.0
    assert found.metrics.rms < 0.3 * WAVE * h / 2.0


def test_a_ramp_of_the_current_makes_no_difference(tmp_path: Path) -> None:
    t = 7e-3 * np.arange(1, 140)
    saved = Saved(Path("none"), {"time_s": t, CURRENT: 5.0 * (t - 3.5e-3)}, {}, {})
    at = np.arange(0.01, 0.95, 1.3e-3)
    file = write_csv(tmp_path / "m.csv", {"time_s": at, CURRENT: 5.0 * at})
    (found,) = compare(saved, read_measured(file, saved.signals), shift=0.0).others
    assert found.metrics.max < 1e-9


@pytest.mark.parametrize("step", [1e-3, 4e-3, 2.7e-3])
def test_means_that_were_measured_are_compared_over_the_same_times(tmp_path: Path, step: float) -> None:
    t = step * np.arange(1, int(0.99 / step))
    speeds = (np.tanh(8.0 * (t - 0.5)) - np.tanh(8.0 * (t - step - 0.5))) / step
    file = write_csv(tmp_path / "m.csv", {"time_s": t, CURRENT: mean_wave(t - step, t), VELOCITY: speeds})
    saved = waving(1e-3)
    record = read_measured(file, saved.signals, means=["motor_*_current_A", VELOCITY])
    comparison = compare(saved, record, shift=0.0)
    (found,), velocity = comparison.others, comparison.axes[0].velocity
    assert found.means
    assert velocity is not None
    whole = abs(step / 1e-3 - round(step / 1e-3)) < 1e-9  # rows begin and end together: exact
    assert found.metrics.max < (1e-9 if whole else (WAVE * 1e-3) ** 2)
    assert (
        velocity.metrics.max < 1e-4
    )  # the trapezoidal rule: h^2/12 of a second derivative of up to 1024 rad/s3
    numbers = comparison_summary(comparison, saved, record)
    assert [other["means"] for other in numbers["others"]] == [True]


@pytest.mark.parametrize("averaged", [False, True])
def test_shift_from_a_current_is_not_half_a_row_off(tmp_path: Path, averaged: bool) -> None:
    h, shift = 5e-3, 0.0123
    saved = waving(h)
    signals = {"time_s": saved.signals["time_s"], CURRENT: saved.signals[CURRENT]}
    t = np.arange(0.02, 0.95, 2e-3)
    values = mean_wave(t - 2e-3, t) if averaged else wave(t)
    file = write_csv(tmp_path / "m.csv", {"time_s": t + shift, CURRENT: values})
    record = read_measured(file, signals, means=[CURRENT] if averaged else [])
    found = compare(Saved(Path("none"), signals, {}, {}), record)
    assert found.shift_s == pytest.approx(shift, abs=0.02 * h)


def test_a_mean_of_what_was_not_measured_is_refused(saved: Saved, tmp_path: Path) -> None:
    t, q = shifted(saved, 0.0, 2e-3)
    file = write_csv(tmp_path / "m.csv", {"time_s": t, POSITION: q})
    with pytest.raises(InputError, match=r"--mean: 'motor_\*' names no signal that was measured"):
        read_measured(file, saved.signals, means=["motor_*"])


# --- rows at one instant ----------------------------------------------------------------------------


def test_of_rows_at_one_instant_the_last_is_kept(saved: Saved, tmp_path: Path) -> None:
    """As simulators log events: before and after; an empty cell leaves what stood there at that instant."""
    file = tmp_path / "m.csv"
    rows = ["0,0,1", "0.1,1,2", "0.1,10,3", "0.1,11,", "0.2,2,", "0.2,,5", "0.3,3,6", "0.4,4,"]
    file.write_text("\n".join([f"time_s,{POSITION},{CURRENT}", *rows]), encoding="utf-8")
    record = read_measured(file, saved.signals)
    assert record.time.tolist() == [0.0, 0.1, 0.2, 0.3, 0.4]
    assert record.channels[POSITION].values.tolist() == [0.0, 11.0, 2.0, 3.0, 4.0]
    assert record.channels[CURRENT].values.tolist()[:4] == [1.0, 3.0, 5.0, 6.0]
    assert np.isnan(record.channels[CURRENT].values[4])


def test_rows_whose_time_goes_back_are_refused(saved: Saved, tmp_path: Path) -> None:
    file = tmp_path / "m.csv"
    rows = ["0,0", "0.1,1", "0.1,1", "0.05,1", "0.2,2"]
    file.write_text("\n".join([f"time_s,{POSITION}", *rows]), encoding="utf-8")
    with pytest.raises(InputError, match=r"m\.csv:5: time_s: 0\.05 s is before 0\.1 s"):
        read_measured(file, saved.signals)
    file.write_text("\n".join([f"time_s,{POSITION}", *["0,1"] * 9]), encoding="utf-8")
    with pytest.raises(InputError, match="time_s: 1 instants; expected 4 or more"):
        read_measured(file, saved.signals)
