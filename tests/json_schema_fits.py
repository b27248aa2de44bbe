"""Whether data satisfies a JSON Schema: the few words of it that ours use."""

from __future__ import annotations

import re
from typing import Any

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "number": int | float,
    "integer": int,
    "null": type(None),
    "boolean": bool,
}


def fits(schema: dict[str, Any], whole: dict[str, Any], value: object) -> bool:
    """Whether ``value`` satisfies ``schema``, a part of ``whole``."""
    if "$ref" in schema and not fits(whole["$defs"][schema["$ref"].removeprefix("#/$defs/")], whole, value):
        return False
    if "anyOf" in schema and not any(fits(option, whole, value) for option in schema["anyOf"]):
        return False
    if "type" in schema:
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        if not any(isinstance(value, TYPES[name]) for name in names):
            return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        return False
    if isinstance(value, int) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return False
    if isinstance(value, list):
        return all(fits(schema.get("items", {}), whole, item) for item in value)
    if isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        known = all(fits(properties[key], whole, item) for key, item in value.items() if key in properties)
        rest = [item for key, item in value.items() if key not in properties]
        return known and (not rest if others is False else all(fits(others, whole, item) for item in rest))
    return True


def subschemas(schema: Any) -> list[dict[str, Any]]:
    found = []
    if isinstance(schema, dict):
        found.append(schema)
    for child in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        found += subschemas(child)
    return found
