"""What a substitution run did: signals by name, differences between the substituted and the pure arm, noise spectra."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from servotwin.hil.records import CycleStatus
from servotwin.hil.scenario import SubstitutionScenario
from servotwin.mechanism.model import Array
from servotwin.presentation import Plots, Reports, ShowsItself, Tabulates

if TYPE_CHECKING:
    from servotwin.hil.link.link_report import LinkReport


class Column(NamedTuple):
    """A signal of a joint: its name here, the name in files, units of turning and sliding joints, what it is."""

    name: str
    stored: str  # with {} for the joint
    unit: str
    sliding: str
    meaning: str


COLUMNS: tuple[Column, ...] = (
    Column("time", "time_s", "s", "s", "instant of the row"),
    Column("q", "joint_{}_position", "rad", "m", "joint position"),
    Column("qd", "joint_{}_velocity", "rad/s", "m/s", "joint rate"),
    Column(
        "qdd", "joint_{}_acceleration", "rad/s2", "m/s2", "joint acceleration; as estimated where substituted"
    ),
    Column("shaft_rate", "motor_{}_speed", "rad/s", "", "rate of the shaft; as estimated where substituted"),
    Column("shaft_rate_ref", "motor_{}_speed_ref", "rad/s", "", "commanded rate of the shaft"),
    Column("voltage", "motor_{}_voltage", "V", "", "of the drive motor"),
    Column("drive_torque", "motor_{}_torque", "N m", "", "torque of the drive motor, as modelled"),
    Column("load_torque", "motor_{}_load_torque", "N m", "", "commanded torque of the load motor"),
    Column("effective_inertia", "joint_{}_effective_inertia", "kg m2", "kg", "J_eff of the arm at the joint"),
    Column("bias", "joint_{}_bias", "N m", "N", "b of the arm at the joint"),
    Column("rate_measured", "motor_{}_speed_measured", "rad/s", "", "what the rig showed"),
    Column("rate_true", "motor_{}_speed_true", "rad/s", "", "rate of the twin's shaft"),
    Column(
        "acceleration_true", "motor_{}_acceleration_true", "rad/s2", "", "acceleration of the twin's shaft"
    ),
)
NAMES = tuple(column.name for column in COLUMNS)
MOTION = ("q", "qd", "qdd")


@dataclass(frozen=True)
class SubstitutionRun:
    """One run. ``rows`` (ticks, columns, joints); signals are named such as 'J1_qd'."""

    scenario: SubstitutionScenario
    joint_names: tuple[str, ...]
    rows: Array = field(repr=False)
    status: CycleStatus
    complete: bool
    warnings: tuple[str, ...] = ()

    @property
    def time(self) -> Array:
        """Servo instants [s]."""
        return self.rows[:, 0, 0]

    @property
    def arm_joints(self) -> tuple[str, ...]:
        """Joints of the arm, without those that move its base."""
        return tuple(name for name in self.joint_names if name in self.scenario.description.axes)

    def _kept(self, name: str, signal: str) -> bool:
        """Whether a joint has a signal: one of the base has no motor."""
        if name not in self.arm_joints and signal not in MOTION:
            return False
        return not np.isnan(self.joint(name, signal)).all()

    def joint(self, name: str, signal: str) -> Array:
        """A signal of a joint over the run, SI."""
        return self.rows[:, NAMES.index(signal), self.joint_names.index(name)]

    def unit(self, name: str, signal: str) -> str:
        """Unit of a signal of a joint."""
        column = COLUMNS[NAMES.index(signal)]
        axis = self.scenario.description.axes.get(name)
        slides = axis.prismatic if axis is not None else len(name) == len("base_x")
        return column.sliding or column.unit if slides else column.unit

    def columns(self, before: str = "") -> dict[str, Array]:
        """All signals by the names they have in files, units included, behind ``before``.

        What a joint does not have is left out; single values that are not finite stay.
        """
        found = {f"{before}time_s": self.time}
        for name in self.joint_names:
            for column in COLUMNS[1:]:
                if self._kept(name, column.name):
                    values = self.joint(name, column.name)
                    unit = self.unit(name, column.name).replace("/", "_per_").replace(" ", "_")
                    found[f"{before}{column.stored.format(name)}_{unit}"] = values
        return found

    @property
    def signals(self) -> dict[str, Array]:
        """All signals by name: 'time', then joint by joint; what a joint does not have is left out."""
        found = {"time": self.time}
        for name in self.joint_names:
            for signal in NAMES[1:]:
                if self._kept(name, signal):
                    found[f"{name}_{signal}"] = self.joint(name, signal)
        return found


@dataclass(frozen=True)
class Difference:
    """By how much a joint's rate differs between the substituted and the pure arm [rad/s, m/s]."""

    joint: str
    largest: float
    at: float  # s
    rms: float
    unit: str = "rad/s"


