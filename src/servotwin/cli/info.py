"""``servotwin info``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from servotwin.cli.arguments import read_overrides
from servotwin.cli.info_hydraulic import hydraulic_lines, supply_words
from servotwin.cli.output import (
    number,
    print_heading,
    print_json,
    print_line,
    print_note,
    print_table,
    working,
)
from servotwin.description.controller_parts import TOGETHER
from servotwin.description.display import MM, MS, RPM, UM, of_joint
from servotwin.description.nodes import one_line
from servotwin.drives.kind import Feed
from servotwin.drives.table import kind_named
from servotwin.report.labels import PRISMATIC, REVOLUTE, JointUnits, unit_key

MANY = 12  # values of one reason that are assumed: more are counted unless all are asked for
NAMED = 4  # axes whose values are counted together
SHORT = 40  # characters of a value that is shown beside counts


def info(name: str, overrides: Sequence[str] | None, *, assumed: bool = False, json: bool) -> None:
    """Print what is known about a robot, and what is assumed; all of it if ``assumed``."""
    changes = read_overrides(overrides)
    with working(f"reading {one_line(name)}"):
        from servotwin.workbench.robot_info import info as run

        data = run(name, changes).data()
    if json:
        print_json(data)
        return
    _print_summary(data)
    _print_axes(data)
    _print_drives(data)
    _print_supply(data)
    _print_structure(data)
    _print_origins(data)
    _print_assumed(data, MANY if not assumed else len(data["assumptions"]))
    for note in data["notes"]:
        print_note(f"note: {note}")
    for warning in data["warnings"]:
        print_note(f"warning: {warning}")


def _print_summary(data: dict[str, Any]) -> None:
    print_line(f"{data['name']}: {data['title']}" if data["title"] else data["name"])
    print_line(f"  {data['dof']} joints in the order of q: {', '.join(data['joints'])}")
    moving = f"{number(data['total_mass_kg'])} kg moving"
    if data["payload_kg"]:
        moving += f", of which payload {number(data['payload_kg'])} kg"
    print_line(f"  {moving}")
    if data["reach_m"] is not None:
        low, high = data["height_range_m"]
        print_line(
            f"  reach of the tool {_mm(data['reach_m'])} from the z axis of the base, "
            f"heights {_mm(low)} to {_mm(high)}"
        )


def _mm(metres: float) -> str:
    return f"{number(round(MM * metres, 2))} mm"


def _units(axis: dict[str, Any]) -> JointUnits:
    return PRISMATIC if axis["type"] == "prismatic" else REVOLUTE


def _print_axes(data: dict[str, Any]) -> None:
    print_heading("Axes")
    rows = []
    for axis in data["axes"]:
        unit, limits = _units(axis), axis["limits"]
        position = limits.get(unit_key("position", unit.position))
        ends = "-" if position is None else " to ".join(number(unit.factor * end) for end in position)
        speed = limits.get(unit_key("speed", unit.speed))
        effort = limits.get(unit_key("effort", unit.effort))
        rows.append(
            (
                axis["name"],
                axis["type"],
                axis["parent"],
                f"{ends} {unit.shown}" if position is not None else "-",
                "-" if speed is None else f"{number(unit.factor * speed)} {unit.shown}/s",
                "-" if effort is None else f"{number(effort)} {unit.effort.replace('*', ' ')}",
                f"{number(axis['mass_kg'])} kg",
            )
        )
    print_table(
        ("axis", "type", "carried by", "position", "speed", "effort", "link mass"), rows, text_columns=3
    )


def _print_drives(data: dict[str, Any]) -> None:
    driven = [axis for axis in data["axes"] if "motor" in axis or "gear" in axis]
    if not driven:
        return
    print_heading("Drives")
    titles = ("output [W]", "speed [rpm]", "torque [N m]", "K_t [N m/A]", "J_m [kg m2]")
    by_matrix = data["transmission"]["matrix_stated"]
    rows = [_drive_row(axis, by_matrix) for axis in driven]
    print_table(("axis", "motor", "gear", "encoder", *titles), rows, text_columns=4)
    for axis in driven:
        for line in hydraulic_lines(axis):
            print_line(f"  {line}")


def _print_supply(data: dict[str, Any]) -> None:
    """Supply and controller, a line each."""
    power, control, oil = data["power"], data["controller"], data["hydraulics"]
    if power is not None:
        bridge = power["bridge"]
        print_heading("Supply")
        # the three legs of a synchronous motor's bridge have one pattern
        legs = any(
            kind_named(axis.get("motor", {}).get("kind")).feed is Feed.H_BRIDGE
            for axis in data["axes"]
            if "motor" in axis
        )
        pattern = f", {bridge['modulation']} PWM of H-bridges" if legs else ""
        print_line(f"  bus {number(power['bus_voltage_V'])} V{pattern}")
    if oil is not None:
        print_heading("Hydraulic supply")
        print_line(f"  {supply_words(oil)}")
    if control is not None:
        print_heading("Controller")
        periods = [(word, control[f"{word}_period_s"]) for word in ("main", "axis", "speed", "current")]
        print_line("  periods: " + ", ".join(f"{word} {number(MS * value)} ms" for word, value in periods))
        print_line(
            f"  bandwidths: position {number(control['position_bandwidth_1_per_s'])} 1/s, "
            f"speed {number(control['speed_bandwidth_rad_per_s'])} rad/s, "
            f"current {number(control['current_bandwidth_rad_per_s'])} rad/s; {_commands(control)}, "
            f"{control['arithmetic']} arithmetic"
        )


def _commands(control: dict[str, Any]) -> str:
    """The law, and what the servo drivers take where it is not a speed for all of them."""
    if control["law"] in TOGETHER:
        return str(control["law"])
    general = control.get("level") or "speed"
    own = {motor: part["level"] for motor, part in control.get("axes", {}).items() if part.get("level")}
    others = [f"{level} command of {motor}" for motor, level in own.items() if level != general]
    parts = [f"{general} command" if general != "speed" else "", *others]
    return ", ".join([control["law"], *(part for part in parts if part)])


def _drive_row(axis: dict[str, Any], by_matrix: bool) -> tuple[str, ...]:
    motor, gear = axis.get("motor", {}), axis.get("gear", {})
    speed = motor.get("rated_speed_rad_per_s")
    return (
        axis["name"],
        motor.get("kind", "-"),
        _gear_text(gear, bool(motor) and not by_matrix and axis["type"] != "prismatic"),
        _encoder_text(axis.get("encoder", {})),
        number(motor.get("rated_output_W"), 4),
        number(None if speed is None else RPM * speed, 4),
        number(motor.get("rated_torque_N_m"), 4),
        number(motor.get("torque_constant_N_m_per_A"), 4),
        number(motor.get("rotor_inertia_kg_m2"), 3),
    )


def _gear_text(gear: dict[str, Any], turned: bool) -> str:
    """The ratio as stated; a joint that a motor of its own turns without one is turned 1:1."""
    ratios = {"ratio": "{}:1", "ratio_rad_per_m": "{} rad/m", "lead_m": "lead {} mm"}
    scale = {"lead_m": 1000.0}
    stated = [ratios[key].format(number(scale.get(key, 1.0) * gear[key])) for key in ratios if key in gear]
    if not stated and turned:
        stated = ["1:1"] if gear.get("kind") == "direct" else ["1:1 (not stated)"]
    return " ".join([*stated, gear.get("kind", "")]).strip() or "-"


def _encoder_text(encoder: dict[str, Any]) -> str:
    if "lines" in encoder:
        return f"{encoder['lines']} x {encoder['counting']}"
    if "resolution_m" in encoder:
        return f"{number(UM * encoder['resolution_m'])} um"
    return f"{encoder['bits']} bits" if "bits" in encoder else "-"


def _print_structure(data: dict[str, Any]) -> None:
    if data["transmission"]["coupled"]:
        _print_transmission(data)
    print_heading("Frames")
    groups = groupby(data["frames"], key=lambda frame: frame["moves_with"])
    rows = [(", ".join(frame["name"] for frame in frames), carrier) for carrier, frames in groups]
    print_table(("frame", "moves with"), rows, text_columns=2)
    if data["couplings"] or data["loops"]:
        print_heading("Couplings and loops")
    for coupling in data["couplings"]:
        terms = " ".join(f"{factor:+g} {joint}" for joint, factor in coupling["of"].items())
        offset = f" {coupling['offset']:+g}" if coupling["offset"] else ""
        print_line(f"{coupling['joint']} = {terms.removeprefix('+')}{offset}")
    if data["quantities"]:
        print_heading("Quantities that follow from the joints")
    for z in data["quantities"]:
        print_line(_quantity(data, z))
    for loop in data["loops"]:
        print_line(f"{loop['name']}: {loop['type']} joint between {' and '.join(loop['between'])}")
    if data["mobility"]:
        print_line(data["mobility"]["text"])


def _quantity(data: dict[str, Any], z: dict[str, Any]) -> str:
    """Name, sum of joints and limits, in degrees or millimetres."""
    sliding = {axis["name"]: axis["type"] == "prismatic" for axis in data["axes"]}
    scale, unit = of_joint(all(sliding[name] for name in z["of"]))
    terms = " ".join(f"{factor:+g} {joint}" for joint, factor in z["of"].items()).removeprefix("+")
    offset = f" {scale * z['offset']:+.6g} {unit}" if z["offset"] else ""
    limits = ""
    if z["limits"]:
        low, high = (f"{scale * end:.6g}" for end in z["limits"])
        limits = f", from {low} to {high} {unit}"
    return f"{z['name']} = {terms}{offset}{limits}"


def _print_transmission(data: dict[str, Any]) -> None:
    print_heading("Transmission: motor angle per joint position [rad/rad, rad/m]")
    matrix = data["transmission"]["motor_rad_per_joint_rad_or_m"]
    rows = [
        (name, *(number(ratio) for ratio in row))
        for name, row in zip(data["transmission"]["motors"], matrix, strict=True)
    ]
    print_table(("motor", *data["joints"]), rows)


def _print_origins(data: dict[str, Any]) -> None:
    if data["sources"]:
        print_heading("Sources")
        stated = [(entry["source"], shortened(entry["fields"])) for entry in data["sources"]]
        print_table(("source", "fields"), stated, text_columns=2)
    for name, citation in data["references"].items():
        print_line(f"[{name}] {citation}")


def _print_assumed(data: dict[str, Any], most: int) -> None:
    """What is assumed, by reason; the values of a reason with more than ``most`` of them are counted."""
    print_heading("Assumed")
    if not data["assumptions"]:
        print_line("nothing")
        return
    by_reason: dict[str, list[dict[str, str]]] = {}
    for entry in data["assumptions"]:
        by_reason.setdefault(entry["why"], []).append(entry)
    rows = []
    for why, entries in by_reason.items():
        pairs = [(entry["field"], rounded(entry["value"])) for entry in entries]
        shown = pairs if len(pairs) <= most else counted(pairs)
        rows.append(("\n".join(field for field, _ in shown), "\n".join(value for _, value in shown), why))
    print_table(("field", "value", "why"), rows, text_columns=3)
    if any(len(entries) > most for entries in by_reason.values()):
        print_note("note: 'servotwin info' with --assumed shows every value that is assumed, --json too")


def counted(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Fields and values by part of the file, with the number of values in each; a short value alone is shown.

    >>> counted([("axes.A.link.mass", "4 kg"), ("axes.B.link.mass", "2 kg"), ("gravity.2", "-9.81 m/s^2")])
    [('axes.A,B.link', '2 values'), ('gravity.2', '-9.81 m/s^2')]
    """
    parts: dict[str, list[tuple[str, str]]] = {}
    axes: dict[str, dict[str, None]] = {}
    for field, value in pairs:
        match = re.match(r"axes\.([^.]+)(\.[^.]+)", field)
        part = f"axes.*{match[2]}" if match else field.partition(".")[0]
        parts.setdefault(part, []).append((field, value))
        axes.setdefault(part, {})[match[1] if match else ""] = None
    rows = []
    for part, found in parts.items():
        if len(found) == 1 and len(found[0][1]) <= SHORT:
            rows.append(found[0])
            continue
        names = ",".join(axes[part]) if len(axes[part]) <= NAMED else "*"
        words = "1 value" if len(found) == 1 else f"{len(found)} values"
        rows.append((part.replace("*", names, 1), words))
    return rows


