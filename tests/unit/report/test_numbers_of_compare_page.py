"""The numbers of a comparison, on its page and in the terminal, against the two records."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from seen import Seen, numbers, printed_rows, rounds_to
from servotwin.cli.compare import compare as command
from servotwin.report.simulation_files import write_result
from servotwin.simulation.results.result import Result
from synthetic_result import synthetic_result

DEG, MM, RPM = 180.0 / math.pi, 1e3, 30.0 / math.pi
# signal: column of the log, its number in one SI unit, what the page shows, its number in one SI unit
LOGGED = {
    "joint_A_position_rad": ("joint_A_position_deg", DEG, "deg", DEG),
    "joint_Z_position_m": ("joint_Z_position_mm", MM, "mm", MM),
    "joint_Z_velocity_m_per_s": ("joint_Z_velocity_mm_per_s", MM, "mm/s", MM),
    "joint_B_velocity_rad_per_s": ("joint_B_velocity_deg_per_s", DEG, "deg/s", DEG),
    "motor_A_speed_rad_per_s": ("motor_A_speed_rpm", RPM, "rpm", RPM),
    "tip_x_m": ("tip_x_mm", MM, "mm", MM),
}
EVERY = 5  # rows of the simulated record between two measured ones
SHIFT = 0.0125  # s


def off(signal: str, t: np.ndarray) -> np.ndarray:
    """Measured minus simulated in SI: an offset, and a peak that makes the largest difference at 0.7 s."""
    size = (0.01 if "_rad" in signal else 0.001) * (20.0 if "per_s" in signal else 1.0)
    return size * (0.3 + 0.9 * np.clip(1.0 - np.abs(t - 0.7) / 0.02, 0.0, None))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    place = tmp_path_factory.mktemp("compared")
    result = synthetic_result(1401, zoom=False)
    write_result(result, place / "run", report=False)
    t = result.signals["time_s"][::EVERY]
    columns = {"time_s": t + SHIFT}
    for signal, (column, factor, _, _) in LOGGED.items():
        columns[column] = factor * (result.signals[signal][::EVERY] + off(signal, t))
    rows = np.stack(list(columns.values()), axis=1)
    lines = [",".join(columns), *(",".join(f"{value:.15g}" for value in row) for row in rows)]
    (place / "log.csv").write_text("\n".join(lines), encoding="utf-8")
    return result, place


@pytest.fixture(scope="module")
def printed(made: tuple[Result, Path]) -> str:
    import contextlib
    import io

    _, place = made
    with contextlib.redirect_stdout(io.StringIO()) as out:
        command(str(place / "run"), str(place / "log.csv"), str(place / "out"), "12.5 ms", None, json=False)
    return out.getvalue()


@pytest.fixture(scope="module")
def page(made: tuple[Result, Path], printed: str) -> Seen:
    assert printed
    return Seen((made[1] / "out" / "comparison.html").read_text(encoding="utf-8"))


def expected(result: Result, signal: str) -> dict[str, float]:
    """What simulated minus measured comes to, in SI."""
    t, simulated = result.signals["time_s"][::EVERY], result.signals[signal][::EVERY]
    difference, measured = -off(signal, t), simulated + off(signal, t)
    rms = math.sqrt(float(np.mean(difference**2)))
    k = int(np.argmax(np.abs(difference)))
    return {
        "rms": rms,
        "largest": float(np.abs(difference).max()),
        "at": float(t[k]),
        "mean": float(difference.mean()),
        "nrmse": 100.0 * rms / float(measured.max() - measured.min()),
        "correlation": float(np.corrcoef(measured, simulated)[0, 1]),
        "samples": len(t),
    }


def name_of(signal: str) -> str:
    """A signal in words, as its row begins."""
    for unit in ("_rad_per_s", "_m_per_s", "_rad", "_m"):
        if signal.endswith(unit):
            return signal.removesuffix(unit).replace("_", " ")
    raise AssertionError(signal)


@pytest.mark.parametrize("signal", LOGGED)
def test_row_of_the_page_is_the_difference_in_its_unit(
    made: tuple[Result, Path], page: Seen, signal: str
) -> None:
    table = page.table("RMS", "NRMSE", "own minus common shift [ms]")
    (row,) = [i for i, cells in enumerate(table.rows) if cells[0].text == name_of(signal)]
    _, _, unit, factor = LOGGED[signal]
    wanted = expected(made[0], signal)
    assert table.cell(row, "unit").text == unit
    for word, key, scale in (
        ("largest", "largest", factor),
        ("mean", "mean", factor),
        ("at [s]", "at", 1.0),
        ("nrmse", "nrmse", 1.0),
        ("correlation", "correlation", 1.0),
        ("samples", "samples", 1.0),
    ):
        assert rounds_to(table.cell(row, word).text, scale * wanted[key]), (word, table.rows[row])
    rms = table.rows[row][table.columns.index("RMS")]
    assert rounds_to(rms.text, factor * wanted["rms"])


@pytest.mark.parametrize("signal", LOGGED)
def test_curves_of_the_page_are_both_records_and_their_difference(
    made: tuple[Result, Path], page: Seen, signal: str
) -> None:
    result, _ = made
    _, _, unit, factor = LOGGED[signal]
    t, simulated = result.signals["time_s"][::EVERY], factor * result.signals[signal][::EVERY]
    away = factor * off(signal, t)
    figure = page.figure("s", unit, t, simulated + away)
    assert figure.traces("s", unit, t, simulated, dash="dash", tolerance=1e-5)
    assert figure.traces("s", unit, t, -away, tolerance=1e-4)


def test_cards_show_the_shift_and_the_worst_position(made: tuple[Result, Path], page: Seen) -> None:
    page.card("ms", 12.5)
    worst = max(("joint_A_position_rad", "joint_Z_position_m"), key=lambda s: expected(made[0], s)["nrmse"])
    cards = [card for card in page.cards if card.unit.startswith("%")]
    assert any(rounds_to(card.value, expected(made[0], worst)["nrmse"]) for card in cards)
    card = next(card for card in cards if name_of(worst) in card.remark)
    _, _, unit, factor = LOGGED[worst]
    assert card.remark.endswith(unit)
    assert rounds_to(card.remark.rpartition("RMS")[2], factor * expected(made[0], worst)["rms"])


@pytest.mark.parametrize("signal", LOGGED)
def test_printed_row_is_the_difference_in_si(made: tuple[Result, Path], printed: str, signal: str) -> None:
    (row,) = printed_rows(printed, signal)
    wanted = expected(made[0], signal)
    assert rounds_to(row[2], wanted["rms"])
    assert rounds_to(row[3], wanted["largest"])
    assert rounds_to(row[4], wanted["nrmse"])
    assert rounds_to(row[5], wanted["correlation"])


def test_printed_shift_is_in_milliseconds_and_the_own_one_too(
    made: tuple[Result, Path], printed: str, page: Seen, capsys: pytest.CaptureFixture[str]
) -> None:
    (line,) = [text for text in printed.splitlines() if "shift" in text and " ms " in text and ":" in text]
    assert numbers(line) == [12.5]
    result, place = made
    t, q = result.signals["time_s"], DEG * result.signals["joint_A_position_rad"]
    rows = [f"{a + 0.02:.9f},{b:.12f}" for a, b in zip(t, q, strict=True)]
    (place / "late.csv").write_text("\n".join(["time_s,joint_A_position_deg", *rows]), encoding="utf-8")
    command(str(place / "run"), str(place / "late.csv"), str(place / "late"), "12.5 ms", None, json=False)
    text = capsys.readouterr().out
    (row,) = printed_rows(text, "joint_A_position_rad")
    assert float(row[-1]) == pytest.approx(7.5, abs=0.05)  # this axis lags that much behind what was given
    late = Seen((place / "late" / "comparison.html").read_text(encoding="utf-8"))
    heading = "own minus common shift [ms]"
    assert float(late.table(heading).cell(0, "own minus").text) == pytest.approx(7.5, abs=0.05)


def test_stored_columns_are_both_records(made: tuple[Result, Path], page: Seen) -> None:
    result, place = made
    table = pyarrow.parquet.read_table(place / "out" / "comparison.parquet")
    t = result.signals["time_s"][::EVERY]
    np.testing.assert_allclose(table["time_s"].to_numpy(), t, atol=1e-12)
    for signal in LOGGED:
        simulated = table[f"simulated_{signal}"].to_numpy()
        np.testing.assert_allclose(simulated, result.signals[signal][::EVERY], rtol=1e-9, atol=1e-9)
        away = table[f"measured_{signal}"].to_numpy() - simulated
        np.testing.assert_allclose(away, off(signal, t), rtol=1e-6, atol=1e-9)
