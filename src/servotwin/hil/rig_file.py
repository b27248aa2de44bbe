"""Rig files: a motor test bed as a person writes it, and the records of its twin.

.. code-block:: yaml

    format: servotwin-rig/1
    name: met-rig
    shafts:
      S1: {inertia: 6.38e-5 kg*m^2, drive: {...}, load: {...}, tachometer: {...}, ...}

A rig file is composed like a robot file: units, expressions, ``extends``, ``include``.
Handbook: docs/motor-substitution.md.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, ValidationError, model_validator

from servotwin.description.compose import MAX_EXTENDS, Files, resolve
from servotwin.description.fields import Bits, Choice, Measure, Part, Whole, Words, problem
from servotwin.description.load import CATALOGUE, PARTS
from servotwin.description.nodes import Node, one_line, quoted
from servotwin.description.problems import input_error
from servotwin.description.reach import Named, Reach, outside
from servotwin.description.regular_file import is_there
from servotwin.description.units import did_you_mean
from servotwin.errors import InputError
from servotwin.hil.ports import MAX_SHAFTS
from servotwin.hil.rig_record import RIG
from servotwin.hil.words import counted

FORMAT = "servotwin-rig/1"
SUFFIXES = (".yaml", ".yml")
STEP_PER_TIME_CONSTANT = 0.1  # a step of the twin, of the quickest of its lags: RK4 errs by 1e-7 of it
LONGEST_STEP = 1e-4  # s

Torque = Annotated[float, Measure("N*m", minimum=0.0)]
Constant = Annotated[float, Measure("N*m/A", above=0.0)]
Share = Annotated[float, Measure("", minimum=0.0, maximum=1.0)]
Count = Annotated[int, Whole(0, 10_000)]
Frequency = Annotated[float | None, Measure("Hz", above=0.0)]
Resistance = Annotated[float, Measure("ohm", minimum=0.0)]
Ampere = Annotated[float | None, Measure("A", above=0.0)]
Volt = Annotated[float | None, Measure("V", above=0.0)]


class DriveMotor(Part):
    """The joint's motor and its voltage-controlled linear amplifier."""

    torque_constant: Constant = Field(description="torque per current, and voltage per rate")
    resistance: Annotated[float, Measure("ohm", above=0.0)] = Field(description="of the armature")
    inductance: Annotated[float, Measure("H", minimum=0.0)] = Field(
        default=0.0, description="of the armature; 0: none"
    )
    ripple: Share = Field(default=0.0, description="torque ripple as a share of the torque")
    ripples: Count = Field(default=0, description="periods of the ripple in a revolution")
    amplifier_resistance: Resistance = Field(default=0.0, description="output resistance of the amplifier")
    bandwidth: Frequency = Field(default=None, description="of the amplifier, first order; default unlimited")
    voltage_limit: Annotated[float, Measure("V", above=0.0)] = Field(description="of the amplifier")
    current_limit: Ampere = Field(default=None, description="of the amplifier; default unlimited")
    bits: Annotated[int, Bits()] = Field(default=0, description="of the command's converter; 0: none")
    range: Volt = Field(default=None, description="full scale of the command's converter; default the limit")


class LoadMotor(Part):
    """The motor that gives the arm's torque, and its current-controlled linear amplifier."""

    torque_constant: Constant = Field(description="torque per current, and voltage per rate")
    ripple: Share = Field(default=0.0, description="torque ripple as a share of the torque")
    ripples: Count = Field(default=0, description="periods of the ripple in a revolution")
    bandwidth: Frequency = Field(default=None, description="of the current, first order; default unlimited")
    current_limit: Annotated[float, Measure("A", above=0.0)] = Field(description="of the amplifier")
    voltage_limit: Volt = Field(default=None, description="of the amplifier; counts with the resistance")
    resistance: Annotated[float | None, Measure("ohm", above=0.0)] = Field(
        default=None, description="of the armature; default not known, and no headroom is computed"
    )
    bits: Annotated[int, Bits()] = Field(default=0, description="of the command's converter; 0: none")
    range: Ampere = Field(
        default=None, description="full scale of the command's converter; default the limit"
    )


