"""Hydraulic axes as their data sheets state them: servovalve, cylinder or motor, and the supply of a robot (SI)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, model_validator

from servotwin.description.display import BAR, LITRES_PER_MINUTE
from servotwin.description.fields import Bits, Flag, Measure, Part, problem
from servotwin.description.nodes import quoted
from servotwin.description.quantities import dimension_name
from servotwin.description.units import read_quantity

LEAST_GAS = 1e-6  # of the volume: without any, oil could be stretched below absolute zero pressure
MOST_PRESSURE = 1e8  # Pa at which a relief valve must let all of its pump's flow pass
# m2, m3/rad, m3/s, Hz, A, Pa: far below all machines, and far above where squares and cubes vanish
LEAST_AREA, LEAST_DISPLACEMENT, LEAST_FLOW = 1e-12, 1e-15, 1e-15
LEAST_FREQUENCY, LEAST_CURRENT, LEAST_DROP = 1e-6, 1e-9, 1.0
MOST_DAMPING = 5.0  # of a spool: beyond, a lag of first order is meant, or percent


class Valve(Part):
    """A four-way servovalve; flows are volumes at the pressure of the surroundings."""

    rated_flow: Annotated[float, Measure("m^3/s", minimum=LEAST_FLOW)] = Field(
        description="flow at rated current and rated drop"
    )
    rated_drop: Annotated[float, Measure("Pa", above=0.0)] = Field(
        default=70e5, description="total pressure drop of the valve at the rated flow, half of it per edge"
    )
    rated_current: Annotated[float, Measure("A", minimum=LEAST_CURRENT)] = Field(
        description="current at the full stroke of the spool"
    )
    natural_frequency: Annotated[float, Measure("Hz", minimum=LEAST_FREQUENCY)] = Field(
        description="of the spool as a lag of second order: where its phase is 90 deg behind"
    )
    damping: Annotated[float, Measure("", above=0.0, maximum=MOST_DAMPING)] = Field(
        default=0.8, description="damping ratio of that lag"
    )
    slew_time: Annotated[float | None, Measure("s", above=0.0)] = Field(
        default=None, description="least time for the stroke from null to rated; default no such limit"
    )
    overlap: Annotated[float, Measure("", minimum=-0.5, maximum=0.5)] = Field(
        default=0.0, description="stroke until an edge opens, over the rated stroke; negative: open centre"
    )
    null_leakage: Annotated[float, Measure("m^3/s", minimum=0.0)] = Field(
        default=0.0,
        description="flow from supply to tank at null with blocked ports, at a supply of the rated drop",
    )
    laminar_drop: Annotated[float, Measure("Pa", minimum=LEAST_DROP)] = Field(
        default=1e5, description="pressure drop of an edge below which its flow is laminar"
    )
    check_valve: Annotated[bool, Flag()] = Field(
        default=False, description="one in the supply port: no load presses oil back into the supply"
    )


class Cushion(Part):
    """Throttles at both ends of a cylinder; what flows in passes a check valve."""

    length: Annotated[float, Measure("m", above=0.0)] = Field(description="travel over which they close")
    flow: Annotated[float, Measure("m^3/s", minimum=LEAST_FLOW)] = Field(
        description="flow out at the very end, at the drop beside it"
    )
    drop: Annotated[float, Measure("Pa", above=0.0)] = Field(
        default=70e5, description="pressure drop of that flow"
    )


Leak = Annotated[float, Measure("m^3/(s*Pa)", minimum=0.0)]
Seal = Annotated[float, Measure("", minimum=0.0, maximum=0.5)]


class Cylinder(Part):
    """A double-acting cylinder; its ends are the end stops of its joint."""

    area: Annotated[float, Measure("m^2", minimum=LEAST_AREA)] = Field(
        description="of the piston on the side that drives the joint forward"
    )
    rod_side_area: Annotated[float | None, Measure("m^2", minimum=LEAST_AREA)] = Field(
        default=None, description="of the other side; default the same"
    )
    dead_volume: Annotated[float, Measure("m^3", above=0.0)] = Field(
        description="oil of each chamber with the piston at its end, lines included"
    )
    leakage: Leak = Field(default=0.0, description="flow between the chambers per pressure")
    external_leakage: Leak = Field(default=0.0, description="flow out of each chamber per pressure")
    seal_friction: Seal = Field(
        default=0.0,
        description="part of the force of the pressure in either chamber that its seals take; 1 less the efficiency",
    )
    cushion: Cushion | None = Field(default=None, description="end cushions")


@dataclass(frozen=True)
class Displacement(Measure):
    """A volume per angle; a bare volume could be meant per turn, as on data sheets, or per radian, and is refused."""

    def read(self, raw: object) -> Any:
        """The displacement [m3/rad]."""
        if isinstance(raw, str):
            try:
                bare = dimension_name(read_quantity(raw).dimension) == "a volume"
            except ValueError:  # which is told below
                bare = False
            if bare:
                text = raw.strip()
                raise problem(
                    f"{quoted(raw)} is a volume; expected one per turn, '{text}/rev', as data sheets mean it, or one "
                    f"per radian, '{text}/rad'"
                )
        return super().read(raw)


class HydraulicMotor(Part):
    """A hydraulic motor that turns without end."""

    displacement: Annotated[float, Displacement("m^3/rad", minimum=LEAST_DISPLACEMENT)] = Field(
        description="volume per turn or angle, such as '250 cm3/rev'"
    )
    dead_volume: Annotated[float, Measure("m^3", above=0.0)] = Field(
        description="oil of each side, lines included"
    )
    leakage: Leak = Field(default=0.0, description="flow between the sides per pressure")
    external_leakage: Leak = Field(default=0.0, description="flow out of each side per pressure")
    seal_friction: Seal = Field(
        default=0.0,
        description="part of the torque of the pressure on either side that friction takes; 1 less the efficiency",
    )


class Oil(Part):
    """The oil of all hydraulic axes."""

    density: Annotated[float, Measure("kg/m^3", above=0.0)] = Field(
        default=860.0, description="at the pressure of the surroundings"
    )
    bulk_modulus: Annotated[float, Measure("Pa", above=0.0)] = Field(
        default=1.4e9, description="of the oil without gas, walls and hoses included"
    )
    entrained_gas: Annotated[float, Measure("", minimum=LEAST_GAS, maximum=0.5)] = Field(
        default=0.005, description="gas in the oil, part of the volume at the pressure of the surroundings"
    )
    gas_exponent: Annotated[float, Measure("", minimum=1.0, maximum=1.67)] = Field(
        default=1.4, description="polytropic exponent of that gas"
    )
    cavitation_pressure: Annotated[float, Measure("Pa", minimum=0.0, maximum=101325.0)] = Field(
        default=0.2e5, description="absolute pressure below which a chamber counts as cavitated"
    )


class Pump(Part):
    """A pump of constant flow."""

    flow: Annotated[float, Measure("m^3/s", above=0.0)] = Field(description="its flow")
    efficiency: Annotated[float, Measure("", above=0.0, maximum=1.0)] = Field(
        default=1.0, description="hydraulic power over power of its shaft"
    )


class Relief(Part):
    """The relief valve beside the pump."""

    pressure: Annotated[float, Measure("Pa", above=0.0)] = Field(description="at which it begins to open")
    flow: Annotated[float, Measure("m^3/s", above=0.0)] = Field(description="flow at the override beside it")
    override: Annotated[float, Measure("Pa", above=0.0)] = Field(
        default=5e5, description="pressure above the first one at that flow"
    )


class Accumulator(Part):
    """A gas accumulator in the supply line."""

    volume: Annotated[float, Measure("m^3", above=0.0)] = Field(description="of its gas before oil is in it")
    precharge: Annotated[float, Measure("Pa", above=0.0)] = Field(
        description="pressure of the gas before oil is in it"
    )
    exponent: Annotated[float, Measure("", minimum=1.0, maximum=1.67)] = Field(
        default=1.2, description="polytropic exponent of the gas"
    )


class Hydraulics(Part):
    """The supply of all hydraulic axes; pressures are counted from the surroundings."""

    supply_pressure: Annotated[float, Measure("Pa", above=0.0)] = Field(
        description="constant pressure; with a pump what the controller counts on"
    )
    tank_pressure: Annotated[float, Measure("Pa", minimum=0.0)] = Field(
        default=0.0, description="pressure of the return line"
    )
    oil: Oil = Field(default_factory=Oil, description="the oil")
    pump: Pump | None = Field(default=None, description="a pump; default a constant pressure")
    relief: Relief | None = Field(default=None, description="relief valve beside the pump")
    accumulator: Accumulator | None = Field(default=None, description="accumulator beside the pump")
    line_volume: Annotated[float | None, Measure("m^3", above=0.0)] = Field(
        default=None, description="oil between pump and valves"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Hydraulics:
        if self.tank_pressure >= self.supply_pressure:
            text = f"{self.tank_pressure:g} Pa is not below supply_pressure, {self.supply_pressure:g} Pa"
            raise problem(f"{text}; expected less", "tank_pressure")
        for name in ("relief", "accumulator", "line_volume"):
            if self.pump is None and getattr(self, name) is not None:
                raise problem(f"without a pump the pressure is constant; expected a pump beside {name}", name)
        if self.pump is not None and self.line_volume is None:
            raise problem("missing: the pressure of a pump needs it; expected such as '0.2 L'", "line_volume")
        if self.pump is not None and self.relief is None:
            text = "missing: without it a pump of constant flow has no limit of pressure"
            raise problem(f"{text}; expected such as '{{pressure: 75 bar, flow: 10 L/min}}'", "relief")
        if self.pump is not None and self.relief is not None:
            self._check_relief(self.pump, self.relief)
        return self

    def _check_relief(self, pump: Pump, relief: Relief) -> None:
        """Refuse a relief valve that does not let the pump's flow pass at any pressure that there is."""
        passing = relief.pressure + pump.flow / relief.flow * relief.override
        if passing > MOST_PRESSURE:
            raise problem(
                f"it begins to open at {BAR * relief.pressure:.4g} bar and lets the "
                f"{LITRES_PER_MINUTE * pump.flow:.4g} L/min of the pump pass at {BAR * passing:.4g} bar; expected "
                f"at most {BAR * MOST_PRESSURE:g} bar: a lower pressure, more flow or less override",
                "relief",
            )


