"""The JSON Schema of scenario files: true to what ships, and refusing what no scenario has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from servotwin.cli.main import main
from servotwin.simulation.scenario.scenario import SCENARIOS
from servotwin.simulation.scenario.schema import scenario_schema
from tests.json_schema_fits import fits, subschemas

SCHEMA = scenario_schema()
PLAIN: dict[str, Any] = {
    "format": "servotwin-scenario/1",
    "name": "plain",
    "robot": "gsis-scara",
    "move": [{"to": {"A": "10 deg"}}],
}


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.yaml")), ids=lambda path: path.stem)
def test_schema_accepts_every_scenario_that_ships(path: Path) -> None:
    assert fits(SCHEMA, SCHEMA, YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "part",
    [
        {"solver": {"method": "rk4", "steps": 4}},
        {"faults": [{"at": "0.1 s", "axis": "A", "kind": "winding-open"}]},
        {"record": {"every": "1 ms", "zoom": {"at": "0.1 s"}, "signals": ["motor_A_*"]}},
        {"extends": "scara-a-axis-100deg", "variables": {"v": "50 %"}},
        {"plant": {"set": {"axes.A.link.mass": "18 kg", "assumed": "for a test"}}},
    ],
)
def test_schema_accepts_the_parts_of_a_scenario(part: dict[str, Any]) -> None:
    assert fits(SCHEMA, SCHEMA, {**PLAIN, **part})


@pytest.mark.parametrize(
    "part",
    [
        {"moves": []},
        {"solver": {"method": "rk5"}},
        {"solver": {"steps": 0}},
        {"faults": [{"at": "0.1 s", "kind": "explodes"}]},
        {"record": {"each": "1 ms"}},
        {"move": [{"too": {"A": "1 deg"}}]},
        {"format": "servotwin/1"},
    ],
)
def test_schema_refuses_what_no_scenario_has(part: dict[str, Any]) -> None:
    assert not fits(SCHEMA, SCHEMA, {**PLAIN, **part})


def test_every_field_is_described_and_every_reference_resolved() -> None:
    for schema in subschemas(SCHEMA):
        properties = schema.get("properties")
        if isinstance(properties, dict) and "type" in schema:
            for name, field in properties.items():
                assert field.get("description") or name in ("choose", "value"), name
    targets = {s["$ref"] for s in subschemas(SCHEMA) if isinstance(s.get("$ref"), str)}
    assert targets <= {f"#/$defs/{name}" for name in SCHEMA["$defs"]}


def test_the_command_prints_each_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "scenario"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA
    assert main(["schema", "robot"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "ServoTwin robot description"
    assert main(["schema", "job"]) == 2
    assert capsys.readouterr().err == "'job' has no schema; expected robot, scenario or catalogue\n"
