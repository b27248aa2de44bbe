"""A JSON Schema of scenario files, for editors; looser than ``read_scenario``."""

from __future__ import annotations

from servotwin.description.json_schema import Schema, file_schema
from servotwin.simulation.scenario.parts import ScenarioFile


def scenario_schema() -> Schema:
    """The schema of a scenario file."""
    return file_schema(ScenarioFile, "ServoTwin scenario")
