r"""Conventions of motor data sheets, and the one that all models here use.

Models work with the amplitude of the current of a line and with one phase of a star (``docs/theory/datasheets.md``).
A sinusoidal synchronous motor with p pole pairs and flux :math:`\psi` has there

.. math:: K_t = \tfrac32\,p\,\psi, \qquad K_e = p\,\psi = \tfrac23 K_t                    (eq:sheet-constants)

Every function takes a printed number to that, or back with the inverse factor.
"""

from __future__ import annotations

import math
from typing import Literal

Size = Literal["rms", "amplitude"]
Between = Literal["lines", "phase"]
Connection = Literal["star", "delta"]

COPPER_ZERO = (
    234.5  # degC below zero at which the resistance of copper, extended linearly, vanishes (IEC 60034-1)
)
ROOT2, ROOT3 = math.sqrt(2.0), math.sqrt(3.0)


def amplitude_per(size: Size) -> float:
    r"""Amplitude of a sine over the printed number.

    .. math:: \hat\imath = \sqrt2\,I_\mathrm{rms}                                     (eq:sheet-rms)

    >>> round(amplitude_per("rms"), 4), amplitude_per("amplitude")
    (1.4142, 1.0)
    """
    return ROOT2 if size == "rms" else 1.0  # eq:sheet-rms


def torque_constant_factor(current: Size) -> float:
    r"""Torque per amplitude over torque per printed current.

    .. math:: K_t = K_{t,\mathrm{rms}} / \sqrt2                                       (eq:sheet-torque-constant)
    """
    return 1.0 / amplitude_per(current)  # eq:sheet-torque-constant


def voltage_constant_factor(voltage: Size, between: Between, connection: Connection) -> float:
    r"""Amplitude of the back-EMF of a star phase over the printed back-EMF.

    .. math:: K_e = \sqrt2\,K_{e,\mathrm{rms}} \text{ of a star phase}, \qquad
              K_e = \hat K_{e,\mathrm{lines}}/\sqrt3                                  (eq:sheet-voltage-constant)

    A phase of a delta lies between two lines.
    """
    lines = between == "lines" or connection == "delta"
    return amplitude_per(voltage) / (ROOT3 if lines else 1.0)  # eq:sheet-voltage-constant


def winding_factor(between: Between, connection: Connection) -> float:
    r"""Resistance or inductance of a star phase over the printed one.

    .. math:: R = R_\mathrm{lines}/2 = R_\Delta/3                                     (eq:sheet-winding)

    >>> winding_factor("lines", "delta"), winding_factor("phase", "star")
    (0.5, 1.0)
    """
    if between == "lines":
        return 0.5  # eq:sheet-winding
    return 1.0 / 3.0 if connection == "delta" else 1.0  # eq:sheet-winding


def copper_factor(given: float, wanted: float) -> float:
    r"""Resistance of a copper winding at one temperature over that at another [degC].

    .. math:: R(T_2)/R(T_1) = (234.5 + T_2)/(234.5 + T_1)                             (eq:sheet-copper)

    >>> round(copper_factor(20.0, 120.0), 3)
    1.393
    """
    return (COPPER_ZERO + wanted) / (COPPER_ZERO + given)  # eq:sheet-copper


def copper_coefficient(reference: float) -> float:
    """Relative growth of a copper resistance per kelvin [1/K] from the temperature ``reference`` [degC] on."""
    return 1.0 / (COPPER_ZERO + reference)


def ideal_constants_ratio(
    current: Size, voltage: Size, between: Between, connection: Connection = "star"
) -> float:
    r"""Printed torque constant over printed back-EMF constant of a sinusoidal motor, both in SI.

    .. math:: K_{t,\mathrm{rms}} = \sqrt3\,K_{e,\mathrm{rms,lines}}                   (eq:sheet-ratio)

    >>> round(ideal_constants_ratio("rms", "rms", "lines"), 4)
    1.7321
    """
    factor = 1.5 * voltage_constant_factor(voltage, between, connection)  # eq:sheet-constants
    return factor / torque_constant_factor(current)  # eq:sheet-ratio
