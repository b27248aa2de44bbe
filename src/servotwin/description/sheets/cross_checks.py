"""Printed values of one data sheet that contradict each other, and the convention under which they would fit.

Every check yields a field and a line; nothing is refused and nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from servotwin.description.display import RPM
from servotwin.description.sheets.conventions import (
    COPPER_ZERO,
    ROOT2,
    ROOT3,
    amplitude_per,
    ideal_constants_ratio,
    voltage_constant_factor,
    winding_factor,
)
from servotwin.description.sheets.motor_fields import MotorDatasheet
from servotwin.description.sheets.motor_sheet import MotorSheet, motor_sheet
from servotwin.description.sheets.printed import Printed, interpolated
from servotwin.description.sheets.readings import Reading, off, place, sine
from servotwin.drives.kind import PHASE

CONSTANTS = 0.05  # torque and voltage constant of a sinusoidal motor follow from each other
RATED = 0.20  # friction and iron losses take current too, and sheets round
OUTPUT = 0.10  # sheets round speed, torque and power
SPEED = 0.15  # of the no-load speed: resistance, friction and the bridge take a little voltage
READING = 0.07  # of a no-load speed: a reading that misses it by more explains nothing
TIMES = 0.25  # of time constants: temperature and tolerance of the winding
LOSS = 0.30  # of the copper loss: currents are rounded and enter squared
ROOM, HOTTEST, APART = 15.0, 180.0, 25.0  # degC, degC, K: windings that a resistance may be meant of
KRPM = 1000.0 / RPM  # rad/s

Found = Iterator[tuple[str, str]]


def motor_contradictions(printed: MotorDatasheet) -> Found:
    """One field and line for each contradiction within the sheet of a motor."""
    sheet = motor_sheet("", printed)
    for check in (
        _of_constants,
        _of_currents,
        _of_power,
        _of_bus,
        _of_time_constants,
        _of_thermal,
        _of_curves,
    ):
        yield from check(printed, sheet)


# --- constants --------------------------------------------------------------------------------------


def _stated(printed: MotorDatasheet) -> Reading:
    """How constants are read as the sheet states it; a phase of a delta lies between lines."""
    told = printed.conventions
    K_t, K_e = printed.torque_constant, printed.voltage_constant
    between = "lines" if told.connection == "delta" else told.voltage_between or "phase"
    return Reading(
        (K_t.size if K_t else None) or told.current or "amplitude",
        (K_e.size if K_e else None) or told.voltage or "amplitude",
        between,
    )


def _of_constants(printed: MotorDatasheet, sheet: MotorSheet) -> Found:
    K_t, K_e = printed.torque_constant, printed.voltage_constant
    if K_t is None or K_e is None:
        return
    if printed.kind == "dc":
        if off(K_t.value, K_e.value) > CONSTANTS:
            yield (
                "torque_constant",
                f"{K_t.value:.4g} N*m/A differs from the voltage_constant {K_e.value:.4g} V*s/rad"
                f" ({K_e.value * KRPM:.4g} V/krpm) by {off(K_t.value, K_e.value):.0%}; the two are one constant in SI",
            )
        return
    stated, ratio = _stated(printed), K_t.value / K_e.value
    expected = ideal_constants_ratio(stated.current, stated.voltage, stated.between)  # type: ignore[arg-type]
    if off(ratio, expected) <= CONSTANTS:
        return
    yield (
        "torque_constant",
        f"{K_t.value:.4g} N*m/A ({stated.current}) does not fit the voltage_constant {K_e.value * KRPM:.4g} V/krpm"
        f" ({stated.voltage}, {place(stated.between)}): their ratio is {ratio:.3g}, a sinusoidal motor has"
        f" {expected:.3g}; {_fitting_constants(printed, stated, ratio)}",
    )


def _fitting_readings(printed: MotorDatasheet, stated: Reading, ratio: float) -> list[Reading]:
    """Readings under which the two constants fit; those of the stated voltage alone where the bus vouches for it."""
    readings = [Reading(*r) for r in product(("rms", "amplitude"), ("rms", "amplitude"), ("lines", "phase"))]
    fitting = [
        reading
        for reading in readings
        if off(ratio, ideal_constants_ratio(reading.current, reading.voltage, reading.between)) <= CONSTANTS  # type: ignore[arg-type]
    ]
    same = [r for r in fitting if (r.voltage, r.between) == (stated.voltage, stated.between)]
    return same if same and _bus_vouches(printed) else fitting


def _bus_vouches(printed: MotorDatasheet) -> bool:
    """Whether the voltage constant as it is read takes the bus voltage at the printed no-load speed."""
    sheet = motor_sheet("", printed)
    bus, speed = sheet.bus_voltage, sheet.no_load_speed
    if bus is None or speed is None or printed.voltage_constant is None:
        return False
    taken = no_load_speed(sheet, bus)
    return taken is not None and off(speed, taken) <= SPEED


def _fitting_constants(printed: MotorDatasheet, stated: Reading, ratio: float) -> str:
    """Under which reading the two constants fit; the fewest changes first."""
    fitting = _fitting_readings(printed, stated, ratio)
    if not fitting:
        return "no reading of rms, amplitude, lines and phase makes them fit: one of the two numbers is wrong"
    fewest = min(len(reading.changes(stated)) for reading in fitting)
    ways = [" and ".join(r.changes(stated)) for r in fitting if len(r.changes(stated)) == fewest]
    return f"they fit if {', or if '.join(ways)}"


# --- ratings ----------------------------------------------------------------------------------------


def _of_currents(printed: MotorDatasheet, sheet: MotorSheet) -> Found:
    """Rated and stall currents beside the torques that they make; a peak may saturate."""
    K_t = sheet.torque_constant
    if K_t is None:
        return
    for name, saturates in (("rated", False), ("stall", False), ("peak", True)):
        torque, current = getattr(sheet, f"{name}_torque"), getattr(sheet, f"{name}_current")
        stated: Printed | None = getattr(printed, f"{name}_current")
        if torque is None or current is None or stated is None:
            continue
        share = torque / (K_t * current)  # torque that arrives of what the current makes
        if 1.0 - (0.5 if saturates else RATED) <= share <= 1.0 + RATED:
            continue
        yield (
            f"{name}_current",
            f"{stated.value:.4g} A{_of_sine(printed, stated)} times the torque_constant is {K_t * current:.4g} N*m, but"
            f" {name}_torque is {torque:.4g} N*m; {_fitting_current(printed, stated, share, saturates)}",
        )


def _of_sine(printed: MotorDatasheet, stated: Printed) -> str:
    return "" if printed.kind == "dc" else f" ({stated.size or printed.conventions.current})"


def _fitting_current(printed: MotorDatasheet, stated: Printed, share: float, saturates: bool) -> str:
    """Which reading of the current, or of the torque constant where no back-EMF vouches for it, would fit."""
    lowest = 1.0 - (0.5 if saturates else RATED)
    found = []
    if printed.kind == "pmsm":
        for words, own, larger in (
            ("this current were", stated.size or printed.conventions.current, 1.0),
            (
                "the torque_constant were per",
                None if _constants_fit(printed) else _stated(printed).current,
                -1.0,
            ),
        ):
            other = "amplitude" if own == "rms" else "rms"
            factor = (amplitude_per(own or other) / amplitude_per(other)) ** larger  # type: ignore[arg-type]
            if own is not None and lowest <= share * factor <= 1.0 + RATED:
                found.append(f"{words} {sine(other)}")
    return (
        f"they fit if {', or if '.join(found)}"
        if found
        else "one of torque, current and torque_constant is wrong"
    )


def _constants_fit(printed: MotorDatasheet) -> bool:
    """Whether torque and voltage constant are both printed and fit as they are read."""
    both = printed.torque_constant is not None and printed.voltage_constant is not None
    return both and not any(_of_constants(printed, motor_sheet("", printed)))


def _of_power(printed: MotorDatasheet, sheet: MotorSheet) -> Found:
    output, torque, speed = sheet.rated_output, sheet.rated_torque, sheet.rated_speed
    if not output or not torque or not speed or off(torque * speed, output) <= OUTPUT:
        return
    remedy = "one of the three is wrong"
    if sheet.stall_torque and off(sheet.stall_torque * speed, output) <= OUTPUT:
        remedy = "they fit with the stall_torque"
    yield (
        "rated_output",
        f"{output:.4g} W differs from rated_torque times rated_speed, {torque * speed:.4g} W, by"
        f" {off(torque * speed, output):.0%}; {remedy}",
    )


# --- speed and bus ----------------------------------------------------------------------------------


def no_load_speed(sheet: MotorSheet, bus: float) -> float | None:
    r"""Speed at which the back-EMF takes the whole bus voltage [rad/s].

    .. math:: \omega_0 = \frac{U}{\sqrt3\,K_e} \text{ (pmsm, space-vector modulation)}, \qquad
              \omega_0 = \frac{U}{K_e} \text{ (dc)}                                    (eq:sheet-no-load)
    """
    K_e = sheet.voltage_constant
    if K_e is None and sheet.torque_constant is not None:
        K_e = sheet.torque_constant * (PHASE if sheet.kind == "pmsm" else 1.0)
    if K_e is None:
        return None
    return bus / (ROOT3 * K_e if sheet.kind == "pmsm" else K_e)  # eq:sheet-no-load


def _of_bus(printed: MotorDatasheet, sheet: MotorSheet) -> Found:
    bus = sheet.bus_voltage
    w_0 = no_load_speed(sheet, bus) if bus is not None else None
    if bus is None or w_0 is None:
        return
    stated = sheet.no_load_speed
    if stated is not None and off(stated, w_0) > SPEED:
        yield (
            "no_load_speed",
            f"{RPM * stated:.4g} rpm differs from {RPM * w_0:.4g} rpm, where the back-EMF takes the bus_voltage"
            f" {bus:.4g} V; {_fitting_speed(printed, stated / w_0)}",
        )
    speed = sheet.rated_speed
    if speed is not None and speed > w_0 * (1.0 + SPEED):
        yield (
            "rated_speed",
            f"{RPM * speed:.4g} rpm is beyond {RPM * w_0:.4g} rpm, where the back-EMF takes the bus_voltage"
            f" {bus:.4g} V; {_fitting_speed(printed, None, speed / w_0)}",
        )


def _fitting_speed(printed: MotorDatasheet, exact: float | None, least: float = 0.0) -> str:
    """What would make a no-load speed larger by a factor: ``exact``, or at least ``least``."""

    def fits(factor: float) -> bool:
        return off(factor, exact) <= READING if exact is not None else factor * (1.0 + SPEED) >= least

    found = []
    if printed.kind == "pmsm" and printed.voltage_constant is not None and not _constants_fit(printed):
        stated = _stated(printed)
        now = voltage_constant_factor(stated.voltage, stated.between, "star")  # type: ignore[arg-type]
        for reading in (
            replace(stated, voltage="rms" if stated.voltage == "amplitude" else "amplitude"),
            replace(stated, between="phase" if stated.between == "lines" else "lines"),
        ):
            then = voltage_constant_factor(reading.voltage, reading.between, "star")  # type: ignore[arg-type]
            if fits(now / then):
                found += reading.changes(stated)
    if fits(ROOT2):
        found.append("bus_voltage were that of the mains (rms), rectified to sqrt(2) times as much")
    if printed.kind == "pmsm" and fits(ROOT3 / 2.0):
        found.append("the bridge had sine-triangle modulation, which reaches half of the bus per phase")
    return (
        f"they fit if {', or if '.join(found)}"
        if found
        else "one of speed, voltage and voltage_constant is wrong"
    )


# --- time constants, heat, curves -------------------------------------------------------------------


def _of_time_constants(printed: MotorDatasheet, sheet: MotorSheet) -> Found:
    R, L = sheet.resistance, sheet.inductance or sheet.inductance_q
    electrical = printed.electrical_time_constant
    if electrical and R and L and off(L / R, electrical) > TIMES:
        yield (
            "electrical_time_constant",
            f"{1e3 * electrical:.4g} ms differs from inductance over resistance, {1e3 * L / R:.4g} ms;"
            f" {_fitting_winding(L / R / electrical)}",
        )
    stated, J, K_t = printed.mechanical_time_constant, sheet.rotor_inertia, sheet.torque_constant
    if not (stated and R and J and K_t):
        return
    found = mechanical_time_constant(sheet.kind, J, R, K_t)
    if off(found, stated) > TIMES:
        ways = _fitting_losses(printed, stated / found, TIMES / 2.0)
        other = "one of the numbers is wrong, or the resistance is of another temperature"
        yield (
            "mechanical_time_constant",
            f"{1e3 * stated:.4g} ms differs from that of rotor_inertia, resistance and torque_constant,"
            f" {1e3 * found:.4g} ms; {f'they fit if {ways}' if ways else other}",
        )


def mechanical_time_constant(kind: str, J: float, R: float, K_t: float) -> float:
    r"""Time constant of a run-up at constant voltage [s].

    .. math:: T_m = \frac{J R}{K_t K_e} = \frac{3}{2}\frac{J R}{K_t^2} \text{ (pmsm)}, \qquad
              T_m = \frac{J R}{K_t^2} \text{ (dc)}                                       (eq:sheet-run-up)
    """
    return (1.0 / PHASE if kind == "pmsm" else 1.0) * J * R / K_t**2  # eq:sheet-run-up


def _fitting_winding(factor: float) -> str:
    if off(factor, 0.5) <= TIMES:
        return "they fit if the inductance were of one phase and the resistance between lines"
    if off(factor, 2.0) <= TIMES:
        return "they fit if the inductance were between lines and the resistance of one phase"
    return "one of the three is wrong, or the resistance is of another temperature"


def _current_sizes(printed: MotorDatasheet) -> tuple[str, ...]:
    """How the torque constant may be meant: as stated, unless the voltage constant contradicts or says nothing."""
    stated, K_t, K_e = _stated(printed), printed.torque_constant, printed.voltage_constant
    if _constants_fit(printed):
        return (stated.current,)
    if K_t is None or K_e is None or not _bus_vouches(printed):
        return ("rms", "amplitude")
    found = {r.current for r in _fitting_readings(printed, stated, K_t.value / K_e.value)}
    return tuple(sorted(found)) or ("rms", "amplitude")


def _fitting_losses(printed: MotorDatasheet, wanted: float, tolerance: float) -> str:
    """Under which reading R/K_t^2 would be ``wanted`` times as large: losses and run-up time are proportional to it."""
    if printed.kind != "pmsm":
        return ""
    told, size = printed.conventions, _stated(printed).current
    now = (told.winding_between or "phase", told.connection or "star")
    windings = (("lines", "star"), ("phase", "star"), ("phase", "delta"))
    sizes = _current_sizes(printed)
    found: list[tuple[int, str]] = []
    for winding, other in product(windings, sizes):
        R = winding_factor(*winding) / winding_factor(*now)  # type: ignore[arg-type]
        K = amplitude_per(size) / amplitude_per(other)  # type: ignore[arg-type]
        words = [f"the resistance were {_winding(winding)}"] if R != 1.0 else []
        words += [f"the torque_constant were per {sine(other)}"] if other != size else []
        if words and off(R / K**2, wanted) <= tolerance:
            found.append((len(words), " and ".join(words)))
    fewest = min((count for count, _ in found), default=0)
    return ", or if ".join(words for count, words in found if count == fewest)


def _winding(winding: tuple[str, str]) -> str:
    return "between lines" if winding[0] == "lines" else f"of one {winding[1]} phase"


def _of_thermal(printed: MotorDatasheet, sheet: MotorSheet) -> Found:
    heat = printed.thermal
    if heat is None:
        return
    hot = heat.ambient + heat.winding_rise
    if heat.limit is not None and hot > heat.limit * (1.0 + 1e-9):
        yield "thermal.winding_rise", f"{hot:.4g} degC at the rating is above the limit {heat.limit:.4g} degC"
    torque = sheet.stall_torque or sheet.rated_torque
    loss = sheet.copper_loss(torque, hot) if torque else None
    if heat.rated_loss is None or loss is None or off(loss, heat.rated_loss) <= LOSS:
        return
    yield (
        "thermal.rated_loss",
        f"{heat.rated_loss:.4g} W differs from the copper loss at the continuous torque and {hot:.4g} degC,"
        f" {loss:.4g} W; {_fitting_loss(printed, heat.rated_loss / loss)}",
    )


def _fitting_loss(printed: MotorDatasheet, wanted: float) -> str:
    ways = [_fitting_losses(printed, wanted, LOSS / 2.0), _fitting_temperature(printed, wanted)]
    if any(ways):
        return f"they fit if {', or if '.join(way for way in ways if way)}"
    if wanted > 1.0:
        return "it may contain iron and friction losses, which do not heat by the current"
    return "one of the numbers is wrong, or the resistance is already that of the hot winding"


def _fitting_temperature(printed: MotorDatasheet, wanted: float) -> str:
    """The temperature of the printed resistance that would make losses ``wanted`` times as large; empty if odd."""
    told = printed.conventions.winding_temperature
    if (
        told is None
        or printed.resistance is None
        or len(_current_sizes(printed)) > 1
        or not _constants_fit(printed)
    ):
        return ""
    meant = (COPPER_ZERO + told) / wanted - COPPER_ZERO
    likely = ROOM <= meant <= HOTTEST and abs(meant - told) >= APART
    return f"the resistance were that of a winding at {meant:.0f} degC" if likely else ""


def _of_curves(printed: MotorDatasheet, sheet: MotorSheet) -> Found:
    curve, torque, speed = sheet.continuous_curve, sheet.rated_torque, sheet.rated_speed
    if curve and torque and speed and off(interpolated(curve, speed), torque) > OUTPUT:
        yield (
            "continuous",
            f"{interpolated(curve, speed):.4g} N*m at the rated_speed differs from the rated_torque {torque:.4g} N*m",
        )
    peak = sheet.peak_curve
    if peak and sheet.peak_torque and off(max(t for _, t in peak), sheet.peak_torque) > OUTPUT:
        top = max(t for _, t in peak)
        yield (
            "peak",
            f"its largest torque {top:.4g} N*m differs from the peak_torque {sheet.peak_torque:.4g} N*m",
        )
    for name, own in (("continuous", curve), ("peak", peak)):
        if own and sheet.max_speed and own[-1][0] > sheet.max_speed * (1.0 + OUTPUT):
            yield (
                name,
                f"goes on to {RPM * own[-1][0]:.4g} rpm, beyond the max_speed {RPM * sheet.max_speed:.4g} rpm",
            )