@dataclass(frozen=True)
class SubstitutionResult(Plots, Tabulates, Reports, ShowsItself):
    """A run and, if joints were substituted, the same arm with all of them simulated."""

    run: SubstitutionRun
    pure: SubstitutionRun | None
    link: LinkReport | None = None  # of a run in real time, or against a rig elsewhere

    @property
    def scenario(self) -> SubstitutionScenario:
        """What was run."""
        return self.run.scenario

    @property
    def signals(self) -> dict[str, Array]:
        """Signals of the run by name."""
        return self.run.signals

    @property
    def complete(self) -> bool:
        """Whether it ran to its end; a pure run that failed beside it is a warning."""
        interrupted = (
            self.pure is not None and not self.pure.complete and self.pure.status == CycleStatus.RUNNING
        )
        return self.run.complete and not interrupted

    def beside(self, values: Array) -> Array:
        """A signal of the pure run at the instants of the run, some of which may be missing; NaN behind its end."""
        return np.asarray(np.append(values, np.nan)[np.minimum(self._instants(), len(values))])

    def rate_gap(self, name: str) -> Array:
        """Rate of a joint less that of the pure run, as far as both go [rad/s, m/s]."""
        assert self.pure is not None
        gap = self.run.joint(name, "qd") - self.beside(self.pure.joint(name, "qd"))
        return np.asarray(gap[: np.count_nonzero(self._instants() < len(self.pure.time))])

    def _instants(self) -> Array:
        return np.rint(self.run.time / self.scenario.period).astype(int)

    @property
    def differences(self) -> dict[str, Difference]:
        """Differences of the joint rates by joint; none without a pure run."""
        if self.pure is None:
            return {}
        found = {}
        for name in self.run.arm_joints:
            gap = self.rate_gap(name)
            gap = np.where(np.isfinite(gap), gap, 0.0)  # a run that diverged ends in a row of overflow
            worst = int(np.abs(gap).argmax())
            rms = float(np.sqrt(np.mean(gap**2)))
            found[name] = Difference(
                name, float(abs(gap[worst])), float(self.run.time[worst]), rms, self.run.unit(name, "qd")
            )
        return found

    def columns(self) -> dict[str, Array]:
        """Signals by the names they have in files; those of the pure run 'pure_...', NaN where it ended earlier."""
        found = self.run.columns()
        if self.pure is None:
            return found
        for name, values in self.pure.columns("pure_").items():
            if name != "pure_time_s":
                found[name] = self.beside(values)
        return found

    def summary(self) -> dict[str, Any]:
        """The numbers of the result, ready for JSON."""
        last = {name: float(self.run.joint(name, "qd")[-1]) for name in self.run.arm_joints}
        return {
            "scenario": self.scenario.name,
            "robot": self.scenario.robot,
            "substituted": list(self.scenario.substituted),
            "simulated_s": float(self.run.time[-1]),
            "servo_Hz": self.scenario.file.rates.servo,
            "arm_Hz": self.scenario.file.rates.arm or self.scenario.file.rates.servo,
            "complete": self.complete,
            "warnings": list(self.run.warnings),
            "final_rates": last,
            "differences": {name: vars(gap) for name, gap in self.differences.items()},
        }


def steady_part(run: SubstitutionRun) -> slice:
    """The later half of the longest stretch of a run in which no command changes."""
    refs = np.stack([run.joint(name, "shaft_rate_ref") for name in run.arm_joints], axis=1)
    changes = np.flatnonzero((np.diff(refs, axis=0) != 0.0).any(axis=1)) + 1
    edges = np.concatenate(([0], changes, [len(refs)]))
    longest = int(np.diff(edges).argmax())
    begin, end = int(edges[longest]), int(edges[longest + 1])
    return slice((begin + end) // 2, end)


def spectrum(time: Array, values: Array) -> tuple[Array, Array]:
    """Frequencies [Hz] and amplitude density [unit/sqrt(Hz)] of a signal, its straight line removed, Hann window."""
    count, period = len(time), float(time[1] - time[0])
    line = np.polyval(np.polyfit(time, values, 1), time)
    window = np.hanning(count)
    found = np.fft.rfft((values - line) * window)
    density = np.sqrt(2.0 * period / np.sum(window**2)) * np.abs(found)
    return np.asarray(np.fft.rfftfreq(count, period)), np.asarray(density)
