"""The same objects of all axes in the process image, read and written at once as a table of whole numbers."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from servotwin.fieldbus.controller.axes import Field

WIDTH = 8  # bytes of a number in the table


class AxisNumbers:
    """``table`` (k, m): a row for each object of ``indices``, a column for each axis.

    ``fields``: where each axis has its objects. What an axis has not mapped is 0, and is not written.
    """

    def __init__(self, indices: Sequence[int], fields: Sequence[Mapping[int, Field]]) -> None:
        self.table: Any = np.zeros((len(indices), len(fields)), "<i8")
        self._sign: Any = np.zeros_like(self.table)
        image: list[int] = []
        places: list[int] = []
        for row, index in enumerate(indices):
            for axis, mapped in enumerate(fields):
                field = mapped.get(index)
                if field is None:
                    continue
                size = struct.calcsize(field.format)
                first = WIDTH * (row * len(fields) + axis)
                image += range(field.at, field.at + size)
                places += range(first, first + size)
                if field.signed:
                    self._sign[row, axis] = 1 << (8 * size - 1)
        self._image, self._places = np.array(image, np.int64), np.array(places, np.int64)
        self._bytes = self.table.view(np.uint8).reshape(-1)

    def read(self, image: Any) -> Any:
        """The numbers (k, m) in an image of bytes."""
        self._bytes[self._places] = image[self._image]
        return (self.table ^ self._sign) - self._sign  # negative numbers of fewer bytes get their sign

    def write(self, image: Any) -> None:
        """Put the numbers of the table into an image; each must fit into its object."""
        image[self._image] = self._bytes[self._places]
