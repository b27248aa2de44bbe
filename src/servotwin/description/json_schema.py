"""A JSON Schema (draft 2020-12) of the description, for editors that complete and check YAML.

It is looser than the loader: units, dimensions and cross references are
checked only when the file is read.
"""

from __future__ import annotations

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from servotwin.description.error_parts import SOURCES, Harmonics, SourceNames
from servotwin.description.fields import (
    Celsius,
    Choice,
    Flag,
    Measure,
    Over256,
    Part,
    Period,
    Points,
    Whole,
    Words,
)
from servotwin.description.schema import GravityReader, RobotDescription
from servotwin.description.units import expectation

Schema = dict[str, Any]

_EXPRESSION = {"type": "string", "pattern": "^\\s*=", "description": "= expression over variables and units"}
_TEXT = {"type": "string"}


def json_schema() -> Schema:
    """The schema of a robot file."""
    return file_schema(RobotDescription, "ServoTwin robot description")


def file_schema(model: type[Part], title: str) -> Schema:
    """The schema of a file that is composed as robot files are: ``extends``, ``variables`` and expressions."""
    definitions: dict[str, Schema] = {
        "quantity": _with_source({"type": ["string", "number"], "examples": ["350 mm", "= a1/2", "100"]}),
        "vector": _with_source({"type": "array", "items": {"$ref": "#/$defs/quantity"}}),
        "text": _with_source({"type": ["string", "number"]}),
        "variable": _variable(),
        "choose": _choose(),
    }
    top = _model(model, definitions)
    top["properties"]["extends"] = {
        **_TEXT,
        "description": "catalogue name or file that this one builds on; own keys win, an empty key deletes",
    }
    top["properties"]["variables"] = {
        "type": "object",
        "additionalProperties": {"$ref": "#/$defs/variable"},
        "description": "named values for expressions",
    }
    # what a file extends may bring everything but its own format and name
    top["required"] = ["format"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **top,
        "$defs": definitions,
    }


def _with_source(schema: Schema) -> Schema:
    """A value, the value with what vouches for it, or nothing (which deletes what is inherited)."""
    attributed = {
        "type": "object",
        "properties": {"value": schema, **_everywhere()},
        "additionalProperties": False,
    }
    return {"anyOf": [schema, attributed, {"type": "null"}]}


def _everywhere() -> dict[str, Schema]:
    """The keys that may stand in any mapping."""
    return {
        "source": {**_TEXT, "description": "where the values inside come from"},
        "assumed": {**_TEXT, "description": "why the values inside are assumed"},
        "include": {**_TEXT, "description": "file#entry to merge under the keys here"},
        "choose": {"$ref": "#/$defs/choose"},
        "replace": {"const": True, "description": "take over nothing that the extended file states here"},
    }


def _choose() -> Schema:
    branch = {
        "type": "object",
        "properties": {
            "when": {**_EXPRESSION, "description": "condition, such as = reading == 'joint'"},
            "then": {"type": "object", "description": "merged in if the condition holds"},
            "otherwise": {"type": "object", "description": "merged in if no condition before held"},
        },
        "additionalProperties": False,
    }
    return {"type": "array", "items": branch, "description": "the first branch that holds is merged in"}


def _variable() -> Schema:
    text = {
        "type": "object",
        "properties": {
            "text": {**_TEXT, "description": "a text variable"},
            "choices": {"type": "array", "items": _TEXT, "description": "the texts that are accepted"},
            **_everywhere(),
        },
        "additionalProperties": False,
    }
    return {"anyOf": [{"$ref": "#/$defs/quantity"}, text]}


def _model(model: type[Part], definitions: dict[str, Schema]) -> Schema:
    """The schema of a mapping; parts below it go to ``definitions``."""
    properties = {}
    for name, info in model.model_fields.items():
        if name != "variables":
            properties[name] = {**_field(info, definitions), "description": _description(info)}
    return {
        "type": ["object", "null"],
        "description": (model.__doc__ or "").split("\n")[0],
        "properties": {**properties, **_everywhere()},
        "additionalProperties": False,
    }


