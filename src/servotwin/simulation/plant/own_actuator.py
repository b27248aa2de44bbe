"""Actuators of the user's own in a machine: their code loaded, checked, compiled, and in balance at the start."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import FunctionType
from typing import Any

import numpy as np

from servotwin.compiled import complaints
from servotwin.description.display import US
from servotwin.description.drive_data import DriveData, drives_of
from servotwin.description.nodes import quoted
from servotwin.description.schema import RobotDescription
from servotwin.description.units import did_you_mean
from servotwin.drives.own import EFFORT, OUTPUTS, Actuator, is_own
from servotwin.errors import InputError, ServotwinError
from servotwin.mechanism.model import Array
from servotwin.simulation.plant.event_steps import LONGEST
from servotwin.simulation.plant.own_rate import MOST_RATE
from servotwin.simulation.scenario.actuator_file import (
    actuator_path,
    check_names,
    complaint_about,
    stated_values,
)
from servotwin.simulation.scenario.law_file import announce_code, load_module

RESIDUAL = 1e-9  # of the torque that a balance must give
NOTES = (
    5  # numbers about the first failure: that there was one, angle, speed, command, supply; then the states
)
SENSIBLE = 1e6  # rad/s, beyond which a run has diverged whatever an actuator does
TRIAL = 1e-3  # command, speed and states with which the functions are tried before a run


@dataclass
class OwnActuator:
    """An actuator of a motor, ready to run: what it declares, its parameters (SI), its compiled functions."""

    motor: str
    kind: str
    declared: Actuator
    parameters: Array
    refuse: Callable[[str], InputError] = field(repr=False)
    energy_before: float = 0.0  # stored when the run began [J]

    @property
    def width(self) -> int:
        """Number of its states."""
        return len(self.declared.states)

    @cached_property
    def rates(self) -> Any:
        """``rates`` compiled by numba, with its indices checked: they write into the records of the plant."""
        return self._compiled(self.declared.rates, "rates")

    @cached_property
    def energy(self) -> Any:
        """``energy`` compiled by numba; None if nothing is stored."""
        energy = self.declared.energy
        return None if energy is None else self._compiled(energy, "energy")

    def _compiled(self, function: Callable[..., Any], name: str) -> Any:
        from numba import njit

        plain = getattr(function, "py_func", function)  # what the user has compiled is compiled with checks
        odd = inspect.isgeneratorfunction(plain) or inspect.iscoroutinefunction(plain)
        if odd or not isinstance(plain, FunctionType):
            raise self.refuse(f"its {name} is no plain function; expected one that numba can compile")
        return njit(error_model="numpy", boundscheck=True)(plain)

    @cached_property
    def callback(self) -> Any:
        """The compiled function that the plant calls by its address; where ``rates`` raises, it gives no numbers."""
        from numba import carray, cfunc, types

        rates = self.rates
        width, count, states_count = max(self.width, 1), max(len(self.parameters), 1), self.width
        pointer, real = types.CPointer(types.float64), types.float64

        @cfunc(types.void(*[pointer] * 4, *[real] * 4))  # type: ignore[untyped-decorator,unused-ignore]
        def call(
            x: Any, dx: Any, out: Any, p: Any, theta: float, w: float, command: float, supply: float
        ) -> None:
            states, given, changes = carray(x, (width,)), carray(out, (OUTPUTS,)), carray(dx, (width,))
            for k in range(OUTPUTS):  # what is not filled is zero, not what another actuator left there
                given[k] = 0.0
            for k in range(states_count):
                changes[k] = 0.0
            try:
                rates(states, theta, w, command, supply, carray(p, (count,)), changes, given)
            except Exception:  # noqa: BLE001 - code of the user's may raise anything
                given[EFFORT] = np.nan
            notes = carray(p, (count + NOTES + width,))
            if notes[count] == 0.0 and not math.isfinite(given[EFFORT]) and abs(w) < SENSIBLE:
                notes[count], notes[count + 1], notes[count + 2] = 1.0, theta, w
                notes[count + 3], notes[count + 4] = command, supply
                for k in range(width):
                    notes[count + NOTES + k] = states[k]

        return call

    @cached_property
    def memory(self) -> Array:
        """What the callback reads and writes: the parameters, then the first state in which there was no effort."""
        count = max(len(self.parameters), 1)
        memory = np.zeros(count + NOTES + max(self.width, 1))
        memory[: len(self.parameters)] = self.parameters
        return memory

    def trouble(self) -> str:
        """What was wrong with it in a run, and where; empty if nothing was."""
        notes = self.memory[max(len(self.parameters), 1) :]
        if not notes[0]:
            return ""
        theta, w, command, supply = (float(value) for value in notes[1:NOTES])
        said = "it gives no finite effort"
        try:
            self.evaluate(notes[NOTES : NOTES + self.width].copy(), theta, w, command, supply)
        except Exception as error:  # noqa: BLE001 - code of the user's may raise anything
            said = f"it raises{complaints.complaint(error)}"
        return f"{said}, at theta {theta:.6g}, w {w:.6g}, command {command:.6g}, supply {supply:.6g}"

    def evaluate(
        self, x: Array, theta: float, w: float, command: float, supply: float, unfilled: float = 0.0
    ) -> tuple[Array, Array]:
        """Rates of the states, and effort, power and loss; rates and effort that are not filled are ``unfilled``."""
        dx, out = np.full(self.width, unfilled), np.zeros(OUTPUTS)
        out[EFFORT] = unfilled
        returned = self.rates(x, theta, w, command, supply, self.parameters, dx, out)
        if returned is not None:
            raise self.refuse("its rates return a value; expected that they fill dx and out")
        return dx, out

    def stored_energy(self, x: Array) -> float:
        """Energy that it holds [J]."""
        if self.energy is None:
            return 0.0
        try:
            return float(self.energy(x, self.parameters))
        except Exception as error:
            raise self.refuse(f"its energy cannot be computed{complaints.complaint(error)}") from error

    def check(self) -> None:
        """Refuse functions that numba cannot compile, that reach beyond their arrays, or that give no numbers."""
        x = np.full(self.width, TRIAL)
        try:
            dx, out = self.evaluate(x, TRIAL, TRIAL, TRIAL, TRIAL)
            energy = self.stored_energy(x)
        except ServotwinError:
            raise
        except IndexError as error:
            sizes = f"x and dx have {self.width}, p has {len(self.parameters)}, out has {OUTPUTS}"
            raise self.refuse(f"an index is out of bounds; expected those declared: {sizes}") from error
        except Exception as error:
            raise self.refuse(f"it cannot be computed{complaints.complaint(error)}") from error
        if (x != TRIAL).any():
            raise self.refuse("it changes its states x; expected that it fills their rates dx, and out")
        if not (np.isfinite(dx).all() and np.isfinite(out).all() and np.isfinite(energy)):
            raise self.refuse(
                "it gives no finite numbers for small ones; expected rates, effort, power and loss"
            )
        dx, out = self.evaluate(x, TRIAL, TRIAL, TRIAL, TRIAL, math.nan)
        missing = ["out[EFFORT]"] if math.isnan(out[EFFORT]) else []
        missing += [
            f"dx[{k}], the rate of {quoted(name)}"
            for k, name in enumerate(self.declared.states)
            if math.isnan(dx[k])
        ]
        if missing:
            raise self.refuse(f"its rates do not fill {missing[0]}; expected a number at every call")

    def balance(
        self, tau: float, theta: float, w: float, supply: float, constant: float
    ) -> tuple[float, Array]:
        """Command [A] and states with which it holds an effort; nothing moves in it then."""
        from scipy.optimize import root

        def residual(unknown: Array) -> Array:
            dx, out = self.evaluate(unknown[1:], theta, w, float(unknown[0]), supply)
            return np.concatenate([[out[EFFORT] - tau], dx])

        found = root(residual, np.concatenate([[tau / constant], np.zeros(self.width)]), tol=1e-12)
        missed = np.abs(found.fun).max()
        good = found.success and np.isfinite(missed)
        if not (good or missed <= RESIDUAL * max(abs(tau), 1.0)):
            raise self.refuse(f"no command holds {tau:.4g} N m in balance at the start")
        return float(found.x[0]), np.asarray(found.x[1:])


def own_actuators(description: RobotDescription, *, allow_code: bool) -> dict[int, OwnActuator]:
    """The actuators that a description names by their files, by the number of the motor; loading them runs code."""
    found = {}
    for j, drive in enumerate(drives_of(description)):
        if is_own(drive.kind):
            found[j] = _load(description, drive, allow_code=allow_code)
    return found


def _load(description: RobotDescription, drive: DriveData, *, allow_code: bool) -> OwnActuator:
    complaint = complaint_about(description, drive)
    path, name = actuator_path(description, drive), str(drive.kind).rpartition(":")[2]
    if not allow_code:
        remedy = "if you trust it, allow it by --allow-code (Python: allow_code=True)"
        raise complaint(f"it is Python code, which is not run; {remedy}")
    announce_code("actuator", path, name)
    module = load_module(path, "actuator")
    declared = getattr(module, name, None)
    if not isinstance(declared, Actuator):
        names = [known for known, value in vars(module).items() if isinstance(value, Actuator)]
        raise complaint(f"{path.name} has no Actuator {quoted(name)}{did_you_mean(name, names)}")
    check_names("states", declared.states, complaint)
    check_names("parameters", declared.parameters, complaint)
    values = np.array(stated_values(description, drive, declared.parameters), dtype=np.float64)
    actuator = OwnActuator(drive.name, str(drive.kind), declared, values, complaint)
    actuator.check()
    return actuator


def attach_own(motors: Any, own: dict[int, OwnActuator]) -> list[Any]:
    """Enter widths and addresses in the records of the motors; what must be kept while they are used."""
    kept: list[Any] = []
    for j, actuator in own.items():
        motors[j]["width"] = actuator.width
        motors[j]["own_rates"] = actuator.callback.address
        motors[j]["own_parameters"] = actuator.memory.ctypes.data
        kept += [actuator.callback, actuator.memory]
    return kept


def own_warnings(description: RobotDescription, method: str) -> list[str]:
    """How actuators of the user's without an exact window are carried under the fast method, a line for each."""
    return _carried(description, method, own=True)


