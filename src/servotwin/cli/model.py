"""``servotwin model``."""

from __future__ import annotations

import json as json_module
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.cli.arguments import (
    outside_limits,
    read_overrides,
    read_positions,
    read_quantity,
    read_velocities,
)
from servotwin.cli.output import print_heading, print_json, print_line, print_note, print_table, working
from servotwin.cli.signals import finishing
from servotwin.description.nodes import one_line, quoted
from servotwin.description.units import did_you_mean
from servotwin.errors import InputError

if TYPE_CHECKING:
    from servotwin.design.model_study import ModelStudy
    from servotwin.mechanism.model import Array
    from servotwin.robot.state_space import StateSpace

CHOICES = {
    "--motors": ("described", "ideal"),
    "--gears": ("lossless", "driving", "braking"),
    "--outputs": ("encoders", "joints", "tool", "states"),
}


def model(
    name: str,
    q: str | None,
    qd: str | None,
    state: str | None,
    inputs: str | None,
    sample: str | None,
    out: str | None,
    overrides: Sequence[str] | None,
    *,
    outputs: str,
    motors: str,
    gears: str,
    friction: bool,
    overwrite: bool = False,
    json: bool,
) -> None:
    """Build the complete model, analyse it about a point, print or write it."""
    for option, value in (("--motors", motors), ("--gears", gears), ("--outputs", outputs)):
        if value not in CHOICES[option]:
            raise InputError(
                f"'{one_line(value)}'; expected one of {', '.join(CHOICES[option])}", field=option
            )
    period = None if sample is None else _period(sample)
    changes = read_overrides(overrides)
    with working(f"deriving the model of {one_line(name)}"):
        study = _study(
            name, changes, q, qd, state, inputs, outputs=outputs, motors=motors, gears=gears, friction=friction,
            period=period, out=out, overwrite=overwrite,
        )  # fmt: skip
    places = {} if out is None else _write(study, out, overwrite=overwrite)
    if json:
        print_json({**places, **study.data()})
    else:
        _print(study)
        for what, where in places.items():
            print_line(f"{what + ':':<9}{where}")
    beyond = outside_limits(study.model.robot, study.point.x[: study.model.robot.n])
    if beyond:
        print_note(f"note: outside the limits: {', '.join(beyond)}")
    for note in study.notes:
        print_note(f"note: {note}")


def _study(
    name: str,
    changes: dict[str, str],
    q: str | None,
    qd: str | None,
    state: str | None,
    inputs: str | None,
    *,
    out: str | None,
    overwrite: bool,
    **options: Any,
) -> ModelStudy:
    from servotwin.description.load import read_description
    from servotwin.design.model_study import study_model
    from servotwin.robot.complete_model import state_space
    from servotwin.simulation.results.folder import MODEL_FILES, claimed_folder

    description = read_description(name, changes)
    model = state_space(description, motors=options.pop("motors"), gears=options.pop("gears"))
    robot = model.robot
    position = None if q is None else read_positions("--q", q, robot)
    speed = None if qd is None else read_velocities("--qd", qd, robot)
    claimed = nullcontext() if out is None else claimed_folder(out, MODEL_FILES, overwrite=overwrite)
    with claimed:  # a refusal comes before the work is done
        if state is None and inputs is None:
            return study_model(model, position, speed, **options)
        return _study_at(model, position, speed, state, inputs, options)


def _study_at(
    model: StateSpace,
    position: Array | None,
    speed: Array | None,
    state: str | None,
    inputs: str | None,
    options: dict[str, Any],
) -> ModelStudy:
    """The study at given states and inputs; those that are not given are at the operating point."""
    from servotwin.description.hydraulic_data import VACUUM
    from servotwin.design.model_study import study_model

    directions = "sliding" if options["friction"] else None
    x, u = model.operating_point(position, speed, directions)
    given = _values(model, state, "--state", model.states) | _values(model, inputs, "--input", model.inputs)
    for values, names in ((x, model.states), (u, model.inputs)):
        for k, quantity in enumerate(names):
            values[k] = given.get(quantity.name, values[k])
    for quantity in model.states:
        if quantity.unit == "Pa" and given.get(quantity.name, 0.0) <= VACUUM:
            text = f"{quantity.name} = {given[quantity.name]:.6g} Pa is below vacuum"
            raise InputError(f"{text}; expected more than {VACUUM:g} Pa (over ambient)", field="--state")
    return study_model(model, x=x, u=u, **options)


def _period(text: str) -> float:
    value = read_quantity("--sample", text, "s", name="sample period", example="1 ms")
    if not value > 0.0:
        raise InputError(f"{quoted(text)} is none; expected more than zero, such as '1 ms'", field="--sample")
    return value


