"""The URDF files of the example-robot-data package."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

PACKAGE = "example-robot-data"


def robots_folder() -> Path:
    """The folder with all robots; PackageNotFoundError if the package is not installed."""
    return Path(str(metadata.distribution(PACKAGE).locate_file(f"cmeel.prefix/share/{PACKAGE}/robots")))


def urdf_paths() -> list[Path]:
    """Every URDF file of the package; empty if it is not installed."""
    try:
        return sorted(robots_folder().rglob("*.urdf"))
    except metadata.PackageNotFoundError:
        return []


def urdf_path(name: str) -> Path:
    """The file ``<name>.urdf``, wherever it lies in the package."""
    found = [path for path in urdf_paths() if path.stem == name]
    if not found:
        raise FileNotFoundError(f"{PACKAGE} has no {name}.urdf")
    return found[0]
