"""Figures of the supply: voltage, power, energy, and where the energy went."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from servotwin.report.page_style import COLOURS, INK, SOFT, axis, layout
from servotwin.report.simulation_view import View
from servotwin.report.traces import level, line

STORED = {
    "kinetic_J": "kinetic energy",
    "potential_J": "potential energy",
    "magnetic_J": "inductances",
    "spring_J": "elastic gears",
    "capacitor_J": "bus capacitor",
    "actuators_J": "actuators of your own",
    "oil_J": "compressed oil",
    "hydraulic_supply_J": "hydraulic supply",
}
LOST = {
    "copper_J": "copper",
    "friction_J": "friction",
    "environment_friction_J": "friction of the environment",
    "gear_J": "gear losses",
    "hysteresis_J": "hysteresis of gears",
    "bridge_J": "bridge",
    "impact_J": "end stops",
    "brake_resistor_J": "braking resistor",
    "supply_J": "supply resistance",
    "actuator_loss_J": "losses of actuators of your own",
    "valve_J": "edges of servovalves",
    "leakage_J": "oil leakage",
    "cushion_J": "end cushions",
    "pump_J": "pump",
    "relief_J": "relief valve",
}
SMALL = 1e-4  # of the energy moved: not worth a bar


def power(view: View) -> go.Figure:
    """Power taken from the source; negative where it flows back."""
    figure = go.Figure(layout=layout(300, yaxis=axis("power [W]"), showlegend=False))
    hover = {"hovertemplate": "%{y:.1f} W"}
    signal = view.result.signals["bus_power_W"]
    figure.add_trace(line(view.t, signal, "power", COLOURS[0], view.points, **hover))
    return figure


def bus_voltage(view: View) -> go.Figure:
    """Voltage of the DC bus, with the thresholds of the braking resistor if there is one."""
    signal = view.result.signals["bus_voltage_V"]
    swing = max(float(np.ptp(signal)), 1.0)
    low, high = float(signal.min()) - 0.25 * swing, float(signal.max()) + 0.25 * swing
    figure = go.Figure(layout=layout(300, showlegend=False))
    resistor = getattr(view.truth.power, "braking_resistor", None)
    for word in ("on", "off"):
        threshold = getattr(resistor, word, None)
        if threshold is not None and low < threshold < high + swing:
            high = max(high, threshold + 0.1 * swing)
            level(figure, threshold, f"braking resistor {word}")
    figure.update_layout(yaxis=axis("bus voltage [V]", range=[low, high]))
    hover = {"hovertemplate": "%{y:.2f} V"}
    figure.add_trace(line(view.t, signal, "bus", COLOURS[3], view.points, **hover))
    return figure


def energy(view: View) -> go.Figure:
    """Energy taken from the source since the start."""
    figure = go.Figure(layout=layout(300, yaxis=axis("energy [J]"), showlegend=False))
    hover = {"hovertemplate": "%{y:.2f} J"}
    signal = view.result.signals["bus_energy_J"]
    figure.add_trace(line(view.t, signal, "energy", COLOURS[2], view.points, **hover))
    return figure


def energy_bars(numbers: dict[str, Any]) -> go.Figure:
    """Where the energy of the source went: a bar for each loss and each store, ending at the total."""
    source = float(numbers.get("source_J") or 0.0)
    scale = max(abs(source), float(numbers.get("moved_J") or 0.0), 1e-12)
    bars = [("taken from the source", source, INK)]
    bars += _group(numbers, LOST, COLOURS[1], scale)
    bars += _group(numbers, STORED, COLOURS[0], scale)
    if numbers.get("environment_J") is not None:
        bars.append(("to the environment", -float(numbers["environment_J"]), COLOURS[2]))
    starts, reached = [0.0], 0.0
    for _, value, _ in bars[1:]:
        starts.append(reached)
        reached += value
    labels = [name for name, _, _ in bars]
    texts = [_label(value, source) for _, value, _ in bars]
    figure = go.Figure(
        layout=layout(
            60 + 32 * len(bars),
            hovermode="closest",
            showlegend=False,
            xaxis=axis("energy [J]"),
            yaxis=axis("", autorange="reversed", ticks="", showgrid=False),
            margin={"l": 150, "r": 90, "t": 10, "b": 42},
        )
    )
    figure.add_trace(
        go.Bar(
            orientation="h", y=labels, x=[value for _, value, _ in bars], base=starts, text=texts,
            marker={"color": [ink for _, _, ink in bars], "opacity": 0.82}, textposition="outside",
            textfont={"color": SOFT, "size": 12}, cliponaxis=False, hovertemplate="%{y}: %{text}<extra></extra>",
            width=0.62,
        )
    )  # fmt: skip
    return figure


def _group(
    numbers: dict[str, Any], names: dict[str, str], ink: str, scale: float
) -> list[tuple[str, float, str]]:
    """The entries of a group that are worth a bar, largest first."""
    found = [(label, float(numbers.get(key) or 0.0), ink) for key, label in names.items()]
    return sorted((bar for bar in found if abs(bar[1]) > SMALL * scale), key=lambda bar: -abs(bar[1]))


def _label(value: float, source: float) -> str:
    share = f", {100 * value / source:.1f} %" if abs(source) > 0.0 else ""
    return f"{value:.3g} J{share}"
