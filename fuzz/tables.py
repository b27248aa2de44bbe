"""Mutations of tables: CSV text, Parquet files, the JSON of a summary."""

from __future__ import annotations

import io
import json
from random import Random
from typing import Any

import numpy as np

from fuzz.values import NUMBERS, TEXTS, changed_bytes, changed_text, encoded, nasty
from servotwin.simulation.results.parquet import table_bytes

SIGNALS = (
    "joint_A_position_rad", "joint_A_velocity_rad_per_s", "joint_Z_position_m", "motor_A_current_A",
    "motor_A_angle_rad", "motor_A_temperature_degC", "supply_voltage_V",
)  # fmt: skip
COLUMNS = (
    *SIGNALS, "time_ms", "t [s]", "joint A position [deg]", "joint_A_position_deg", "joint_A_velocity_furlong", "x", "",
    "motor_A_current_mA", "time", "t_", "joint_Z_position_mm", "joint_A_position_", "joint_A_position_deg_per_s",
)  # fmt: skip


def mutated_csv(rng: Random) -> bytes:
    """A log with mutated names, cells, delimiters, rows."""
    names = ["time_s", *rng.sample(COLUMNS, rng.randint(1, 5))]
    count = rng.choice((0, 3, 5, 20, 20, 200))
    rows = [[f"{0.01 * i:.4f}", *(f"{rng.gauss(0, 1):.5f}" for _ in names[1:])] for i in range(count)]
    for _ in range(rng.choice((0, 0, 1, 2, 5))):
        if rng.random() < 0.3:
            names[rng.randrange(len(names))] = rng.choice((*COLUMNS, *TEXTS))
        elif rows:
            row = rng.choice(rows)
            if row and rng.random() < 0.8:
                row[rng.randrange(len(row))] = rng.choice(("", "NaN", "1,5", nasty(rng), rng.choice(NUMBERS)))
            else:
                row.extend(["1"] * rng.choice((1, 2000)))
    delimiter = rng.choice((",", ",", ",", ";", "\t", "|"))
    end = rng.choice(("\n", "\n", "\r\n", "\r"))
    text = end.join(delimiter.join(row) for row in [names, *rows]) + end
    return encoded(rng, changed_text(rng, text) if rng.random() < 0.3 else text)


POSE_COLUMNS = (
    "x_mm", "y_mm", "z_mm", "x_m", "roll_deg", "pitch_rad", "yaw_deg", "name", "x", "x_in", "_mm", "", "roll_mm", "x_mm"
)  # fmt: skip


def mutated_poses(rng: Random) -> bytes:
    """A table of poses with mutated names, cells and rows."""
    names = [
        "x_mm",
        "y_mm",
        "z_mm",
        *rng.sample(("roll_deg", "pitch_deg", "yaw_deg", "name"), rng.randint(0, 4)),
    ]
    rows = [[f"{rng.gauss(0, 300):.3f}" for _ in names] for _ in range(rng.choice((0, 1, 2, 5, 30, 1100)))]
    for _ in range(rng.choice((0, 0, 1, 2, 5))):
        if rng.random() < 0.4:
            names[rng.randrange(len(names))] = rng.choice((*POSE_COLUMNS, *TEXTS))
        elif rows:
            row = rng.choice(rows)
            if row and rng.random() < 0.8:
                row[rng.randrange(len(row))] = rng.choice(("", "NaN", "1,5", nasty(rng), rng.choice(NUMBERS)))
            else:
                row.extend(["1"] * rng.choice((1, 2000)))
    text = rng.choice(("\n", "\r\n")).join(",".join(row) for row in [names, *rows]) + "\n"
    return encoded(rng, changed_text(rng, text) if rng.random() < 0.3 else text)


FIELDS = (
    "rated_torque [N*m]", "rated_current [Arms]", "torque_constant [N*m/Arms]", "mass [kg]", "kind", "pole_pairs",
    "continuous.points [rpm, N*m]", "thermal.time_constant [min]", "conventions.current", "conventions", "thermal", "[",
    "", "rated_speed [rpm]", "resistance [ohm]", "conventions.winding_between",
    "conventions.winding_temperature [degC]",
)  # fmt: skip


