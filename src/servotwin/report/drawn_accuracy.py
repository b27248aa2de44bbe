"""``st.iso9283``: a prediction after ISO 9283 that draws itself and writes its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from servotwin.description.schema import RobotDescription
from servotwin.design.accuracy.other_tests import Settings
from servotwin.design.accuracy.predict import TESTS, Accuracy, Question, Show, predict
from servotwin.design.studies.workers import Workers
from servotwin.presentation import ShowsItself, Tabulates
from servotwin.robot.described import Given, source_of

if TYPE_CHECKING:
    import plotly.graph_objects as go


class DrawnAccuracy(Accuracy, Tabulates, ShowsItself):
    """A prediction with its pictures and files."""

    def plot(self, what: str | None = None) -> go.Figure:
        """A picture as a plotly figure: 'poses', 'clouds', 'path', 'drift', 'tornado' or 'tolerances'.

        By default the budget's tornado where there is a budget, the poses otherwise.
        """
        from servotwin.report.accuracy_figures import figure_of

        return figure_of(self, what)

    def report(self, folder: str | Path, *, overwrite: bool = False) -> dict[str, str]:
        """Write page, JSON and CSV to a folder; where they are."""
        from servotwin.report.accuracy_page import write_accuracy

        return write_accuracy(self, folder, overwrite=overwrite)


def iso9283(
    robot: Given,
    *,
    payload: float | None = None,
    speeds: Sequence[float] = (1.0,),
    cycles: int = 30,
    tests: str | Sequence[str] = ("pose",),
    cube: Sequence[float] | None = None,
    poses: str | Path | None = None,
    random: int | None = None,
    off: Sequence[str] = (),
    trial: int = 1,
    seed: int = 1,
    budget: int = 0,
    budget_cycles: int = 10,
    monte_carlo: int = 0,
    pwm: str = "switched",
    settings: Settings | None = None,
    overrides: Mapping[str, str] | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    tls: tuple[str, str, str] | None = None,
    progress: Show | None = None,
) -> DrawnAccuracy:
    """What a robot would attain in the tests of ISO 9283, on the drive-level simulator, with its error sources.

    ``payload`` [kg], default the largest of the file; ``speeds``: parts of the limits; ``tests``: 'all', or some of
    pose, directions, drift, path, corner, posing-time, compliance. Poses are P1 to P5 of the largest ``cube`` in reach,
    or of the given one (x, y, z of its centre and its edge [m]), ``random`` ones within it, or those of a CSV file
    ``poses``. ``off``: error sources that do not act; ``trial``: which robot of the series, 0 for the geometry of the
    file. ``budget``: pairs of orders of the error budget, ``budget_cycles`` cycles each; ``monte_carlo``: robots that
    are drawn from the tolerances. ``pwm``: 'switched', or 'averaged' for its mean voltage, which is quicker.
    ``settings``: what the standard leaves open. ``workers``: processes, default one for
    each core; ``cluster``: address of a Dask scheduler instead, with ``tls`` (authority, certificate, key) files. The
    numbers do not depend on either. ``progress`` is told a word and the part that is done.

    >>> import servotwin as st
    >>> found = st.iso9283("gsis-scara", payload=4.0, cycles=2, workers=1)
    >>> bool(found.pose[0].repeatability.max() < 50e-6)
    True
    """
    ca, certificate, key = tls or (None, None, None)
    listed = (tests,) if isinstance(tests, str) else tuple(tests)
    question = Question(
        payload=payload, speeds=tuple(speeds), cycles=cycles, tests=TESTS if listed == ("all",) else listed,
        cube=None if cube is None else tuple(float(v) for v in cube), poses=poses, random=random, off=tuple(off),
        trial=trial, seed=seed, budget=budget, budget_cycles=budget_cycles, monte_carlo=monte_carlo,
        pwm=pwm, settings=settings or Settings(),
    )  # fmt: skip
    where = Workers(workers, cluster, ca, certificate, key)
    source = robot if isinstance(robot, RobotDescription) else source_of(robot)
    found = predict(source, question, overrides, where, progress)
    return DrawnAccuracy(**{item.name: getattr(found, item.name) for item in fields(found)})
