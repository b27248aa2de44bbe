"""``st.schema`` and ``st.convert``: the JSON Schema of files, and robots from one format to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from servotwin.description.file_write import export_text, refuse_existing
from servotwin.description.load import read_description
from servotwin.description.nodes import one_line
from servotwin.description.placed import override_mapping
from servotwin.description.schema import STANDARD_GRAVITY, RobotDescription
from servotwin.errors import InputError
from servotwin.mechanism.model import BASE, Mechanism
from servotwin.presentation import ShowsItself


def schema(kind: str = "robot") -> dict[str, Any]:
    """The JSON Schema of 'robot', 'scenario' or 'catalogue' files, which editors use to complete what is typed.

    >>> import servotwin as st
    >>> "move" in st.schema("scenario")["properties"]
    True
    """
    from servotwin.description.json_schema import file_schema, json_schema

    if kind == "robot":
        return json_schema()
    if kind == "scenario":
        from servotwin.simulation.scenario.schema import scenario_schema

        return scenario_schema()
    if kind == "catalogue":
        from servotwin.description.sheets.catalogue import CatalogueFile

        return file_schema(CatalogueFile, "ServoTwin catalogue of motors and gears")
    raise InputError(f"'{one_line(kind)}' has no schema; expected robot, scenario or catalogue")


@dataclass(frozen=True)
class Converted(ShowsItself):
    """A robot file that was written: what it was made from, and what the format cannot hold."""

    robot: str
    source: str
    target: str
    left_out: tuple[str, ...]
    payload: dict[str, Any] | None
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        """Everything as plain data."""
        told = {"notes": list(self.notes), "warnings": list(self.warnings)}
        return {
            "robot": self.robot, "input": self.source, "output": self.target, "left_out": list(self.left_out),
            "payload": self.payload, **told,
        }  # fmt: skip


def convert(
    source: str | Path,
    target: str | Path,
    overrides: Mapping[str, str] | None = None,
    *,
    density: float | None = None,
    allow_code: bool = False,
    arguments: Mapping[str, str] | None = None,
    overwrite: bool = False,
) -> Converted:
    """Write a robot as YAML or URDF, by the ending of ``target``.

    ``density`` [kg/m3] fills the shapes of URDF links without inertia; ``allow_code`` runs a xacro file, with
    ``arguments``. A .yaml file is written complete, with all that the description extends and includes.
    """
    from servotwin.description.write import yaml_text

    suffix = Path(target).suffix.lower()
    if suffix not in (".yaml", ".yml", ".urdf"):
        raise InputError("not a robot file; expected .yaml, .yml or .urdf", file=one_line(str(target), 200))
    refuse_existing(target, overwrite=overwrite)
    code = dict(arguments or {}) if allow_code else None
    description = read_description(source, override_mapping(overrides), density=density, allow_code=code)
    text, lost, payload = _urdf(description) if suffix == ".urdf" else (yaml_text(description), [], None)
    export_text(target, text, overwrite=overwrite)
    return Converted(
        description.name, str(source), str(target), tuple(lost), payload, tuple(description.notes),
        tuple(description.warnings),
    )  # fmt: skip


def _urdf(description: RobotDescription) -> tuple[str, list[str], dict[str, Any] | None]:
    """The text of the URDF file, what it does not contain, and the payload with the link that it is part of."""
    from servotwin.mechanism.build import build_mechanism
    from servotwin.mechanism.urdf_export import payload_link, urdf_text

    mechanism = build_mechanism(description)
    shapes = {link: description.axes[axis].link.shapes for axis, link in description.link_names.items()}
    if description.base is not None:
        shapes[description.base_name] = description.base.shapes
    load, payload = description.payload, None
    if load is not None and load.mass and mechanism.frame().body != BASE:
        payload = {"mass_kg": load.mass, "link": payload_link(mechanism)}
    return urdf_text(mechanism, shapes), _left_out(description, mechanism), payload


def _left_out(description: RobotDescription, mechanism: Mechanism) -> list[str]:
    lost = {
        "motors and gears": bool(mechanism.rotors.names),
        "friction of joints": any(axis.friction is not None for axis in description.axes.values()),
        "quantities and their limits": bool(mechanism.quantities.names),
        "supply and controller": description.power is not None or description.controller is not None,
        "acceleration limits": bool(np.isfinite(mechanism.limits.qdd_max).any()),
        "the home pose": bool(mechanism.q_home.any()),
        "gravity": not np.allclose(mechanism.gravity, (0.0, 0.0, -STANDARD_GRAVITY), rtol=1e-9),
    }
    return [what for what, present in lost.items() if present]
