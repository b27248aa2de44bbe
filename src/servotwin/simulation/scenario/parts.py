"""The parts of a scenario file: moves, solver, record, faults (SI)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, get_args

from pydantic import Field, ValidationInfo, field_validator, model_validator

from servotwin.control.servo.user_laws import LEVELS
from servotwin.description.fields import (
    FARTHEST,
    LARGEST,
    Choice,
    Flag,
    Measure,
    Part,
    Period,
    Whole,
    Words,
    problem,
    read_at,
)
from servotwin.description.nodes import quoted
from servotwin.description.units import parse_quantity
from servotwin.motion.point_moves import RAMP
from servotwin.motion.ramps import ProfileKind
from servotwin.simulation.scenario.environment_parts import Environment
from servotwin.simulation.scenario.known_names import known

FORMAT = "servotwin-scenario/1"
MAX_REPEAT = 10_000
POSITION = Measure("rad", linear="m", minimum=-FARTHEST, maximum=FARTHEST)
SPEED = Measure("rad/s", linear="m/s", above=0.0)
ACCELERATION = Measure("rad/s2", linear="m/s2", above=0.0)
SEED = Whole(0, 2**32 - 1)
RATE = Measure("rad/s", linear="m/s")  # of either sign
SHARE = Measure("", above=0.0, maximum=1.0)

# What `value` of a fault means: the unit it is measured in; None where it has none.
FAULTS: dict[str, str | None] = {
    "encoder-stuck": None,
    "encoder-loses-pulses": "",
    "winding-open": None,
    "brake-closes": None,
    "current-sensor-offset": "A",
    "supply-voltage": "V",
    "power-off": None,
    "supply-pressure": "Pa",
    "pump-stops": None,
    "spool-stuck": None,
    "oil-leak": "m^3/(s*Pa)",
}
EXAMPLE_VALUES = {
    "": "'20' (counts)", "A": "'0.5 A'", "V": "'60 V'", "Pa": "'40 bar'", "m^3/(s*Pa)": "'5e-12 m^3/(s*Pa)'",
}  # fmt: skip
NOT_NEGATIVE = ("supply-voltage", "supply-pressure", "oil-leak")
OF_VALVES = ("spool-stuck", "oil-leak")
MOST_COUNTS = 1e12  # that an encoder loses at once: they are counted in 64 bits
OF_THE_SUPPLY = ("supply-voltage", "power-off", "supply-pressure", "pump-stops")


def read_positions(raw: object, info: ValidationInfo) -> object:
    """Joint positions by name; the validation context says which joints slide."""
    return read_joints(raw, POSITION, info)


def read_joints(raw: object, measure: Measure, info: ValidationInfo) -> object:
    """A quantity of joints by name."""
    sliding: dict[str, bool] = (info.context or {}).get("prismatic", {})
    if not isinstance(raw, dict):
        return raw
    read = {}
    for name, value in raw.items():
        known(name, list(sliding), "an axis", name)
        read[name] = read_at(name, measure, value, sliding[name])
    return read


def read_rate(raw: object, kind: Measure, what: str, moving: list[str], info: ValidationInfo) -> object:
    """A share (0 to 1], or a ``kind`` of rate of the ``moving`` axes [SI]: one for all, or each its own."""
    sliding: dict[str, bool] = (info.context or {}).get("prismatic", {})
    if isinstance(raw, dict):
        for name in raw:
            known(name, moving, "an axis of this move", name)
        for name in moving:
            if name not in raw:
                raise problem(f"the {what} of axis {quoted(name)} is missing; expected all axes of this move")
        return {name: read_at(name, kind, value, sliding[name]) for name, value in raw.items()}
    if not isinstance(raw, str) or not is_rate(raw, kind):
        return SHARE.read(raw)
    if len({sliding[name] for name in moving}) > 1:
        per = kind.unit.removeprefix("rad")
        raise problem(
            f"{quoted(raw)}: some axes turn and some slide; expected {what}s by axis, {{A: 90 deg{per}, ...}}"
        )
    return {name: kind.read_for(raw, sliding[name]) for name in moving}


def is_rate(text: str, kind: Measure = SPEED) -> bool:
    """Whether a text is an angle or a length per time, or per squared time for an acceleration.

    >>> is_rate("90 deg/s"), is_rate("50 %"), is_rate("2 m/s2", ACCELERATION)
    (True, False, True)
    """
    for unit in (kind.unit, kind.linear):
        try:
            parse_quantity(text, unit or "")
        except ValueError:
            continue
        return True
    return False


class Move(Part):
    """A move of some axes; the others stay."""

    to: dict[str, float] = Field(description="joint positions by axis")
    speed: float | dict[str, float] = Field(
        default=1.0, description="share of each axis' largest speed, or a speed, for all axes or by axis"
    )
    profile: Annotated[ProfileKind, Choice(get_args(ProfileKind))] = Field(
        default="cubic-ramp", description="how the speed rises and falls"
    )
    acceleration: float | dict[str, float] = Field(
        default=1.0, description="share of each axis' largest acceleration, or an acceleration, as speed"
    )
    ramp: Annotated[float | None, Measure("s", above=0.0, maximum=1e3)] = Field(
        default=None,
        description="time to reach the speed; longer where a limit demands it; default 0.25 s for cubic-ramp",
    )
    dwell: Annotated[float, Measure("s", minimum=0.0, maximum=1e5)] = Field(
        default=0.0, description="rest after the move"
    )
    together: Annotated[bool, Flag()] = Field(
        default=True, description="whether the axes end together, the quicker ones slowed down"
    )

    @model_validator(mode="before")
    @classmethod
    def _usual_ramp(cls, raw: object) -> object:
        """The profiles other than the cubic ramp have no ramp time unless one is stated."""
        if isinstance(raw, dict) and "ramp" not in raw and raw.get("profile", "cubic-ramp") == "cubic-ramp":
            return {**raw, "ramp": RAMP}
        return raw

    @field_validator("to", mode="before")
    @classmethod
    def _read_to(cls, raw: object, info: ValidationInfo) -> object:
        return read_positions(raw, info)

    @field_validator("speed", mode="before")
    @classmethod
    def _read_speed(cls, raw: object, info: ValidationInfo) -> object:
        return read_rate(raw, SPEED, "speed", list(info.data.get("to", {})), info)

    @field_validator("acceleration", mode="before")
    @classmethod
    def _read_acceleration(cls, raw: object, info: ValidationInfo) -> object:
        return read_rate(raw, ACCELERATION, "acceleration", list(info.data.get("to", {})), info)


METHODS = ("fast", "rk4", "modified-euler", "adaptive")
PWM = ("switched", "averaged")


class Solver(Part):
    """How the equations are integrated."""

    method: Annotated[str, Choice(METHODS)] = Field(default="fast", description="integration method")
    pwm: Annotated[str, Choice(PWM)] = Field(
        default="switched", description="whether every pulse is simulated, or its mean voltage"
    )
    tolerance: Annotated[float, Measure("", minimum=1e-15, maximum=0.1)] = Field(
        default=1e-8, description="relative tolerance of the adaptive method"
    )
    steps: Annotated[int, Whole(1, 10_000)] = Field(
        default=1, description="steps between two switchings, for the methods of fixed step"
    )


class Zoom(Part):
    """A short time that is recorded in every detail."""

    at: Annotated[float, Measure("s", minimum=0.0)] = Field(description="when it begins")
    span: Annotated[float, Measure("s", above=0.0, maximum=10.0)] = Field(
        default=1e-3, description="how long it lasts"
    )


class Record(Part):
    """What is kept of a run."""

    every: Annotated[float, Measure("s", above=0.0, maximum=1e3)] = Field(
        default=1e-3, description="time between two samples of the signals"
    )
    zoom: Zoom | None = Field(default=None, description="a short time in every detail")
    signals: tuple[Annotated[str, Words()], ...] = Field(
        default=(), description="patterns of the signals to store, such as 'motor_A_*'; default all"
    )


class Fault(Part):
    """Something that breaks at an instant and stays broken."""

    at: Annotated[float, Measure("s", minimum=0.0)] = Field(description="when it happens")
    axis: Annotated[str | None, Words()] = Field(
        default=None, description="motor that it happens to; none for a fault of the supply"
    )
    kind: Annotated[str, Choice(tuple(FAULTS))] = Field(description="what happens")
    value: float | None = Field(
        default=None,
        description="counts lost, offset (A), new voltage (V) or pressure (Pa), leak, for the kinds that have one",
    )

    @field_validator("value", mode="before")
    @classmethod
    def _read_value(cls, raw: object, info: ValidationInfo) -> Any:
        kind = info.data.get("kind")
        if raw is None or kind is None:
            return None
        unit = FAULTS[kind]
        if unit is None:
            raise problem(f"{quoted(raw)}: a fault of kind {kind} has no value; remove it")
        most = MOST_COUNTS if kind == "encoder-loses-pulses" else LARGEST
        number = Measure(unit, minimum=0.0 if kind in NOT_NEGATIVE else -most, maximum=most).read(raw)
        if kind == "encoder-loses-pulses" and (number != round(number) or number == 0):
            raise problem(f"{quoted(raw)} is not a number of counts; expected one, such as '20'")
        return number

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Fault:
        context = info.context or {}
        if FAULTS[self.kind] is not None and self.value is None:
            unit = EXAMPLE_VALUES[FAULTS[self.kind] or ""]
            raise problem(f"'value' is missing; expected one for kind {self.kind}, such as {unit}")
        if self.kind in OF_THE_SUPPLY:
            if self.axis is not None:
                raise problem(f"a fault of kind {self.kind} concerns all motors; remove the axis", "axis")
            self._of_the_oil(context)
            return self
        motors = context.get("motors", [])
        if self.axis is None:
            raise problem(f"'axis' is missing; expected one of {', '.join(motors[:12])}")
        known(self.axis, motors, "a motor", "axis")
        if self.kind in OF_VALVES and self.axis not in context.get("valves", ()):
            raise problem(f"motor {quoted(self.axis)} has no servovalve; expected a hydraulic axis", "axis")
        owner, braked = context.get("brakes", {}).get(self.axis, (self.axis, False))
        if self.kind == "brake-closes" and not braked:
            text = f"motor {quoted(self.axis)} has no brake; expected axes.{owner}.brake in the robot file"
            raise problem(text, "axis")
        if self.kind == "current-sensor-offset" and self.axis in context.get("unsensed", ()):
            text = f"the drive of motor {quoted(self.axis)} has no current sensor that a loop here reads"
            raise problem(f"{text}; expected a motor that a bridge feeds", "axis")
        return self

    def _of_the_oil(self, context: Mapping[str, Any]) -> None:
        """Whether the robot has the supply that the fault is about."""
        if self.kind not in ("supply-pressure", "pump-stops"):
            return
        if not context.get("valves"):
            raise problem(f"{self.kind}: the robot has no hydraulic axis", "kind")
        if self.kind == "pump-stops" and not context.get("pump"):
            raise problem("pump-stops: the supply has a constant pressure; expected supply-pressure", "kind")
        if self.kind == "supply-pressure" and context.get("pump"):
            raise problem("supply-pressure: a pump feeds the supply; expected pump-stops", "kind")


HOLD = ("motors", "joints")


class Initial(Part):
    """The state in which a run begins, beside the positions of ``start``."""

    hold: Annotated[str, Choice(HOLD)] = Field(
        default="motors",
        description="what stands at the start: the motors, joints sagged by the twist of elastic gears; or the joints, "
        "motors wound up by it",
    )
    speed: dict[str, float] = Field(
        default={}, description="joint speeds at the start, by axis; the reference begins with them"
    )

    @field_validator("speed", mode="before")
    @classmethod
    def _read_speed(cls, raw: object, info: ValidationInfo) -> object:
        return read_joints(raw, RATE, info)


class PlantChanges(Part):
    """What is different in truth, unknown to the controller."""

    set: dict[str, Any] = Field(default={}, description="changes of the robot file, by dotted path")


LawLevel = Annotated[str, Choice(tuple(LEVELS))]


class OwnLaw(Part):
    """A control law of the user's in the place of position and speed loops; Python code that is run."""

    law: Annotated[str, Words()] = Field(
        description="FILE.py:NAME of a function or law, the file relative to this one"
    )
    period: Annotated[float | None, Period()] = Field(
        default=None, description="how often it is called; required for a function"
    )
    level: LawLevel | dict[str, LawLevel] | None = Field(
        default=None,
        description="what it commands, default the current; or by motor, the others keep the robot's cascade",
    )
    memory: Annotated[int | None, Whole(1, 1_000_000)] = Field(
        default=None, description="numbers that a compiled law keeps from call to call; default 1"
    )

    @field_validator("level", mode="before")
    @classmethod
    def _read_level(cls, raw: object, info: ValidationInfo) -> object:
        if raw is None:
            return None
        words, motors = Choice(tuple(LEVELS)), (info.context or {}).get("motors", [])
        if not isinstance(raw, dict):
            return words.read(raw)
        for name in raw:
            known(name, motors, "a motor", name)
        return {name: words.read(level) for name, level in raw.items()}