def carried_notes(description: RobotDescription, method: str) -> list[str]:
    """The same of the package's own kinds, of which nobody expects more: worth a note."""
    return _carried(description, method, own=False)


def _carried(description: RobotDescription, method: str, *, own: bool) -> list[str]:
    if method != "fast":
        return []
    return [
        f"motor {drive.name}: {quoted(str(drive.kind))} has no exact window; Runge-Kutta carries it, the others keep "
        "theirs"
        for drive in drives_of(description)
        if not drive.actuator.exact and is_own(drive.kind) == own
    ]


def quick_actuators(own: Mapping[int, OwnActuator], rates: Array, period: float, method: str) -> list[str]:
    """Actuators with states that change more quickly than steps can follow, a line for each.

    ``rates``: largest rate of every motor in the run [1/s] (eq:own-rate); ``period`` of the currents [s].
    """
    remedy = "a slower actuator" if method == "adaptive" else "solver.method adaptive, or a slower actuator"
    return [
        f"motor {actuator.motor}: the states of its actuator {quoted(actuator.kind)} change within "
        f"{US / rates[j]:.3g} us (rate {rates[j]:.3g} 1/s), too quickly for {MOST_RATE / LONGEST:.0f} steps in a "
        f"current period of {US * period:.4g} us; take {remedy} (a jump in its rates looks the same)"
        for j, actuator in own.items()
        if rates[j] * period > MOST_RATE
    ]


def troubles(own: Iterable[OwnActuator]) -> list[str]:
    """Actuators of the user's that gave no numbers in a run, a line for each."""
    said = [(actuator.motor, actuator.trouble()) for actuator in own]
    return [f"the actuator of motor {motor}: {text}" for motor, text in said if text]