class PressureSensor(Part):
    """The measurement of the pressures in both chambers of a hydraulic axis."""

    bits: Annotated[int, Bits()] = Field(
        default=12, description="bits of its converter; 0 for no quantisation"
    )
    range: Annotated[float | None, Measure("Pa", above=0.0)] = Field(
        default=None, description="largest pressure it can show; default 1.25 times the supply pressure"
    )
    offset: Annotated[float, Measure("Pa")] = Field(default=0.0, description="constant error")
    noise: Annotated[float, Measure("Pa", minimum=0.0)] = Field(
        default=0.0, description="standard deviation of its noise"
    )


class ValveControl(Part):
    """What the driver of a servovalve does besides its speed loop; alike for all hydraulic axes."""

    damping: Annotated[float, Measure("", minimum=0.0, maximum=1.0)] = Field(
        default=0.4,
        description="damping ratio that the pressure feedback gives the swing of oil and load; 0: none",
    )
    pressure_gain: Annotated[float | None, Measure("A/Pa", minimum=0.0)] = Field(
        default=None, description="valve current per swinging load pressure, instead of the damping"
    )
    pressure_corner: Annotated[float | None, Measure("rad/s", above=0.0)] = Field(
        default=None, description="above which the load pressure counts as swinging; default from the design"
    )
    scheduled: Annotated[bool, Flag()] = Field(
        default=False,
        description="pressure feedback by the position of the piston; else one gain with margins over the whole stroke",
    )
    linearised: Annotated[bool, Flag()] = Field(
        default=True,
        description="undo what the load makes of the valve's square root; unequal areas are counted in any case",
    )
    overlap_compensation: Annotated[float, Measure("", minimum=0.0, maximum=1.0)] = Field(
        default=1.0, description="share of the overlap that is jumped over"
    )


def hertz(frequency: float) -> float:
    """A frequency as angular frequency [rad/s]."""
    return 2.0 * math.pi * frequency
