"""What a substitution run did: signals by name, differences between the substituted and the pure arm, noise spectra."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.hil.records import CycleStatus
from servotwin.hil.scenario import SubstitutionScenario
from servotwin.mechanism.model import Array

if TYPE_CHECKING:
    from servotwin.hil.link.link_run import LinkReport

# rows of a run: name, unit at a turning joint, what it is
COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("time", "s", "time"),
    ("q", "rad", "joint angle"),
    ("qd", "rad/s", "joint rate"),
    ("qdd", "rad/s2", "joint acceleration; as estimated at a substituted joint"),
    ("shaft_rate", "rad/s", "rate of the shaft; as estimated at a substituted joint"),
    ("shaft_rate_ref", "rad/s", "commanded rate of the shaft"),
    ("voltage", "V", "of the drive motor"),
    ("drive_torque", "N*m", "torque of the drive motor, as modelled"),
    ("load_torque", "N*m", "commanded torque of the load motor"),
    ("effective_inertia", "kg*m^2", "J_eff of the arm at the joint"),
    ("bias", "N*m", "b of the arm at the joint"),
    ("rate_measured", "rad/s", "what the rig showed"),
    ("rate_true", "rad/s", "rate of the twin's shaft"),
    ("acceleration_true", "rad/s2", "acceleration of the twin's shaft"),
)
NAMES = tuple(name for name, _, _ in COLUMNS)


@dataclass(frozen=True)
class SubstitutionRun:
    """One run. ``rows`` (ticks, columns, joints); signals are named such as 'J1_qd'."""

    scenario: SubstitutionScenario
    joint_names: tuple[str, ...]
    rows: Array = field(repr=False)
    status: CycleStatus
    complete: bool

    @property
    def time(self) -> Array:
        """Servo instants [s]."""
        return self.rows[:, 0, 0]

    def joint(self, name: str, signal: str) -> Array:
        """A signal of a joint over the run, SI."""
        return self.rows[:, NAMES.index(signal), self.joint_names.index(name)]

    @property
    def signals(self) -> dict[str, Array]:
        """All signals by name: 'time', then joint by joint; what a joint does not have is left out."""
        found = {"time": self.time}
        for name in self.joint_names:
            for signal in NAMES[1:]:
                values = self.joint(name, signal)
                if not np.isnan(values).all():
                    found[f"{name}_{signal}"] = values
        return found


@dataclass(frozen=True)
class Difference:
    """By how much a joint's rate differs between the substituted and the pure arm [rad/s, m/s]."""

    joint: str
    largest: float
    at: float  # s
    rms: float


@dataclass(frozen=True)
class SubstitutionResult:
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
        """Whether it ran to its end."""
        return self.run.complete and (self.pure is None or self.pure.complete)

    @property
    def differences(self) -> dict[str, Difference]:
        """Differences of the joint rates by joint; none without a pure run."""
        if self.pure is None:
            return {}
        found = {}
        count = min(len(self.run.time), len(self.pure.time))
        for name in self.run.joint_names:
            gap = self.run.joint(name, "qd")[:count] - self.pure.joint(name, "qd")[:count]
            worst = int(np.abs(gap).argmax())
            rms = float(np.sqrt(np.mean(gap**2)))
            found[name] = Difference(name, float(abs(gap[worst])), float(self.run.time[worst]), rms)
        return found

    def summary(self) -> dict[str, Any]:
        """The numbers of the result, ready for JSON."""
        last = {name: float(self.run.joint(name, "qd")[-1]) for name in self.run.joint_names}
        return {
            "scenario": self.scenario.name,
            "robot": self.scenario.robot,
            "substituted": list(self.scenario.substituted),
            "duration": float(self.run.time[-1]),
            "complete": self.complete,
            "final_rates": last,
            "differences": {name: vars(gap) for name, gap in self.differences.items()},
            **({} if self.link is None else {"link": {"transport": self.link.transport, **self.link.numbers}}),
        }


def spectrum(time: Array, values: Array) -> tuple[Array, Array]:
    """Frequencies [Hz] and amplitude density [unit/sqrt(Hz)] of a signal, its straight line removed, Hann window."""
    count, period = len(time), float(time[1] - time[0])
    line = np.polyval(np.polyfit(time, values, 1), time)
    window = np.hanning(count)
    found = np.fft.rfft((values - line) * window)
    density = np.sqrt(2.0 * period / np.sum(window**2)) * np.abs(found)
    return np.fft.rfftfreq(count, period), density