def mutated_list(rng: Random) -> bytes:
    """A list of motors with mutated heads and cells."""
    heads = ["name", *rng.sample(FIELDS, rng.randint(1, 6))]
    odd = (
        "",
        "0 1 | 10 0.5",
        "[[0 rpm, 1 N*m], [10 rpm, 0.5 N*m]]",
        "[",
        "pmsm",
        "rms",
        "lines",
        "1,5",
        "= 1",
    )
    rows = [
        [f"m{i}", *(f"{abs(rng.gauss(1, 1)):.3f}" for _ in heads[1:])]
        for i in range(rng.choice((0, 1, 5, 30)))
    ]
    for _ in range(rng.choice((0, 1, 3, 8))):
        row = rng.choice([heads, *rows])
        row[rng.randrange(len(row))] = rng.choice((*odd, nasty(rng), rng.choice(NUMBERS)))
    delimiter = rng.choice((",", ";", "\t"))
    return encoded(rng, "\n".join(delimiter.join(row) for row in [heads, *rows]))


def plain_csv(rng: Random) -> bytes:
    """A log that is as it should be."""
    names = rng.sample(SIGNALS[:4], rng.randint(1, 3))
    rows = [[f"{0.01 * i:.4f}", *(f"{rng.gauss(0, 1):.5f}" for _ in names)] for i in range(20)]
    return "\n".join(",".join(row) for row in [["time_s", *names], *rows]).encode()


def result_columns(rng: Random) -> dict[str, list[Any]]:
    """Columns as a result has them, some odd."""
    count = rng.choice((0, 1, 2, 5, 100))
    columns: dict[str, list[Any]] = {"time_s": [0.01 * i for i in range(count)]}
    for name in rng.sample(SIGNALS, rng.randint(0, 5)):
        columns[name] = [rng.gauss(0, 1) for _ in range(count)]
    if rng.random() < 0.4:
        name = rng.choice((*columns, *COLUMNS, *[t for t in TEXTS if t != "\ud800"]))
        odd: Any = rng.choice(
            (None, "text", True, 1, 2**62, float("nan"), float("inf"), [1.0], {"a": 1}, b"x", 1e308, -1.0)
        )
        columns[name] = [odd] * count
    return columns


def parquet_bytes(rng: Random) -> bytes:
    """A Parquet file of our own writer or of another one, some with changed bytes."""
    if rng.random() < 0.6:
        count = rng.choice((2, 5, 100))
        names = rng.sample(SIGNALS, rng.randint(1, 5))
        columns = {"time_s": np.arange(count) * 0.01}
        columns |= {name: np.array([rng.gauss(0, 1) for _ in range(count)]) for name in names}
        data = table_bytes(columns)
        return changed_bytes(rng, data) if rng.random() < 0.5 else data
    import pyarrow
    import pyarrow.parquet

    buffer = io.BytesIO()
    compression = rng.choice(("snappy", "none", "gzip", "zstd"))
    try:
        pyarrow.parquet.write_table(pyarrow.table(result_columns(rng)), buffer, compression=compression)
    except (pyarrow.ArrowException, TypeError, ValueError):
        return b"PAR1"
    return changed_bytes(rng, buffer.getvalue()) if rng.random() < 0.6 else buffer.getvalue()


SUMMARY: dict[str, Any] = {
    "complete": True,
    "name": "run",
    "title": "a run",
    "axes": [{"name": "A", "peak_current_A": 1.0, "rms": None}],
    "events": [{"time_s": 0.4, "axis": "A", "what": "voltage limit"}],
    "energy": {"supply_J": 1.0, "unaccounted": 1e-9},
    "scenario": "run",
    "moves": [{"to": {"A": 1.0}}],
}


def summary_bytes(rng: Random) -> bytes:
    """The JSON of a summary with changed values, nesting or text."""
    value: Any = json.loads(json.dumps(SUMMARY))
    for _ in range(rng.choice((0, 1, 2))):
        key = rng.choice(list(SUMMARY))
        odd = (None, [], {}, "x", 1e308, -1, True, [[]] * 3, nasty(rng).replace("\ud800", ""))
        value[key] = rng.choice(odd)
    text = json.dumps(value)
    way = rng.random()
    if way < 0.1:
        depth = rng.choice((100, 990, 5000, 200_000))
        text = text.replace("1.0", "[" * depth + "]" * depth, 1)
    elif way < 0.15:
        text = text.replace(
            "1.0", rng.choice(("NaN", "1e999", "9" * 5000, "-Infinity", "0x1", "1." + "0" * 9999))
        )
    return encoded(rng, changed_text(rng, text) if way > 0.8 else text)
