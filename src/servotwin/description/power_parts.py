"""The electric supply of the drives: source, intermediate circuit, braking resistor, bridges (SI)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from servotwin.description.fields import Choice, Measure, Part, problem


class BrakingResistor(Part):
    """The resistor that takes the energy of braking axes, switched by the bus voltage."""

    resistance: Annotated[float, Measure("ohm", above=0.0)] = Field(description="its resistance")
    on: Annotated[float, Measure("V", above=0.0)] = Field(description="bus voltage that switches it on")
    off: Annotated[float, Measure("V", above=0.0)] = Field(description="bus voltage that switches it off")

    @model_validator(mode="after")
    def _ordered(self) -> BrakingResistor:
        if self.off >= self.on:
            raise problem(f"{self.off:g} V is not below on, {self.on:g} V; expected less", "off")
        return self


# the words of Lee 1989 for what the motor sees; today they name inverters with three potentials
_FORMER = (("three-level", "unipolar"), ("two-level", "bipolar"))


class Bridge(Part):
    """The transistor bridge of each motor and its pulse-width modulation."""

    modulation: Annotated[str, Choice(("unipolar", "bipolar"), former=_FORMER)] = Field(
        default="unipolar", description="whether the two legs are switched one by one or together"
    )
    dead_time: Annotated[float, Measure("s", minimum=0.0)] = Field(
        default=0.0, description="time with both transistors of a leg off at each switching"
    )
    storage_time: Annotated[float, Measure("s", minimum=0.0)] = Field(
        default=0.0, description="time that a transistor goes on conducting after its command has ended"
    )
    on_resistance: Annotated[float, Measure("ohm", minimum=0.0)] = Field(
        default=0.0, description="resistance of all conducting transistors in the path of the current"
    )


class Power(Part):
    """Source, intermediate circuit and bridges that feed the motors."""

    bus_voltage: Annotated[float, Measure("V", above=0.0)] = Field(
        description="voltage of the intermediate circuit without load"
    )
    supply_resistance: Annotated[float | None, Measure("ohm", minimum=0.0)] = Field(
        default=None,
        description="resistance between source and capacitor; required with a capacitance, no effect without",
    )
    capacitance: Annotated[float | None, Measure("F", above=0.0)] = Field(
        default=None, description="capacitance of the intermediate circuit; default a stiff voltage"
    )
    braking_resistor: BrakingResistor | None = Field(
        default=None, description="resistor that limits the voltage of braking axes"
    )
    max_voltage: Annotated[float | None, Measure("V", above=0.0)] = Field(
        default=None, description="highest voltage that the intermediate circuit stands"
    )
    bridge: Bridge = Field(default_factory=Bridge, description="the bridges, all alike")

    @model_validator(mode="after")
    def _consistent(self) -> Power:
        resistor = self.braking_resistor
        if self.capacitance is not None and not self.supply_resistance:
            given = "missing" if self.supply_resistance is None else "0 ohm"
            text = f"{given}: a stiff source would charge the capacitance without limit"
            raise problem(f"{text}; expected a resistance above zero, such as '0.3 ohm'", "supply_resistance")
        least = resistor.on if resistor is not None else self.bus_voltage
        if self.max_voltage is not None and self.max_voltage < least:
            word = "bus_voltage" if resistor is None else "voltage that switches the braking resistor on,"
            text = f"{self.max_voltage:g} V is below the {word} {least:g} V; expected more"
            raise problem(text, "max_voltage")
        if resistor is not None and resistor.off <= self.bus_voltage:
            text = f"{resistor.off:g} V is not above the bus_voltage {self.bus_voltage:g} V"
            raise problem(f"{text}, so that it would stay on for ever; expected more", "braking_resistor.off")
        if resistor is not None and self.capacitance is None:
            text = (
                "without capacitance the bus voltage never rises; expected a capacitance, such as '4700 uF'"
            )
            raise problem(text, "braking_resistor")
        return self