class Friction(Part):
    """Friction of the shaft with both motors."""

    viscous: Annotated[float, Measure("N*m*s/rad", angle_optional=True, minimum=0.0)] = Field(
        default=0.0, description="torque per rate"
    )
    coulomb: Torque = Field(default=0.0, description="torque while it slides")
    static: Annotated[float | None, Measure("N*m", minimum=0.0)] = Field(
        default=None, description="torque that lets go; default that of Coulomb"
    )

    @model_validator(mode="after")
    def _static_above(self) -> Friction:
        if self.static is not None and self.static < self.coulomb:
            raise problem(
                f"{self.static:g} N m is less than coulomb; expected at least {self.coulomb:g} N m", "static"
            )
        return self


class Misalignment(Part):
    """What a bent or shifted coupling does to the shaft."""

    once: Torque = Field(default=0.0, description="amplitude once per revolution")
    twice: Torque = Field(default=0.0, description="amplitude twice per revolution")
    at: Annotated[float, Measure("rad")] = Field(default=0.0, description="angle of its maximum")


class Tachometer(Part):
    """The rate sensor, its analog low pass and its converter."""

    gain_error: Annotated[float, Measure("", minimum=-0.5, maximum=0.5)] = Field(
        default=0.0, description="as a share"
    )
    ripple: Share = Field(default=0.0, description="as a share of the rate")
    ripples: Count = Field(default=0, description="periods of the ripple in a revolution")
    noise: Annotated[float, Measure("rad/s", minimum=0.0)] = Field(
        default=0.0, description="RMS within noise_bandwidth, white"
    )
    noise_bandwidth: Annotated[float, Measure("Hz", above=0.0)] = Field(
        default=1000.0, description="of the noise"
    )
    cut_off: Frequency = Field(default=None, description="of its analog second-order filter; default none")
    damping: Annotated[float, Measure("", minimum=0.05, maximum=10.0)] = Field(
        default=math.sqrt(0.5), description="of the filter; 0.7071: Butterworth"
    )
    bits: Annotated[int, Bits()] = Field(default=0, description="of its converter; 0: none")
    range: Annotated[float | None, Measure("rad/s", above=0.0)] = Field(
        default=None, description="full scale of its converter; default unlimited"
    )


class Encoder(Part):
    """An incremental encoder."""

    counts: Annotated[int, Whole(1, 100_000_000)] = Field(description="per revolution, all edges counted")


class CurrentSensor(Part):
    """Sensors of both currents."""

    noise: Annotated[float, Measure("A", minimum=0.0)] = Field(default=0.0, description="RMS of a sample")
    bits: Annotated[int, Bits()] = Field(default=0, description="of their converters; 0: none")
    range: Ampere = Field(default=None, description="full scale of their converters; default unlimited")


class RigShaft(Part):
    """One shaft of a rig with its two motors."""

    inertia: Annotated[float, Measure("kg*m^2", above=0.0)] = Field(
        description="of both rotors and the coupling"
    )
    friction: Friction = Field(default_factory=Friction, description="of the shaft with both motors")
    misalignment: Misalignment = Field(default_factory=Misalignment, description="of the coupling")
    cogging: Torque = Field(default=0.0, description="amplitude, whatever the currents")
    coggings: Count = Field(default=0, description="periods of the cogging in a revolution")
    drive: DriveMotor = Field(description="the joint's motor")
    load: LoadMotor = Field(description="the motor that stands for the arm")
    tachometer: Tachometer | None = Field(default=None, description="rate sensor")
    encoder: Encoder | None = Field(
        default=None, description="angle sensor; gives the rate too without tachometer"
    )
    current_sensor: CurrentSensor = Field(default_factory=CurrentSensor, description="of both currents")
    brake_torque: Torque = Field(default=0.0, description="of the closed brake; 0: the rig has none")
    over_speed: Annotated[float | None, Measure("rad/s", above=0.0)] = Field(
        default=None, description="trips the rig; default never"
    )
    over_current: Ampere = Field(default=None, description="trips the rig; default never")

    @model_validator(mode="after")
    def _sensed(self) -> RigShaft:
        if self.tachometer is None and self.encoder is None:
            raise problem("no sensor; expected a tachometer, an encoder or both")
        return self


