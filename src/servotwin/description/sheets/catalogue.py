"""Catalogues of motors, gears and screws: YAML files of data sheets, read, checked and converted once."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from servotwin.cache.sources import source_digest
from servotwin.cache.store import read_entry, write_entry
from servotwin.description.compose import Files, resolve
from servotwin.description.fields import Choice, Flag, Part, Words
from servotwin.description.load import CATALOGUE, PARTS, find_in_catalogue
from servotwin.description.nodes import Node, one_line, quoted
from servotwin.description.parts import NAME, Text
from servotwin.description.problems import find, input_error
from servotwin.description.reach import Reach
from servotwin.description.regular_file import read_bytes
from servotwin.description.sheets.cross_checks import motor_contradictions
from servotwin.description.sheets.gear_checks import gear_contradictions
from servotwin.description.sheets.gear_sheet import GearSheet, ScrewSheet
from servotwin.description.sheets.motor_fields import MotorDatasheet
from servotwin.description.sheets.motor_sheet import MotorSheet, motor_sheet
from servotwin.errors import InputError, located
from servotwin.presentation import ShowsItself, Tabulates

FORMAT = "servotwin-catalogue/1"
GENERIC = ("generic-motors.yaml", "generic-gears.yaml")
_KINDS = ("motors", "gears", "screws")


class CatalogueFile(Part):
    """A file of data sheets."""

    format: Annotated[str, Choice((FORMAT,))] = Field(description=f"always {FORMAT}")
    name: Annotated[str, Words(r"[a-z0-9-]{1,100}", "a name of a-z, 0-9 and '-'")] = Field(
        description="short name: a-z, 0-9 and '-'"
    )
    title: Text = Field(default="", description="one line for people")
    references: dict[str, Text] = Field(default={}, description="short name of a source and its citation")
    generic: Annotated[bool, Flag()] = Field(
        default=False, description="whether its entries are made by scaling laws and are no products"
    )
    variables: dict[str, str] = Field(default={}, description="named values for expressions")
    motors: dict[Annotated[str, NAME], MotorDatasheet] = Field(default={}, description="motors by name")
    gears: dict[Annotated[str, NAME], GearSheet] = Field(default={}, description="gears and belts by name")
    screws: dict[Annotated[str, NAME], ScrewSheet] = Field(default={}, description="ball screws by name")


@dataclass(frozen=True)
class Catalogue(Tabulates, ShowsItself):
    """Motors, gears and screws by name, in SI; ``printed`` has the motors as their sheets print them."""

    name: str
    title: str = ""
    generic: bool = False
    motors: Mapping[str, MotorSheet] = field(default_factory=dict)
    gears: Mapping[str, GearSheet] = field(default_factory=dict)
    screws: Mapping[str, ScrewSheet] = field(default_factory=dict)
    printed: Mapping[str, MotorDatasheet] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()  # contradictions within sheets, one line each

    def __repr__(self) -> str:
        """A line; the generic series alone would be a book."""
        kinds = ", ".join(f"{len(getattr(self, kind))} {kind}" for kind in _KINDS)
        return f"<Catalogue of {self.name}: {kinds}>"

    def __add__(self, other: Catalogue) -> Catalogue:
        """Both together; a name that both have is refused."""
        for kind in _KINDS:
            twice = sorted(getattr(self, kind).keys() & getattr(other, kind).keys())
            if twice:
                raise InputError(
                    f"{quoted(twice[0])} stands in {self.name} and in {other.name}; expected a name once",
                    field=kind,
                )
        return Catalogue(
            name=f"{self.name}+{other.name}",
            title=f"{self.title}; {other.title}",
            generic=self.generic and other.generic,
            motors={**self.motors, **other.motors},
            gears={**self.gears, **other.gears},
            screws={**self.screws, **other.screws},
            printed={**self.printed, **other.printed},
            warnings=self.warnings + other.warnings,
        )


def read_catalogue(*names_or_paths: str | os.PathLike[str]) -> Catalogue:
    """The motors, gears and screws of catalogue files together; of the generic series if none is named.

    A name without folder is looked for beside the current folder, then among the files that ship. Anything that
    cannot be accepted raises InputError with file, line, field and remedy.

    >>> len(read_catalogue().motors) >= 200
    True
    """
    named = list(names_or_paths) or ["generic"]
    files = [file for name in named for file in (GENERIC if os.fspath(name) == "generic" else (name,))]
    found = [_read(_locate(file)) for file in files]
    total = found[0]
    for catalogue in found[1:]:
        total = total + catalogue
    return total


def is_catalogue(path: str | os.PathLike[str]) -> bool:
    """Whether a YAML file says that it is a catalogue."""
    tree = Files(reach=Reach.of(path)).read(Path(path))
    stated = tree.value.get("format") if isinstance(tree.value, dict) else None
    return stated is not None and str(stated.value).startswith("servotwin-catalogue/")


def _locate(name: str | os.PathLike[str]) -> Path:
    text = os.fspath(name)
    if not text.lower().endswith((".yaml", ".yml")):
        raise InputError("not a catalogue; expected a .yaml or .yml file, or 'generic'", file=text[:200])
    if os.sep not in text and not Path(text).exists() and (CATALOGUE / PARTS / text).is_file():
        return CATALOGUE / PARTS / text
    return Path(text)


def _read(path: Path) -> Catalogue:
    """The catalogue of a file; the checked numbers of one that needs no other file are kept on disk."""
    key = _key(path)
    kept = _kept(key)
    if kept is not None:
        return kept
    files = Files(find_in_catalogue, reach=Reach.of(path))
    tree = _resolved(path, files)
    file = _checked(tree)
    warnings = tuple(_contradictions(file, tree))
    alone = len(files.dependencies) == 1 and not files.absent
    if alone and _key(path) == key:  # else it was written anew while it was read
        write_entry(
            key, {"catalogue": file.model_dump(exclude_defaults=True), "warnings": warnings}, b"", "robots"
        )
    return _converted(file, warnings)


def catalogue_tree(name_or_path: str | os.PathLike[str]) -> Node:
    """The finished tree of a catalogue file that can be read; every value with its place."""
    path = _locate(name_or_path)
    tree = _resolved(path, Files(find_in_catalogue, reach=Reach.of(path)))
    _checked(tree)
    return tree


def _resolved(path: Path, files: Files) -> Node:
    try:
        written = files.read(path)
        _check_format(written)
        return resolve(written, files=files)
    except RecursionError:
        raise InputError("nested too deeply", file=str(path)) from None


def _key(path: Path) -> str:
    """What decides about the numbers of a catalogue: its text, its name in messages, and how it is read."""
    content = hashlib.sha256(read_bytes(path)).hexdigest()
    return hashlib.sha256(f"catalogue\0{path}\0{content}\0{_reader_version()}".encode()).hexdigest()


@cache
def _reader_version() -> str:
    return source_digest("description/sheets/catalogue")


def _kept(key: str) -> Catalogue | None:
    entry = read_entry(key, "robots")
    if entry is None:
        return None
    try:
        file = CatalogueFile.model_validate(entry[0]["catalogue"])
        return _converted(file, tuple(str(line) for line in entry[0]["warnings"]))
    except (KeyError, TypeError, ValueError):
        return None


def _check_format(tree: Node) -> None:
    stated = tree.value.get("format") if isinstance(tree.value, dict) else None
    if stated is None or not str(stated.value).startswith("servotwin-catalogue/"):
        where = stated or tree
        given = "no format" if stated is None else quoted(stated.value)
        raise where.error(f"{given}: not a catalogue; expected format: {FORMAT}", "format")


def catalogue_from(tree: Node) -> Catalogue:
    """The catalogue of a finished tree (see ``compose.resolve``)."""
    file = _checked(tree)
    return _converted(file, tuple(_contradictions(file, tree)))


def _checked(tree: Node) -> CatalogueFile:
    try:
        return CatalogueFile.model_validate(tree.plain())
    except ValidationError as error:
        raise input_error(error, tree) from None


def _converted(file: CatalogueFile, warnings: tuple[str, ...]) -> Catalogue:
    return Catalogue(
        name=file.name,
        title=file.title,
        generic=file.generic,
        warnings=warnings,
        motors={name: motor_sheet(name, printed) for name, printed in file.motors.items()},
        gears=file.gears,
        screws=file.screws,
        printed=file.motors,
    )


def _contradictions(file: CatalogueFile, tree: Node) -> Iterator[str]:
    """One line for each contradiction within a sheet, with its place."""
    found = [
        *(
            (f"motors.{name}.{at}", text)
            for name, m in file.motors.items()
            for at, text in motor_contradictions(m)
        ),
        *(
            (f"gears.{name}.{at}", text)
            for name, g in file.gears.items()
            for at, text in gear_contradictions(g)
        ),
    ]
    for path, text in found:
        origin = find(tree, [path]).origin
        yield located(text, one_line(origin.file, 200), origin.line, path)
