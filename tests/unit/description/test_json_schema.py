"""The JSON Schema: well formed, documented, and true to the files that the loader accepts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from servotwin.description.json_schema import json_schema
from servotwin.description.load import CATALOGUE
from small_robots import ALL
from tests.json_schema_fits import fits, subschemas

SCHEMA = json_schema()


def parsed(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


@pytest.mark.parametrize("path", sorted(CATALOGUE.glob("*.yaml")), ids=lambda path: path.stem)
def test_schema_accepts_every_catalogue_robot(path: Path) -> None:
    assert fits(SCHEMA, SCHEMA, parsed(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", ALL)
def test_schema_accepts_the_test_robots(name: str) -> None:
    assert fits(SCHEMA, SCHEMA, parsed(ALL[name]))


@pytest.mark.parametrize(
    "change",
    [
        {"colour": "red"},
        {"axes": {"A": {"geer": {}}}},
        {"axes": {"A": {"type": "round"}}},
        {"axes": {"A": {"dh": {"a": [1]}}}},
        {"axes": {"A": {"link": {"mass": {"value": 1, "sauce": "x"}}}}},
        {"format": "servotwin/9"},
    ],
)
def test_schema_refuses_what_is_wrong(change: dict[str, Any]) -> None:
    assert not fits(SCHEMA, SCHEMA, {**parsed(ALL["pendulum"]), **change})


def test_schema_names_its_draft_and_resolves_its_references() -> None:
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    targets = {s["$ref"] for s in subschemas(SCHEMA) if isinstance(s.get("$ref"), str)}
    assert targets == {f"#/$defs/{name}" for name in SCHEMA["$defs"]}


def test_schema_describes_every_field() -> None:
    for schema in subschemas(SCHEMA):
        properties = schema.get("properties")
        if not isinstance(properties, dict) or "type" not in schema:
            continue
        for name, field in properties.items():
            assert field.get("description") or name in ("choose", "value"), name


def test_schema_of_a_measured_field_says_what_is_accepted() -> None:
    motor = SCHEMA["$defs"]["Motor"]["properties"]
    assert "such as '1.21 kgf*cm/A'" in motor["torque_constant"]["description"]
    limits = SCHEMA["$defs"]["Limits"]["properties"]
    assert "prismatic: a speed" in limits["speed"]["description"]
