"""Xacro files: programs that make a URDF. They are run only where the user says so."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from servotwin.description.nodes import one_line
from servotwin.description.regular_file import URDF, XACRO, read_text
from servotwin.errors import InputError

SUFFIX = ".xacro"


def is_xacro(path: str | os.PathLike[str]) -> bool:
    """True for the name of a xacro file."""
    return os.fspath(path).lower().endswith(SUFFIX)


def refusal(path: str | Path, line: int | None = None) -> InputError:
    """The error for a xacro file where a robot file is expected."""
    name = one_line(Path(path).name, 100)
    target = re.sub(r"(\.urdf)?\.xacro$|\.urdf$", "", name, flags=re.IGNORECASE)
    text = (
        f"a xacro file is a program that makes a URDF; expected a URDF. 'servotwin convert {name} {target}.yaml"
        f" --allow-code' runs it and keeps the robot, 'xacro {name} > {target}.urdf' makes the URDF"
    )
    return InputError(text, file=one_line(path, 200), line=line)


def expand(path: str | Path, arguments: Mapping[str, str]) -> str:
    """The URDF text that a xacro file makes; its expressions are Python and are run.

    ``arguments`` are the values of its <xacro:arg> elements. Packages are looked for in the folders above.
    """
    file = one_line(path, 200)
    read_text(path, XACRO)  # a file that is not there, or no text, is said as for every robot file
    try:
        from xacrodoc import XacroDoc
        from xacrodoc.packages import PackageNotFoundError
    except ImportError:
        text = "expanding it needs the package xacrodoc: pip install 'servotwin[urdf]'"
        raise InputError(text, file=file) from None
    try:
        document = XacroDoc.from_file(str(path), subargs=dict(arguments), resolve_packages=False)
        text = str(document.to_urdf_string())
    except PackageNotFoundError as error:
        text = f"{one_line(error, 120)}; expected its folder above the file, with a package.xml"
        raise InputError(text, file=file) from None
    except RecursionError:
        raise InputError(
            "cannot be expanded: a macro or property calls itself without end", file=file
        ) from None
    except Exception as error:  # noqa: BLE001 -- a program can raise anything
        what = re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", str(error))
        raise InputError(f"cannot be expanded: {one_line(what, 200)}", file=file) from None
    if len(text) > URDF.limit:
        message = f"expands to {len(text) // 1_000_000} MB, larger than a URDF file may be; check its macros"
        raise InputError(message, file=file)
    return text
