"""A data sheet as text that reads back to the same numbers: SI units, and what of a sine they are of."""

from __future__ import annotations

import json
import re
from typing import Any

from servotwin.description.fields import Celsius, Measure, Part, Points
from servotwin.description.sheets.gear_sheet import TemperatureFactors
from servotwin.description.sheets.printed import Printed

SIZES = {"rms": "rms", "amplitude": "pk"}


def sheet_text(sheet: Part) -> str:
    """The sheet on one line, in braces, for a field of a robot file.

    >>> from servotwin.description.sheets.gear_sheet import GearSheet
    >>> sheet_text(GearSheet(kind="rv", ratio="81", rated_torque="167 N*m"))
    '{"kind": "rv", "ratio": "81.0", "rated_torque": "167.0 N*m"}'
    """
    return json.dumps(_plain(sheet), ensure_ascii=False)


def _plain(sheet: Part) -> dict[str, Any]:
    """Fields that are stated, as texts."""
    out: dict[str, Any] = {}
    for name, field in type(sheet).model_fields.items():
        value = getattr(sheet, name)
        if value is None or (
            not field.is_required() and value == field.get_default(call_default_factory=True)
        ):
            continue
        reader = next(iter(field.metadata), None)
        out[name] = _plain(value) if isinstance(value, Part) else _text(value, reader)
    return out


def _text(value: Any, reader: object) -> Any:
    if isinstance(value, Printed):
        assert isinstance(reader, Measure)
        size = "" if value.size is None else SIZES[value.size]
        return _quantity(value.value, re.sub(r"(?<![A-Za-z])([AV])(?![A-Za-z])", rf"\1{size}", reader.unit))
    if isinstance(reader, Measure):
        return _quantity(value, reader.unit)
    if isinstance(reader, Celsius):
        return _quantity(value, "degC")
    if isinstance(reader, Points):
        return [[_quantity(a, reader.first.unit), _quantity(b, reader.second.unit)] for a, b in value]
    if isinstance(reader, TemperatureFactors):
        return [[_quantity(a, "degC"), _quantity(b, "")] for a, b in value]
    return str(value)


def _quantity(value: float, unit: str) -> str:
    return f"{float(value)!r} {unit}".rstrip()