class ScenarioFile(Part):
    """A scenario file, as written."""

    format: Annotated[str, Choice((FORMAT,))] = Field(description=f"always {FORMAT}")
    name: Annotated[str, Words(r"[a-z0-9-]{1,100}", "a name of a-z, 0-9 and '-'")] = Field(
        description="short name: a-z, 0-9 and '-'"
    )
    title: Annotated[str, Words()] = Field(default="", description="one line for people")
    variables: dict[str, str] = Field(default={}, description="named values for expressions")
    robot: Annotated[str, Words()] = Field(description="catalogue name, or robot file beside this one")
    set: dict[str, Any] = Field(default={}, description="changes of the robot file, by dotted path")
    plant: PlantChanges = Field(default_factory=PlantChanges, description="what is different in truth")
    payload: Any = Field(
        default=None, description="what the tool carries: its mass, or fields of the robot file's payload"
    )
    controller: OwnLaw | None = Field(default=None, description="a control law of the user's")
    start: dict[str, float] = Field(default={}, description="joint positions; default the robot's home")
    initial: Initial = Field(
        default_factory=Initial, description="the state in which it begins; default at rest, in balance"
    )
    move: tuple[Move, ...] = Field(description="the moves, in order")
    repeat: Annotated[int, Whole(1, MAX_REPEAT)] = Field(
        default=1, description="how often the list of moves is run through"
    )
    solver: Solver = Field(default_factory=Solver, description="how the equations are integrated")
    seed: Annotated[int, SEED] = Field(default=1, description="seed of all noise")
    record: Record = Field(default_factory=Record, description="what is kept")
    faults: tuple[Fault, ...] = Field(default=(), description="what breaks, and when")
    environment: Environment = Field(
        default_factory=Environment, description="what acts on the arm beside its drives"
    )

    @field_validator("start", mode="before")
    @classmethod
    def _read_start(cls, raw: object, info: ValidationInfo) -> object:
        return read_positions(raw, info)
