"""Objects of all axes in the process image at once, against ``struct`` one by one."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from controlled_bus import on_the_bus
from servotwin.errors import ServotwinError
from servotwin.fieldbus.controller.axes import TARGET, Field, place_axes
from servotwin.fieldbus.controller.axis_numbers import AxisNumbers

# where two axes have three objects; the second axis has not mapped the second one
FIELDS: list[dict[int, Field]] = [
    {1: Field(0, "<H"), 2: Field(3, "<i"), 3: Field(7, "<b")},
    {1: Field(20, "<H"), 3: Field(11, "<h")},
]
NUMBERS = {1: (0xFFFF, 0x8001), 2: (-(2**31), 0), 3: (-128, -2)}


def packed() -> Any:
    image = bytearray(24)
    for axis, fields in enumerate(FIELDS):
        for index, field in fields.items():
            struct.pack_into(field.format, image, field.at, NUMBERS[index][axis])
    return np.frombuffer(bytes(image), np.uint8)


def test_numbers_of_all_sizes_and_signs_are_read() -> None:
    found = AxisNumbers((3, 1, 2), FIELDS).read(packed())
    assert found.tolist() == [list(NUMBERS[3]), list(NUMBERS[1]), list(NUMBERS[2])]


def test_numbers_are_written_where_they_are_mapped_and_nowhere_else() -> None:
    numbers = AxisNumbers((1, 2, 3), FIELDS)
    numbers.table[:] = [NUMBERS[1], (NUMBERS[2][0], 77), NUMBERS[3]]
    image = np.zeros(24, np.uint8)
    numbers.write(image)
    assert image.tobytes() == packed().tobytes()


def test_reading_twice_leaves_nothing_of_the_first() -> None:
    numbers = AxisNumbers((1, 2, 3), FIELDS)
    numbers.read(packed())
    assert not numbers.read(np.zeros(24, np.uint8)).any()


def test_object_of_another_size_than_the_profile_gives_it_is_refused() -> None:
    robot, _ = on_the_bus()
    image = robot.plant.image

    def place(slave: Any, index: int, *, output: bool) -> tuple[int, int] | None:
        found = image.place(slave, index, output=output)
        return (found[0], 2) if found is not None and index == TARGET else found

    with pytest.raises(ServotwinError, match="object 607A has 2 bytes in its process data; expected 4"):
        place_axes(robot.master.slaves, SimpleNamespace(place=place), robot.motors)  # type: ignore[arg-type]
