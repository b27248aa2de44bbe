"""Errors travel between processes: an error of a Dask worker arrives with its text, its fields and its exit code."""

from __future__ import annotations

import ast
import copy
import importlib
import pickle
from pathlib import Path

import pytest

import servotwin
from servotwin.cli.signals import EndedAtOnce
from servotwin.compiled.dependencies import NotFollowedError
from servotwin.design.sizing.nearest import NoChoiceError, NoTimeError
from servotwin.dynamics.forward import NoInertiaError
from servotwin.dynamics.ik.numeric import OutsideRangesError
from servotwin.errors import (
    InputError,
    KinematicsError,
    MissingExtraError,
    RobotWarning,
    ServotwinError,
    ShapeError,
    SimulationError,
    UnreachableError,
    UnsupportedError,
)
from servotwin.fieldbus.coe.abort import AbortCode, SdoAbortError
from servotwin.fieldbus.coe.mailbox import MailboxError, MailboxFault
from servotwin.fieldbus.ethercat.frames import FrameError
from servotwin.fieldbus.ethercat.master.port import BusError
from servotwin.fieldbus.ethercat.master.sdo import SdoRefusedError
from servotwin.jobs.amounts import Place
from servotwin.jobs.points_yaml import NotEditable
from servotwin.jobs.problems import JobError
from servotwin.motion.errors import PathError
from servotwin.simulation.job_run import JobFailedError
from servotwin.simulation.plant.own_law import LawError
from servotwin.simulation.preflight.budget import BudgetError
from servotwin.simulation.results.parquet import OtherParquetError


class _Run:
    """Stands for the run of a job that failed."""

    result = "up to there"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Run)

    __hash__ = None  # type: ignore[assignment]


EXAMPLES: list[BaseException] = [
    ServotwinError("text"),
    InputError("8 is odd", file="a.yaml", line=3, field="gear.ratio"),
    SimulationError("diverged at 0.3 s", partial={"t": 0.3}),
    RobotWarning("text"),
    ShapeError("shape (3,)"),
    UnreachableError("text"),
    KinematicsError("text"),
    UnsupportedError("text"),
    MissingExtraError("SymPy objects", "sympy", "sympy"),
    JobError("no such point", file="a.job", place=Place(4, 7)),
    NotEditable("text"),
    NoChoiceError("A1", None, None),
    NoTimeError(3.0),
    OutsideRangesError("text"),
    NoInertiaError(2),
    EndedAtOnce(),
    PathError("too fast", index=2, what="speed", place=0.4, place_m=0.123, axis="A1"),
    PathError("too fast", index=0, what="time"),
    BudgetError("text"),
    LawError("text"),
    OtherParquetError("text"),
    JobFailedError("text", _Run()),  # type: ignore[arg-type]
    NotFollowedError("text"),
    SdoRefusedError(0x1001, 0x6040, 1, 0x06090011),
    BusError("text", slave=3),
    FrameError("text"),
    MailboxError(MailboxFault.TOO_SHORT, "text"),
    SdoAbortError(AbortCode.NO_OBJECT, 0x6040, 2),
]


def _classes() -> set[type[BaseException]]:
    """All classes of exceptions of the package, by reading its source."""
    root = Path(servotwin.__file__).parent
    found = set()
    for file in sorted(root.rglob("*.py")):
        nodes = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ClassDef)]
        ends = ("Error", "Exception", "Warning")
        names = [node.name for node in nodes if any(ast.unparse(base).endswith(ends) for base in node.bases)]
        if names:
            parts = file.relative_to(root.parent).with_suffix("").parts
            module = importlib.import_module(".".join(parts))
            found |= {getattr(module, name) for name in names if hasattr(module, name)}
    return {kind for kind in found if issubclass(kind, BaseException)}


def test_every_exception_of_the_package_has_an_example_here() -> None:
    assert {type(example) for example in EXAMPLES} >= _classes()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: type(example).__name__)
@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_exception_keeps_text_and_fields_on_its_way_through_pickle(
    example: BaseException, protocol: int
) -> None:
    for again in (pickle.loads(pickle.dumps(example, protocol)), copy.copy(example)):
        assert type(again) is type(example)
        assert str(again) == str(example)
        assert again.args == example.args
        assert vars(again) == vars(example)
