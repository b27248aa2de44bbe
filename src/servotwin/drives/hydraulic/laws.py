r"""The laws of a hydraulic axis, one scalar function each: throttling edges, oil with gas in it, accumulator.

Pressures p are counted from the surroundings [Pa]; amounts of oil in the volume that they have there, ``standard
volume`` [m3], so that amount times density of the surroundings is mass. Plain functions of numbers: compiled code
(``model``) and plain Python (``linear``, ``steady``) share them.
"""

from __future__ import annotations

import math

AMBIENT = 101325.0  # Pa, absolute
EVEN = 30.0  # Pa: a difference of pressures below which digits would be lost in that of the enthalpies
LEAST_PRESSURE = 10.0  # Pa, absolute: a stage of a step that reaches beyond vacuum is computed here


def edge_opening(lap: float, clearance: float) -> float:
    r"""Opening of a valve edge, 1 at rated current.

    .. math:: o(\xi) = \tfrac12 \bigl(\xi + \sqrt{\xi^2 + 4\delta^2}\bigr)                     (eq:valve-edge)

    ``lap`` xi: how far the land has left the port, in strokes, negative while it covers it; ``clearance`` delta: what
    leaks at xi = 0; without it the edge is the ramp max(xi, 0).
    """
    return 0.5 * (lap + math.sqrt(lap * lap + 4.0 * clearance * clearance))  # eq:valve-edge


def edge_slope(lap: float, clearance: float) -> float:
    """Derivative of ``edge_opening`` by the lap; one half where an edge without clearance just opens."""
    root = math.sqrt(lap * lap + 4.0 * clearance * clearance)
    return 0.5 + 0.5 * lap / root if root > 0.0 else 0.5


def throttle(dp: float, laminar: float) -> float:
    r"""Flow through a throttle of unit size over its pressure drop [sqrt(Pa)].

    .. math:: f(\Delta p) = \frac{\Delta p}{(\Delta p^2 + p_l^2)^{1/4}}                        (eq:throttle)

    The square root of a turbulent edge far from zero, and proportional to the drop below ``laminar`` p_l [Pa].
    """
    return dp / math.sqrt(math.sqrt(dp * dp + laminar * laminar))  # eq:throttle


def throttle_slope(dp: float, laminar: float) -> float:
    """Derivative of ``throttle`` by the drop [1/sqrt(Pa)]."""
    square = dp * dp + laminar * laminar
    return (0.5 * dp * dp + laminar * laminar) / (square * math.sqrt(math.sqrt(square)))


def oil(p: float, bulk: float, gas: float, exponent: float) -> tuple[float, float, float]:
    r"""Relative volume, effective bulk modulus [Pa] and enthalpy per standard volume [Pa] of oil with gas in it.

    .. math::

        \varphi(p) = (1-a)\,e^{-p/\beta} + a \Bigl(\frac{p_0}{p_0 + p}\Bigr)^{1/n}, \qquad
        \beta_e = -\frac{\varphi}{\varphi'}, \qquad
        h(p) = \int_0^p \varphi\,dp                                                            (eq:oil)

    ``bulk`` beta of the liquid [Pa], ``gas`` a: its part of the volume at p = 0, ``exponent`` n of the gas. Whatever is
    drawn from it, the pressure stays above vacuum: the gas fills any volume.
    """
    P = max(p + AMBIENT, LEAST_PRESSURE)
    liquid = (1.0 - gas) * math.exp(-p / bulk)
    ratio = P / AMBIENT
    bubbles = gas * ratio ** (-1.0 / exponent)
    volume = liquid + bubbles
    stiffness = volume / (liquid / bulk + bubbles / (exponent * P))
    if exponent > 1.0:
        work = AMBIENT * exponent / (exponent - 1.0) * (bubbles * ratio - gas)
    else:
        work = AMBIENT * gas * math.log(ratio)
    return volume, stiffness, bulk * (1.0 - gas - liquid) + work  # eq:oil


def carried_volume(dp: float, dh: float, phi_a: float, phi_b: float) -> float:
    r"""Relative volume of the oil that a hydraulic motor carries from one of its sides to the other.

    .. math:: \varphi_m = \frac{h(p_A) - h(p_B)}{p_A - p_B}, \qquad
              q_m = \frac{D\,\omega}{\varphi_m}                                             (eq:carried-oil)

    The mean between both pressures: what leaves one side enters the other, and the torque D (p_A - p_B) does the work
    that the oil loses, :math:`q_m (h(p_A) - h(p_B))`. ``dp``, ``dh``: differences of pressures and enthalpies [Pa];
    below ``EVEN`` the mean of both volumes takes its place.
    """
    return (dh * dp + 0.5 * (phi_a + phi_b) * EVEN * EVEN) / (dp * dp + EVEN * EVEN)  # eq:carried-oil


def cushion_resistance(distance: float, length: float, resistance: float) -> float:
    r"""Resistance of an end cushion, drop over squared flow [Pa s2/m6].

    .. math:: r(d) = r_e\,\max(0, 1 - d/l)^2                                                   (eq:cushion)

    ``distance`` d of the piston from its end [m], ``length`` l of the cushion, ``resistance`` r_e at the end.
    """
    if length <= 0.0 or distance >= length:
        return 0.0
    covered = 1.0 - max(distance, 0.0) / length
    return resistance * covered * covered  # eq:cushion


def seal_friction(share: float, area_a: float, area_b: float, p_a: float, p_b: float) -> float:
    r"""Friction of seals that the pressures press against rod and bore [N, N m]: it slides, or holds, up to

    .. math:: F_p = \mu_p \bigl(A_A \max(p_A, 0) + A_B \max(p_B, 0)\bigr)                          (eq:seal-friction)

    ``share`` mu_p: the part of the force of either pressure that is lost, 1 less the mechanical efficiency of a data
    sheet; areas of both sides [m2], of a motor volumes per angle [m3/rad].
    """
    return share * (area_a * max(p_a, 0.0) + area_b * max(p_b, 0.0))  # eq:seal-friction


def gas_volume(p: float, volume: float, precharge: float, exponent: float) -> float:
    r"""Volume of the gas in an accumulator [m3]; all of it below the pressure it was charged with.

    .. math:: V_g = V_0 \Bigl(\frac{p_g + p_0}{p + p_0}\Bigr)^{1/n_g}, \qquad p > p_g            (eq:accumulator)
    """
    if p <= precharge:
        return volume
    return volume * math.pow((precharge + AMBIENT) / (p + AMBIENT), 1.0 / exponent)  # eq:accumulator


def gas_energy(p: float, volume: float, precharge: float, exponent: float) -> float:
    """Work that the oil has done on the gas of an accumulator [J], against the surroundings."""
    if volume <= 0.0 or p <= precharge:
        return 0.0
    P = precharge + AMBIENT
    left = gas_volume(p, volume, precharge, exponent)
    if exponent > 1.0:
        work = P * volume / (exponent - 1.0) * (math.pow(volume / left, exponent - 1.0) - 1.0)
    else:
        work = P * volume * math.log(volume / left)
    return work - AMBIENT * (volume - left)
