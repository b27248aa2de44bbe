"""Faults that are injected into a robot behind its drives, by a plan or live over the bus, and mended again.

Some change the plant, and the drive finds them by its sensors; others are what its hardware reports by itself.

.. code-block:: yaml

    format: servotwin-drive-faults/1
    faults:
      - {at: 0.5 s, axis: th1, kind: encoder-lost, until: 0.8 s}
      - {at: 1.5 s, kind: supply-voltage, value: 150 V, until: 1.7 s}
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from servotwin.description.fields import Celsius
from servotwin.description.nodes import Node, parse_yaml, quoted
from servotwin.description.regular_file import FAULT_PLAN, read_text
from servotwin.description.units import did_you_mean, expectation, parse_quantity
from servotwin.fieldbus.cia402.states import AXIS_ERRORS
from servotwin.jobs.points_file import mapping_of
from servotwin.simulation.plant.faults import cut_power, stick_encoder
from servotwin.simulation.plant.switched_drives import close_brake, open_winding, release_brake

if TYPE_CHECKING:
    from servotwin.fieldbus.robot.plant import RobotPlant

FORMAT = "servotwin-drive-faults/1"
KEYS, FAULT_KEYS = ("format", "faults"), ("at", "axis", "kind", "value", "until")
NANO = 1e9


@dataclass(frozen=True)
class Kind:
    """A kind of fault: its number in object 2010, the unit of its value, the code that hardware reports at once.

    ``scale``: SI of one unit of the value in object 2010:02. ``shared``: it concerns all axes. ``lasts``: it is
    there until it is mended, not an instant's event. ``low``, ``high``: of the value; what no machine survives ends
    the simulation, and with it the drives.
    """

    number: int
    name: str
    code: int = 0
    unit: str | None = None
    scale: float = 1.0
    shared: bool = False
    lasts: bool = True
    low: float = -1e9
    high: float = 1e9


_REPORTED = {
    "over-current": "over-current",
    "short-circuit": "short circuit",
    "earth-leakage": "earth leakage",
    "drive-overload": "overload of the drive",
    "mains-phase-lost": "mains phase",
    "surroundings-hot": "over-temperature of the surroundings",
    "drive-hot": "over-temperature of the drive",
    "control-supply-low": "control supply",
    "processor-failed": "processor",
    "output-stage-failed": "output stage",
    "fuse-blown": "fuse",
    "memory-failed": "memory",
    "software-reset": "software",
    "parameters-lost": "parameters",
    "braking-resistor-failed": "braking resistor",
    "current-measurement-failed": "current measurement",
    "encoder-lost": "encoder",
    "speed-sensor-failed": "speed sensor",
}
# What changes the plant; the drive finds it.
_PHYSICAL: tuple[tuple[str, str | None, float, bool], ...] = (
    ("supply-voltage", "V", 1e-3, True),
    ("power-off", None, 1.0, True),
    ("winding-open", None, 1.0, False),
    ("winding-hot", "degC", 0.1, False),
    ("brake-closes", None, 1.0, False),
    ("encoder-stuck", None, 1.0, False),
    ("encoder-loses-pulses", "", 1.0, False),
    ("current-sensor-offset", "A", 1e-3, False),
    ("frames-lost", "", 1.0, True),
)
_EVENTS = ("winding-hot", "encoder-loses-pulses", "frames-lost")
_RANGES = {"supply-voltage": (0.0, 1e4), "winding-hot": (-50.0, 1000.0), "frames-lost": (0.0, 1e6)}
KINDS: dict[str, Kind] = {
    **{name: Kind(1 + k, name, AXIS_ERRORS[word]) for k, (name, word) in enumerate(_REPORTED.items())},
    **{
        name: Kind(
            101 + k, name, 0, unit, scale, shared, name not in _EVENTS, *_RANGES.get(name, (-1e9, 1e9))
        )
        for k, (name, unit, scale, shared) in enumerate(_PHYSICAL)
    },
}
NUMBERS: dict[int, Kind] = {kind.number: kind for kind in KINDS.values()}
MEND_ALL = 0  # written to 2010:01


@dataclass(frozen=True)
class Injection:
    """A fault of motor ``axis`` (-1: of all) from an instant on [ns], until another one (-1: for good)."""

    at: int
    axis: int
    kind: Kind
    value: float = 0.0
    until: int = -1


class Injector:
    """Does to a plant what is due: entries of a plan, and what somebody asked for live."""

    def __init__(self, plan: Sequence[Injection] = ()) -> None:
        self._due: list[tuple[int, int, bool, Injection]] = []
        for order, injection in enumerate(plan):
            heapq.heappush(self._due, (injection.at, 2 * order, True, injection))
            if injection.until >= 0:
                heapq.heappush(self._due, (injection.until, 2 * order + 1, False, injection))
        self._live: list[Injection] = []
        self._active: list[Injection] = []

    def ask(self, injection: Injection) -> None:
        """Inject at the next period."""
        self._live.append(injection)

    def mend(self, axis: int) -> None:
        """Mend, at the next period, all that was injected into an axis, and what concerns all."""
        self._live.append(Injection(0, axis, Kind(MEND_ALL, "mended")))

    def apply(self, plant: RobotPlant, now: int) -> None:
        """Do what is due up to an instant [ns]."""
        while self._due and self._due[0][0] < now:
            _, _, begins, injection = heapq.heappop(self._due)
            self._change(plant, injection, begins)
        while self._live:
            injection = self._live.pop(0)
            if injection.kind.number == MEND_ALL:
                for each in [a for a in self._active if a.axis in (-1, injection.axis)]:
                    self._change(plant, each, False)
            else:
                self._change(plant, injection, True)

    def _change(self, plant: RobotPlant, injection: Injection, begins: bool) -> None:
        if begins:
            inject(plant, injection)
            where = "supply" if injection.axis < 0 else plant.motors[injection.axis]
            plant.happened.append((plant.now_ns * 1e-9, where, f"fault: {injection.kind.name}"))
            self._active.append(injection)
        elif injection in self._active:
            self._active.remove(injection)
            mend(plant, injection)
            for other in self._active:
                if other.axis == injection.axis and other.kind.lasts:
                    inject(plant, other)  # what is mended may be the same part


def inject(plant: RobotPlant, injection: Injection) -> None:
    """Break what a fault says."""
    kind, j, value, machine = injection.kind, injection.axis, injection.value, plant.machine
    if kind.code:
        plant.ports["reported"][j] = kind.code
    elif kind.name == "supply-voltage":
        set_supply(plant, value)
    elif kind.name == "power-off":
        cut_power(machine)
        plant.ports["lost"] = 1
    elif kind.name == "winding-open":
        machine.drives.broken.add(j)
        open_winding(machine, j)
    elif kind.name == "winding-hot":
        machine.motors["T_w"][j] = value
    elif kind.name == "brake-closes":
        machine.drives.jammed.add(j)
        close_brake(machine, j)
    elif kind.name == "encoder-stuck":
        stick_encoder(machine, j)
    elif kind.name == "encoder-loses-pulses":
        machine.sensors["lost"][j] += round(value)
    elif kind.name == "current-sensor-offset":
        machine.sensors["current_offset"][j] = value
    elif plant.segment is not None:
        plant.segment["lose"] = round(value)


def mend(plant: RobotPlant, injection: Injection) -> None:
    """Make whole what a fault broke; pulses that an encoder lost stay lost."""
    kind, j, machine = injection.kind, injection.axis, plant.machine
    if kind.code:
        plant.ports["reported"][j] = 0
    elif kind.name == "supply-voltage":
        set_supply(plant, plant.nominal_voltage)
    elif kind.name == "power-off":
        machine.drives.lost = False
        plant.ports["lost"] = 0
    elif kind.name == "winding-open":
        machine.drives.broken.discard(j)
    elif kind.name == "winding-hot":
        machine.motors["T_w"][j] = machine.motors["T_ambient"][j]
    elif kind.name == "brake-closes":
        machine.drives.jammed.discard(j)
        if machine.servo.command["brake_released"][0, j]:
            release_brake(machine, j)
    elif kind.name == "encoder-stuck":
        machine.sensors["stuck"][j] = 0
    elif kind.name == "current-sensor-offset":
        machine.sensors["current_offset"][j] = 0.0


def set_supply(plant: RobotPlant, voltage: float) -> None:
    """Another voltage of the source, and of the intermediate circuit."""
    machine = plant.machine
    machine.world["state"]["u_bus"][0] = machine.power["u_source"][0] = voltage
    at = int(machine.world["at_bus"][0])
    if at >= 0:
        machine.y[at] = voltage


def read_fault_plan(path: str | Path, motors: Sequence[str]) -> tuple[Injection, ...]:
    """The plan of faults in a file."""
    return parse_fault_plan(read_text(path, FAULT_PLAN), motors, str(path))


def parse_fault_plan(text: str, motors: Sequence[str], file: str = "faults") -> tuple[Injection, ...]:
    """The plan in YAML ``text``; ``file`` is the name shown in messages."""
    tree = parse_yaml(text, file)
    fields = mapping_of(tree, "", KEYS)
    stated = fields.get("format")
    if stated is None or stated.value != FORMAT:
        raise (stated or tree).error(f"expected {FORMAT}", "format")
    faults = fields.get("faults")
    if faults is None or not isinstance(faults.value, list):
        raise (faults or tree).error("expected a list of faults", "faults")
    return tuple(_injection(node, f"faults.{i}", motors) for i, node in enumerate(faults.value))


def _injection(node: Node, at: str, motors: Sequence[str]) -> Injection:
    fields = mapping_of(node, at, FAULT_KEYS)
    for name in ("at", "kind"):
        if name not in fields:
            raise node.error(f"'{name}' is missing", at)
    word = fields["kind"].value
    kind = KINDS.get(word) if isinstance(word, str) else None
    if kind is None:
        hint = did_you_mean(str(word), list(KINDS))
        raise fields["kind"].error(
            f"{quoted(fields['kind'].plain())} is no kind of fault; expected one of {', '.join(KINDS)}{hint}",
            f"{at}.kind",
        )
    begins = _quantity(fields["at"], f"{at}.at", "s", 0.0)
    until = _quantity(fields["until"], f"{at}.until", "s", begins) if "until" in fields else -1.0
    return Injection(
        round(begins * NANO),
        _axis(node, fields, at, kind, motors),
        kind,
        _value(node, fields, at, kind),
        round(until * NANO) if until >= 0.0 else -1,
    )


def _axis(node: Node, fields: dict[str, Node], at: str, kind: Kind, motors: Sequence[str]) -> int:
    if kind.shared:
        if "axis" in fields:
            raise fields["axis"].error(
                f"a fault of kind {kind.name} concerns all axes; remove it", f"{at}.axis"
            )
        return -1
    if "axis" not in fields:
        raise node.error(f"'axis' is missing; expected one of {', '.join(motors)}", at)
    name = fields["axis"].value
    if name not in motors:
        raise fields["axis"].error(
            f"no axis {quoted(fields['axis'].plain())}; expected one of {', '.join(motors)}", f"{at}.axis"
        )
    return list(motors).index(str(name))


def _value(node: Node, fields: dict[str, Node], at: str, kind: Kind) -> float:
    if kind.unit is None:
        if "value" in fields:
            raise fields["value"].error(f"a fault of kind {kind.name} has no value; remove it", f"{at}.value")
        return 0.0
    if "value" not in fields:
        raise node.error(f"'value' is missing; kind {kind.name} has one", at)
    return _quantity(fields["value"], f"{at}.value", kind.unit, kind.low, kind.high)


def _quantity(node: Node, at: str, unit: str, least: float, most: float = 1e9) -> float:
    if not isinstance(node.value, str):
        wanted = "a temperature, such as '150 degC'" if unit == "degC" else expectation(unit)
        raise node.error(f"expected {wanted}", at)
    try:
        number = Celsius().read(node.value) if unit == "degC" else parse_quantity(node.value, unit)
    except ValueError as error:
        raise node.error(str(error), at) from None
    if not least <= number <= most:
        raise node.error(
            f"{quoted(node.value)} is out of range; expected {least:g} to {most:g} {unit}".rstrip(), at
        )
    return number
