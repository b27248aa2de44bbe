"""Drives behind the slaves of a segment, and the plant behind the drives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from servotwin.errors import ServotwinError
from servotwin.fieldbus.cia402.drive import drives_cycle
from servotwin.fieldbus.cia402.homing import SUPPORTED
from servotwin.fieldbus.cia402.ideal_axis import IDEAL_AXES, ideal_axes
from servotwin.fieldbus.cia402.records import DRIVE, DRIVES, MOST_DRIVES
from servotwin.fieldbus.cia402.states import SUPPORTED_MODES, Mode, error_register
from servotwin.fieldbus.coe.abort import AbortCode, SdoAbortError
from servotwin.fieldbus.ethercat.slave.segment import Application, Segment
from servotwin.fieldbus.objects.dictionary import FIRST_AXIS, Dictionary, new_axes
from servotwin.fieldbus.objects.tables import AXIS_STEP

# values of an object that its range holds, and that a drive here does not have
REFUSED: dict[int, Callable[[int], bool]] = {
    0x605A: lambda option: option == 4,  # a stop on the voltage limit
    0x6060: lambda mode: mode not in set(Mode),
    0x6098: lambda method: method not in SUPPORTED,
}
UNITS = (0x6091, 0x6092)  # they say where a position is: under power the axis would jump
POWERED = 0x0004  # bit of the statusword in the states with torque
# ns that a cycle carries the plant at most, or two periods where those are longer: after a pause time is lost
LONGEST = 20_000_000


@dataclass(frozen=True)
class Plant:
    """What turns the shafts: address of ``int64 plant(context, index, span_ns)``, and its context."""

    step_at: int
    context: Any


class Drives:
    """Drives on slaves: ``axes_of_slaves[k]`` axes on slave k. ``plant``: set it before frames come."""

    def __init__(self, axes_of_slaves: Sequence[int]) -> None:
        count = sum(axes_of_slaves)
        if not 1 <= count <= MOST_DRIVES:
            raise ServotwinError(f"{count} drives; 1 to {MOST_DRIVES} are possible")
        self.objects = [new_axes(number) for number in axes_of_slaves]
        self.drives = np.zeros(count, DRIVE)
        self.context = np.zeros(1, DRIVES)
        self.places = [(k, n) for k, number in enumerate(axes_of_slaves) for n in range(number)]
        for drive, (slave, axis) in enumerate(self.places):
            axes = self.objects[slave]
            axes["supported_modes"] = SUPPORTED_MODES
            self.drives["objects_at"][drive] = axes[axis:].ctypes.data
            self.drives["slave"][drive] = slave
        self.context["drives_at"], self.context["count"] = self.drives.ctypes.data, count
        self.context["longest"] = LONGEST
        self._announced = np.zeros(count, np.int64)
        self._errors = np.zeros(count, np.int64)
        self.plant: Plant | None = None

    def attach(self, plant: Plant) -> None:
        """Put a plant behind the drives."""
        self.plant = plant  # its memory must live as long as the drives do
        self.context["plant_at"], self.context["plant_context_at"] = plant.step_at, plant.context.ctypes.data

    def application(self) -> Application:
        """For a segment of slaves."""
        return Application(
            self.objects,
            self.context["operational"][0],
            drives_cycle.address,
            self.context,
            self.announce,
            check_options,
        )

    def announce(self, segment: Segment) -> None:
        """Send emergency messages of faults that have come or gone; the period of the bus may be another one now."""
        self.context["longest"] = max(LONGEST, 2 * int(segment.record["step"][0]))
        for drive in self.changed():
            slave, axis = self.places[drive]
            code = int(self.objects[slave]["error_code"][axis])
            device = segment.devices[slave]
            device.emergency(code, error_register(code), bytes([axis]))
            self._announced[drive], self._errors[drive] = self.drives["faults"][drive], code
            device.attend(segment.now)

    def changed(self) -> Any:
        """Drives whose faults have come or gone since they were announced."""
        codes = np.concatenate([axes["error_code"] for axes in self.objects]).astype(np.int64)
        return np.flatnonzero((self.drives["faults"] != self._announced) | (codes != self._errors))


def check_options(objects: Dictionary) -> None:
    """Have a dictionary refuse what the drives do not have."""

    def check(index: int, subindex: int, value: int) -> None:
        if REFUSED[(index - FIRST_AXIS) % AXIS_STEP + FIRST_AXIS](value):
            raise SdoAbortError(AbortCode.VALUE, index, subindex)

    def check_units(index: int, subindex: int, value: int) -> None:
        if int(objects.axes["statusword"][(index - FIRST_AXIS) // AXIS_STEP]) & POWERED:
            raise SdoAbortError(AbortCode.STATE, index, subindex)

    for axis in range(len(objects.axes)):
        for index in REFUSED:
            objects.checks[index + axis * AXIS_STEP] = check
        for index in UNITS:
            objects.checks[index + axis * AXIS_STEP] = check_units


def ideal_plant(
    drives: Drives, inertia: float = 1e-4, damping: float = 1e-4, bus_voltage: float = 320.0
) -> Plant:
    """Axes that do at once what they are told."""
    context = np.zeros(1, IDEAL_AXES)
    context["drives_at"], context["count"] = drives.drives.ctypes.data, len(drives.drives)
    context["inertia"], context["damping"], context["bus_voltage"] = inertia, damping, bus_voltage
    return Plant(ideal_axes.address, context)
