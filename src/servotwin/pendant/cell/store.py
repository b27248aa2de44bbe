"""Jobs and points of a cell, in one folder; names come from the server, which has checked them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from servotwin.errors import InputError
from servotwin.jobs.check import sliding_of
from servotwin.jobs.player import Player, TaughtPoints
from servotwin.jobs.points import Points
from servotwin.jobs.points_file import points_path, read_points, robot_reference
from servotwin.jobs.program import Program, load_program
from servotwin.pendant.cell.folder import inside
from servotwin.simulation.live_robot import LiveRobot

if TYPE_CHECKING:
    from servotwin.pendant.cell.panel import Panel

FIRST_JOB = "pendant.job"  # whose points are taught before a job is loaded


class CellFiles:
    """The points that are taught, and players of jobs; ``version`` counts what has changed."""

    panel: Panel | None = None

    def __init__(self, folder: Path) -> None:
        self.folder, self.version = folder, 0
        self.live: LiveRobot | None = None
        self._store: TaughtPoints | None = None
        self._source = ""
        self._programs: list[Program] = []  # the job that was loaded last, and those that it calls

    def attach(self, live: LiveRobot, source: str) -> None:
        """Teach points of this robot, beside the first job until another one is loaded."""
        self.live, self._source = live, source
        self._teach(inside(self.folder, FIRST_JOB))

    def _teach(self, job: Path) -> None:
        """The points beside a job are those that are taught from now on."""
        assert self.live is not None
        robot, path = self.live.robot, points_path(job)
        points = read_points(path) if path.is_file() else Points(file=str(path))
        if not points.robot:
            points = replace(points, robot=robot_reference(_beside(self._source, path), str(path)))
        store = _Counted(points, robot.joint_names, sliding_of(robot.joint_units), path)
        store.changed = self._changed
        self._store = self.live.controller.points = store
        self._changed()

    def _changed(self) -> None:
        self.version += 1
        if self.panel is not None and self._store is not None:
            called = [program.points for program in self._programs]
            self.panel.with_tools(np.concatenate([_tool_points(p) for p in (self._store.points, *called)]))

    def reload(self) -> None:
        """Read the points again: the server has written them."""
        store = self._store
        if store is not None and store.path is not None and Path(store.path).is_file():
            found = read_points(store.path)
            store.points = found if found.robot else replace(found, robot=store.points.robot)
            self._changed()

    def player(self, name: str) -> Player:
        """A job of the folder, checked and ready to be played back; its points are those that are taught."""
        live = self.live
        assert live is not None
        path = inside(self.folder, name)
        program = load_program(path)
        robot = live.robot
        for problem in program.check(robot.joint_names, None, sliding_of(robot.joint_units)):
            if problem.error:
                raise InputError(f"line {problem.line}: {problem.message}", file=name)
        self._programs = program.all
        self._teach(path)
        return Player(program, robot, live.limits, period=live.period_ns * 1e-9)


def _beside(robot: str, points: Path) -> str:
    """A robot file in the folder of the points or in the one around it by its way from here, so that both can move."""
    file = Path(robot)
    near = file.is_absolute() and file.parent in points.absolute().parents[:2]
    return os.path.relpath(file) if near else robot


class _Counted(TaughtPoints):
    """Points that tell when they have changed."""

    changed: Callable[[], None] | None = None

    def _keep(self, points: Points, job: tuple[Path, str] | None = None) -> None:
        super()._keep(points, job)
        if self.changed is not None:
            self.changed()


def _tool_points(points: Points) -> np.ndarray:
    """Tips (k, 3) of the tools of a points file, in the robot's tool frame [m]."""
    return np.array([points.tool_matrix(name)[:3, 3] for name in points.tools]).reshape(-1, 3)