def _values(model: StateSpace, text: str | None, option: str, names: Sequence[Any]) -> dict[str, float]:
    """Values of an option: a .json file, ``name=value`` pairs, or one value for each name."""
    if text is None:
        return {}
    if text.strip().lower().endswith(".json"):
        return read_state_file(Path(text.strip()), [*model.states, *model.inputs])
    items = [item.strip() for item in text.split(",")]
    units = {quantity.name: quantity.unit for quantity in names}
    if any("=" in item for item in items):
        pairs = {}
        for item in items:
            name, equals, value = (part.strip() for part in item.partition("="))
            _check_name(name, units, option)
            if not equals:
                raise InputError(f"{quoted(item)} is not name=value", field=option)
            if name in pairs:
                raise InputError(
                    f"{quoted(name)} is given twice; expected one value for each name", field=option
                )
            pairs[name] = _quantity(option, value, name, units[name])
        return pairs
    if len(items) != len(names):
        listed = ", ".join(f"{quantity.name} [{quantity.unit}]" for quantity in names)
        raise InputError(
            f"{len(items)} values; expected {len(names)}: {listed}; or name=value pairs, or a .json file",
            field=option,
        )
    return {
        name: _quantity(option, item, name, unit)
        for item, (name, unit) in zip(items, units.items(), strict=True)
    }


def _quantity(option: str, text: str, name: str, unit: str) -> float:
    return read_quantity(option, text, unit, name=name)


def _check_name(name: str, units: Mapping[str, str], place: str) -> None:
    if name not in units:
        hint = did_you_mean(name, list(units))
        raise InputError(
            f"{quoted(name)} is none of the model's; expected one of {', '.join(units)}{hint}", field=place
        )


def _once(pairs: Sequence[tuple[str, Any]], file: str) -> dict[str, Any]:
    """A JSON object in which no name stands twice."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise InputError(f"{quoted(name)} is given twice; expected one value for each name", file=file)
        found[name] = value
    return found


def read_state_file(path: Path, names: Sequence[Any]) -> dict[str, float]:
    """States and inputs of a JSON file: names to numbers in SI units, or to texts with units."""
    from servotwin.description.regular_file import STATE, read_bytes

    shown = one_line(str(path), 200)
    try:
        found = json_module.loads(
            read_bytes(path, STATE), object_pairs_hook=lambda pairs: _once(pairs, shown)
        )
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON: {one_line(str(error), 120)}", file=shown) from None
    if not isinstance(found, dict):
        raise InputError(
            'expected names and values, such as {"A.position": 0.5, "A.current": "2 A"}', file=shown
        )
    units = {quantity.name: quantity.unit for quantity in names}
    out = {}
    for name, value in found.items():
        if name not in units:
            listed = ", ".join(units)
            raise InputError(f"{quoted(name)} is none of the model's; expected one of {listed}", file=shown)
        if isinstance(value, str):
            out[name] = read_quantity(shown, value, units[name], name=name)
        elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1e12:
            out[name] = float(value)
        else:
            raise InputError(
                f"{one_line(repr(value), 60)}; expected a number in {units[name]}, or a text with its unit",
                file=shown,
                field=name,
            )
    return out


def _write(study: ModelStudy, out: str, *, overwrite: bool) -> dict[str, str]:
    from servotwin.report.model_page import write_model

    with working("drawing"), finishing():
        files = write_model(study, out, overwrite=overwrite)
    return {
        "report": str(files.page),
        "data": str(files.data),
        "others": ", ".join(p.name for p in files.others),
    }


def _print(study: ModelStudy) -> None:
    linear = study.linear
    print_line(f"{linear.name}: x' = A(x) + B(x) u, {linear.order} states, {len(linear.inputs)} inputs")
    print_heading("State, drift A(x) and gain matrix B(x)")
    columns = ["state", "unit", "x", "A(x)", *(q.name for q in linear.inputs)]
    rows = [
        (
            quantity.name,
            quantity.unit,
            _cell(study.point.x[i]),
            _cell(study.affine.A[i], study.sizes[i]),
            *(_cell(v) for v in study.affine.B[i]),
        )
        for i, quantity in enumerate(linear.states)
    ]
    print_table(columns, rows, text_columns=2)
    print_heading("Inputs")
    print_table(
        ("input", "unit", "u"),
        [(q.name, q.unit, _cell(v)) for q, v in zip(linear.inputs, study.point.u, strict=True)],
        text_columns=2,
    )
    print_heading("Modes")
    rows = []
    for k, mode in enumerate(study.modes, 1):
        main = ", ".join(
            f"{name} {100 * share:.0f} %" for name, share in study.main_states(mode) if share > 0.05
        )
        pole = f"{mode.pole.real:.4g}" + (f" ± {mode.pole.imag:.4g}j" if mode.oscillates else "")
        hertz = f"{mode.frequency / (2 * np.pi):.4g}" if mode.oscillates else "-"
        rows.append((str(k), main, pole, hertz, f"{mode.damping:.3f}" if mode.oscillates else "-"))
    print_table(("mode", "main states", "pole [1/s]", "frequency [Hz]", "damping"), rows, text_columns=2)
    for what, reach in (("controllable", study.controllable), ("observable", study.observable)):
        print_line(f"{what}: {reach.rank} of {reach.order} states, least margin {reach.margin:.2g}")


def _cell(value: float | Array, size: float | Array = 0.0) -> str:
    """A number; 0 for what rounding leaves of one beside terms of this size."""
    return "0" if abs(float(value)) < 1e-15 + 1e-12 * float(size) else f"{float(value):.5g}"
