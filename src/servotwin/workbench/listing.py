"""``st.list_robots``, ``st.list_scenarios``, ``st.list_jobs``: what ships with the package."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from servotwin.presentation import ShowsItself, Tabulates

if TYPE_CHECKING:
    from servotwin.jobs.program import Program


@dataclass(frozen=True)
class Listing(Tabulates, ShowsItself):
    """Entries in their order, each with the same keys; ``entry["name"]`` is what other functions take."""

    title: str
    entries: tuple[dict[str, Any], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names alone."""
        return tuple(entry["name"] for entry in self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.entries)

    def __getitem__(self, i: int) -> dict[str, Any]:
        return self.entries[i]

    def rows(self) -> list[dict[str, Any]]:
        """The entries, lists as words."""
        return [
            {key: ", ".join(value) if isinstance(value, list) else value for key, value in entry.items()}
            for entry in self.entries
        ]


def list_robots() -> Listing:
    """The robots of the catalogue: name, number of coordinates, joints, title.

    >>> import servotwin as st
    >>> "gsis-scara" in st.list_robots().names
    True
    """
    from servotwin.description.load import catalogue_names
    from servotwin.robot.load import load_checked

    loaded = [load_checked(name, {}) for name in catalogue_names()]
    entries = [
        {"name": m.name, "dof": m.n_q, "joints": list(m.joint_names), "title": title}
        for m, title, _ in loaded
    ]
    return Listing("Robots of the catalogue", tuple(entries))


def list_scenarios() -> Listing:
    """The scenarios that ship with the package: name, robot, title; ``st.simulate`` and ``st.substitute`` run them."""
    from servotwin.hil.scenario import read_substitution, substitution_names
    from servotwin.simulation.scenario.scenario import read_scenario, scenario_names

    ordinary = [(name, read_scenario(name)) for name in scenario_names()]
    found = [(name, s.robot, s.title) for name, s in ordinary]
    substitutions = [(name, read_substitution(name)) for name in substitution_names()]
    found += [(name, s.robot, s.file.title) for name, s in substitutions]
    entries = [{"name": name, "robot": robot, "title": title} for name, robot, title in found]
    return Listing("Scenarios", tuple(entries))


def list_jobs() -> Listing:
    """The jobs that ship with the package: name, robot, what they are about; ``st.run_job`` runs them."""
    from servotwin.jobs.program import job_names, load_program

    found = [(name, load_program(name)) for name in job_names()]
    entries = [{"name": name, "robot": p.robot, "about": _first_comment(p)} for name, p in found]
    return Listing("Jobs", tuple(entries))


def _first_comment(program: Program) -> str:
    return next((statement.comment for statement in program.job.body if statement.comment), "")