class RigFile(Part):
    """A rig file, as written."""

    format: Annotated[str, Choice((FORMAT,))] = Field(description=f"always {FORMAT}")
    name: Annotated[str, Words(r"[a-z0-9-]{1,100}", "a name of a-z, 0-9 and '-'")] = Field(
        description="short name"
    )
    title: Annotated[str, Words()] = Field(default="", description="one line for people")
    references: dict[str, str] = Field(default={}, description="what sources stand for")
    variables: dict[str, str] = Field(default={}, description="named values for expressions")
    sample_delay: Annotated[float, Measure("", minimum=0.0, maximum=0.99)] = Field(
        default=0.0, description="how long before the next command the sensors are sampled, in periods"
    )
    shafts: dict[str, RigShaft] = Field(description="the shafts by name, in order")

    @model_validator(mode="after")
    def _some(self) -> RigFile:
        if not 1 <= len(self.shafts) <= MAX_SHAFTS:
            raise problem(f"{counted(len(self.shafts), 'shaft')}; expected 1 to {MAX_SHAFTS}", "shafts")
        return self


@dataclass(frozen=True)
class Rig:
    """A checked rig, in SI."""

    name: str
    title: str
    path: Path
    shafts: dict[str, RigShaft]
    sample_delay: float = 0.0

    def records(self, seed: int = 1, count: int | None = None) -> Any:
        """An array of RIG at rest, one record for each of the first ``count`` shafts; noise from ``seed``."""
        shafts = list(self.shafts.values())[:count]
        made = np.zeros(len(shafts), dtype=RIG)
        children = np.random.SeedSequence([seed, 0x516]).spawn(MAX_SHAFTS)
        for record, shaft, child in zip(made, shafts, children, strict=False):
            _enter(record, shaft)
            record["sample_delay"] = self.sample_delay
            record["random"] = child.generate_state(1, np.uint64)
        return made


def read_rig(
    name_or_path: str | os.PathLike[str],
    overrides: Mapping[str, str | None] | None = None,
    *,
    allow_outside: bool = False,
) -> Rig:
    """The rig with this catalogue name, or in this .yaml or .yml file; InputError with one clear line otherwise.

    >>> read_rig("met-rig").shafts["S1"].inertia
    6.38e-05
    """
    path = locate(name_or_path)
    with outside(allow_outside):
        reach = Reach.of(name_or_path if isinstance(name_or_path, Named) else path)
    files = Files(find_rig, reach=reach)
    try:
        tree = resolve(files.read(path), overrides, files=files)
    except RecursionError:
        raise InputError("nested too deeply", file=str(path)) from None
    _check_format(tree)
    try:
        read = RigFile.model_validate(tree.plain())
    except ValidationError as error:
        raise input_error(error, tree) from None
    return Rig(read.name, read.title, path, dict(read.shafts), read.sample_delay)


def _check_format(tree: Node) -> None:
    stated = tree.value.get("format") if isinstance(tree.value, dict) else None
    if stated is None or stated.value != FORMAT:
        given = "'format' is missing" if stated is None else f"{quoted(stated.plain())} is not accepted"
        raise (stated or tree).error(f"{given}; expected format: {FORMAT}, a rig file", "format")


def is_rig(path: str | os.PathLike[str]) -> bool:
    """Whether a .yaml file is a rig: by its ``format``, or that of a file that it extends."""
    text, files = os.fspath(path), Files(find_rig)
    for _ in range(MAX_EXTENDS):
        if not is_there(text):
            return False
        fields = files.read(Path(text)).value
        fields = fields if isinstance(fields, dict) else {}
        if "format" in fields:
            return str(fields["format"].value).startswith(FORMAT.partition("/")[0])
        base = fields.get("extends")
        if base is None or not isinstance(base.value, str):
            return False
        name = base.value.strip()
        if name in rig_names():
            return True
        text = str(Path(text).parent / name)
    return False


def rig_names() -> list[str]:
    """The names of the rigs that ship with the package."""
    return sorted(path.stem for path in (CATALOGUE / PARTS).glob("*-rig*.yaml"))


def locate(name_or_path: str | os.PathLike[str]) -> Path:
    """The file of a rig's name or path."""
    text = os.fspath(name_or_path)
    if not text.lower().endswith(SUFFIXES) and os.sep not in text:
        return find_rig(text)
    if not text.lower().endswith(SUFFIXES):
        raise InputError("not a rig file; expected .yaml or .yml", file=one_line(text, 200))
    if not is_there(text):
        raise InputError("no such file; expected a rig file", file=one_line(text, 200))
    return Path(text)


