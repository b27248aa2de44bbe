"""Write the generic series of the catalogue from their scaling laws.

python tools/generic_catalogue.py       # in the folder of the repository; a test holds the files to the laws
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from generic_gears import FACTORS, gears, screws
from generic_motors import motors

FOLDER = Path(__file__).parent.parent / "src" / "servotwin" / "catalogue" / "parts"
WIDTH = 118
HEAD = """# Generic {what}: made by scaling laws (tools/generic_catalogue.py, docs/catalogue-drives.md), no products.
# For first designs and for comparisons; replace them by the data sheets of what is bought.
format: servotwin-catalogue/1
name: generic-{what}
title: "{title}"
generic: true
assumed: "generic: scaling laws of docs/catalogue-drives.md, no product"
"""
SINE = """conventions: &sine {voltage_between: lines, winding_between: lines, winding_temperature: 20 degC}"""


def flow(value: object) -> str:
    """A value in YAML's flow style."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(child)}" for key, child in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(child) for child in value) + "]"
    return str(value)


def entry(name: str, fields: dict[str, object]) -> str:
    """An entry in flow style, folded between its fields."""
    lines, line = [], f"  {name}: {{"
    parts = [f"{key}: {flow(value)}" for key, value in fields.items()]
    for i, part in enumerate(parts):
        piece = part + ("}" if i == len(parts) - 1 else ",")
        if len(line) + len(piece) + 1 > WIDTH:
            lines.append(line.rstrip())
            line = "    "
        line += piece + " "
    return "\n".join([*lines, line.rstrip()])


def section(kind: str, entries: dict[str, dict[str, object]]) -> str:
    """A mapping of entries."""
    return f"{kind}:\n" + "\n".join(entry(name, fields) for name, fields in entries.items()) + "\n"


def motor_file() -> str:
    """The text of generic-motors.yaml; the conventions stand in the first entry and are repeated by an alias."""
    head = HEAD.format(what="motors", title="Generic synchronous servo motors, 50 W to 7.5 kW")
    body = section("motors", motors())
    return head + body.replace("conventions: *sine", SINE, 1)


def gear_file() -> str:
    """The text of generic-gears.yaml."""
    head = HEAD.format(
        what="gears", title="Generic strain-wave, RV and planetary gears, belts and ball screws"
    )
    body = section("gears", gears()) + section("screws", screws())
    return head + body.replace("*grease", f"&grease {flow(FACTORS)}", 1)


FILES = {"generic-motors.yaml": motor_file, "generic-gears.yaml": gear_file}

if __name__ == "__main__":
    for name, made in FILES.items():
        (FOLDER / name).write_text(made(), encoding="utf-8")