def shortened(fields: Sequence[str]) -> str:
    """Field paths drawn together where they differ in the axis or in the last name alone.

    >>> shortened(["axes.A.motor.kind", "axes.A.motor.mass", "axes.B.motor.kind", "axes.B.motor.mass"])
    'axes.A,B.motor.{kind, mass}'
    """
    axes: dict[str, list[str]] = {}
    for field in fields:
        match = re.fullmatch(r"axes\.([^.]+)\.(.+)", field)
        axes.setdefault(f"axes.*.{match[2]}" if match else field, []).append(match[1] if match else "")
    names: dict[str, list[str]] = {}
    for path, found in axes.items():
        parent, _, name = path.replace("*", ",".join(found), 1).rpartition(".")
        names.setdefault(parent, []).append(name)
    groups = [
        f"{parent}.{found[0] if len(found) == 1 else '{' + ', '.join(found) + '}'}".lstrip(".")
        for parent, found in names.items()
    ]
    return ", ".join(groups)


def rounded(text: str) -> str:
    """A value as written, its long decimal fractions cut to six digits: they come from expressions; lists are counted.

    >>> rounded("16.115702479338843 A"), rounded("[[0 rpm, 4 N*m], [3000 rpm, 3.5 N*m]]")
    ('16.1157 A', '2 points')
    """
    if text.startswith("[["):
        return f"{text.count('], [') + 1} points"
    return re.sub(r"\d+\.(?:\d{7,}|0)(?:e[+-]?\d+)?(?= )", lambda m: f"{float(m[0]):.6g}", text)