def _description(info: FieldInfo) -> str:
    """The field's description, with what it accepts."""
    text = info.description or ""
    for kind in info.metadata:
        if isinstance(kind, Measure):
            accepted = expectation(kind.unit)
            if kind.linear is not None:
                accepted += f"; prismatic: {expectation(kind.linear)}"
            return f"{text} ({accepted})"
        if isinstance(kind, Points | Harmonics):
            return f"{text} (each [{kind.words()}])"
        if isinstance(kind, GravityReader):
            return f"{text} ({expectation('m/s^2')})"
        if isinstance(kind, Celsius):
            return f"{text} (a temperature, such as '25 degC')"
        if isinstance(kind, Period):
            return f"{text} (a time, such as '0.2 ms')"
    return text


def _field(info: FieldInfo, definitions: dict[str, Schema]) -> Schema:
    for kind in info.metadata:
        found = _kind(kind)
        if found is not None:
            return found
    return _type(info.annotation, definitions)


def _kind(kind: object) -> Schema | None:  # noqa: PLR0911 -- one for each kind
    """The schema of a field kind, None for other metadata."""
    if isinstance(kind, Measure):
        return {"$ref": f"#/$defs/{'vector' if kind.size else 'quantity'}"}
    if isinstance(kind, GravityReader):
        return {"anyOf": [{"$ref": "#/$defs/quantity"}, {"$ref": "#/$defs/vector"}]}
    if isinstance(kind, Whole):
        forms = [{"type": "integer", "minimum": kind.minimum, "maximum": kind.maximum}, _EXPRESSION]
        if isinstance(kind, Over256):
            forms.append({"type": "string", "pattern": r"^\s*\d+\s*/\s*256\s*$"})
        return _with_source({"anyOf": forms})
    if isinstance(kind, Flag):
        return _with_source({"anyOf": [{"type": "boolean"}, _EXPRESSION]})
    if isinstance(kind, Celsius | Period):
        return {"$ref": "#/$defs/quantity"}
    if isinstance(kind, Choice):
        return _with_source({"anyOf": [{"enum": [*kind.words, *dict(kind.former)]}, _EXPRESSION]})
    if isinstance(kind, SourceNames):
        return _with_source({"type": "array", "items": {"enum": list(SOURCES)}})
    if isinstance(kind, Points | Harmonics):
        return _with_source({"type": "array", "items": {"$ref": "#/$defs/vector"}})
    return {"$ref": "#/$defs/text"} if isinstance(kind, Words) else None


def _type(annotation: Any, definitions: dict[str, Schema]) -> Schema:
    """The schema of a type: a part, a list or mapping of such, a number or a text."""
    arguments = get_args(annotation)
    origin = get_origin(annotation)
    if origin is Annotated:
        return _kind(arguments[1]) or _type(arguments[0], definitions)
    if origin in (Union, types.UnionType):
        forms = [_type(a, definitions) for a in arguments if a is not type(None)]
        return forms[0] if len(forms) == 1 else {"anyOf": forms}
    if origin is tuple:
        return _with_source({"type": "array", "items": _type(arguments[0], definitions)})
    if origin is dict:
        items = _type(arguments[1], definitions)
        return {"type": ["object", "null"], "properties": _everywhere(), "additionalProperties": items}
    if annotation is Any:
        return {}
    if origin is Literal:
        return {"enum": list(arguments)}
    if isinstance(annotation, type) and issubclass(annotation, Part):
        name = annotation.__name__
        if name not in definitions:
            definitions[name] = {}  # holds the place against endless descent
            definitions[name] = _model(annotation, definitions)
        return {"$ref": f"#/$defs/{name}"}
    return {"$ref": "#/$defs/quantity"} if annotation is float else {"$ref": "#/$defs/text"}
