"""What a controller on a bus writes down, one row for every cycle."""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.mechanism.model import Array

ROOM = 4096


class CycleLog:
    """Rows of whole numbers and of joint positions; ``most`` rows, then the oldest half is given up and counted."""

    def __init__(self, motors: int, joints: int, most: int = 4_000_000) -> None:
        self.most, self.rows, self.dropped = most, 0, 0
        fields: list[Any] = [
            ("time_ns", np.int64), ("outcome", np.int64), ("counter", np.int64), ("late_ns", np.int64),
            ("round_trip_ns", np.int64), ("phase_ns", np.int64), ("state", np.int64),
            ("target", np.int64, (motors,)), ("position", np.int64, (motors,)), ("speed", np.int64, (motors,)),
            ("torque", np.int64, (motors,)), ("statusword", np.int64, (motors,)), ("error", np.int64, (motors,)),
            ("q_ref", np.float64, (joints,)), ("q", np.float64, (joints,)),
        ]  # fmt: skip
        self.table = np.zeros(ROOM, np.dtype(fields))

    def next_row(self) -> Any:
        """The next row, to be filled in."""
        if self.rows == len(self.table):
            if self.rows >= self.most:
                half = self.rows // 2
                self.table[: self.rows - half] = self.table[half:].copy()
                self.rows -= half
                self.dropped += half
            else:
                self.table = np.concatenate([self.table, np.zeros_like(self.table)])
        row = self.table[self.rows]
        self.rows += 1
        return row

    @property
    def noted(self) -> int:
        """How many rows there were, with those that were given up."""
        return self.rows + self.dropped

    @property
    def filled(self) -> Any:
        """The rows that there are."""
        return self.table[: self.rows]

    def columns(
        self, motors: tuple[str, ...], joints: tuple[str, ...], units: tuple[str, ...]
    ) -> dict[str, Array]:
        """Columns for a Parquet file, named with their units."""
        rows = self.filled
        found: dict[str, Array] = {"time_s": rows["time_ns"] * 1e-9}
        for k, (name, unit) in enumerate(zip(joints, units, strict=True)):
            found[f"q_ref_{name}_{unit}"] = rows["q_ref"][:, k]
            found[f"q_{name}_{unit}"] = rows["q"][:, k]
        for k, name in enumerate(motors):
            for field, unit in (
                ("target", "units"),
                ("position", "units"),
                ("speed", "units_per_s"),
                ("torque", "permille"),
                ("statusword", ""),
                ("error", ""),
            ):
                found["_".join(part for part in (field, name, unit) if part)] = rows[field][:, k].astype(
                    np.float64
                )
        found["working_counter"] = rows["counter"].astype(np.float64)
        found["outcome"] = rows["outcome"].astype(np.float64)
        found["late_us"] = rows["late_ns"] * 1e-3
        found["round_trip_us"] = rows["round_trip_ns"] * 1e-3
        found["phase_us"] = rows["phase_ns"] * 1e-3
        return found