def find_rig(name: str) -> Path:
    """The file of a rig that ships with the package, by its name or file name."""
    names = rig_names()
    stem = name.removesuffix(".yaml")
    if stem in names:
        return CATALOGUE / PARTS / f"{stem}.yaml"
    listed = f"{', '.join(names)}{did_you_mean(stem, names)}"
    raise InputError(f"no rig {quoted(name)}; expected a .yaml file or one of {listed}")


def _enter(record: Any, shaft: RigShaft) -> None:
    """The numbers of a shaft in its record; what is not limited gets an infinite limit."""
    drive, load, friction = shaft.drive, shaft.load, shaft.friction
    record["J"], record["f"], record["tau_c"] = shaft.inertia, friction.viscous, friction.coulomb
    record["tau_s"] = friction.coulomb if friction.static is None else friction.static
    record["brake_torque"] = shaft.brake_torque
    record["misaligned_once"], record["misaligned_twice"] = shaft.misalignment.once, shaft.misalignment.twice
    record["misaligned_at"], record["cogging"], record["coggings"] = (
        shaft.misalignment.at,
        shaft.cogging,
        shaft.coggings,
    )
    record["K_d"], record["ripple_d"], record["ripples_d"] = (
        drive.torque_constant,
        drive.ripple,
        drive.ripples,
    )
    record["R_d"], record["L_d"] = drive.resistance + drive.amplifier_resistance, drive.inductance
    record["u_limit"], record["u_bandwidth"] = drive.voltage_limit, _angular(drive.bandwidth)
    record["i_d_limit"] = drive.current_limit or np.inf
    record["voltage_bits"], record["voltage_range"] = drive.bits, drive.range or drive.voltage_limit
    record["K_l"], record["ripple_l"], record["ripples_l"] = load.torque_constant, load.ripple, load.ripples
    record["i_l_limit"], record["i_l_bandwidth"] = load.current_limit, _angular(load.bandwidth)
    record["R_l"], record["u_l_limit"] = load.resistance or 0.0, load.voltage_limit or 0.0
    record["load_bits"], record["load_range"] = load.bits, load.range or load.current_limit
    record["w_trip"], record["i_trip"] = shaft.over_speed or np.inf, shaft.over_current or np.inf
    _enter_sensors(record, shaft)
    record["longest_step"] = _longest_step(record)


def _enter_sensors(record: Any, shaft: RigShaft) -> None:
    tachometer, current = shaft.tachometer, shaft.current_sensor
    record["gain"], record["rate_range"], record["current_range"] = 1.0, np.inf, current.range or np.inf
    record["current_noise"], record["current_bits"] = current.noise, current.bits if current.range else 0
    if shaft.encoder is not None:
        record["counts_per_rad"] = shaft.encoder.counts / (2.0 * np.pi)
    if tachometer is None:
        return
    record["has_tachometer"], record["gain"] = 1, 1.0 + tachometer.gain_error
    record["tacho_ripple"], record["tacho_ripples"] = tachometer.ripple, tachometer.ripples
    record["noise_density"] = tachometer.noise / math.sqrt(tachometer.noise_bandwidth)
    record["noise_rms"] = tachometer.noise
    record["w_filter"], record["damping"] = _angular(tachometer.cut_off), tachometer.damping
    record["rate_range"] = tachometer.range or np.inf
    record["rate_bits"] = tachometer.bits if tachometer.range else 0


def _angular(frequency: float | None) -> float:
    return 0.0 if frequency is None else 2.0 * math.pi * frequency


def _longest_step(record: Any) -> float:
    """A tenth of the quickest time constant, at most ``LONGEST_STEP`` [s]."""
    R, K, J = record["R_d"], record["K_d"], record["J"]
    lags = [
        record["u_bandwidth"],
        record["i_l_bandwidth"],
        record["w_filter"],
        K * K / (R * J),
        record["f"] / J,
    ]
    if record["L_d"] > 0.0:
        lags += [R / record["L_d"], K / math.sqrt(record["L_d"] * J)]
    return min(LONGEST_STEP, STEP_PER_TIME_CONSTANT / float(max(lags)))
