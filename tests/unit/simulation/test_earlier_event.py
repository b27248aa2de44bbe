"""A shaft that turns round twice before another one's event is seen: `fast` against converged steps."""

from __future__ import annotations

from pathlib import Path

from tests import small_drives as small
from tests.unit.simulation.test_elastic_window import ABOVE, FINEST, largest, run_counted

# resistance [ohm], inductance [mH], rotor [kg m2], dry friction sliding and at rest [N m], Stribeck speed [rad/s],
# ratio, mass [kg], its distance [m]
NUMBERS = {
    "A": (0.5657, 1.2836, 1.28522e-4, 0.02225, 0.10914, 25.0, 39.952, 0.454, 0.239),
    "B": (1.0209, 1.0912, 9.7371e-5, 0.02091, 0.12387, 12.728, 76.566, 2.965, 0.1576),
    "C": (0.97996, 0.5929, 3.7537e-5, 0.02178, 0.11847, 18.969, 77.128, 2.009, 0.2641),
}


def arm() -> small.Tree:
    """Three DC motors that stick and slip under their pulses."""
    axes: small.Tree = {}
    for name, (R, L, J, slides, rests, stribeck, ratio, mass, far) in NUMBERS.items():
        motor = {
            **small.DC, "resistance": f"{R} ohm", "inductance": f"{L} mH", "rotor_inertia": f"{J} kg*m^2",
            "coulomb_friction": f"{slides} N*m", "static_friction": f"{rests} N*m",
            "stribeck_speed": f"{stribeck} rad/s",
        }  # fmt: skip
        place = {"origin": ABOVE, "parent": list(axes)[-1]} if axes else {"origin": small.HORIZONTAL}
        link = {"mass": f"{mass} kg", "center": [f"{far} m", "0 m", "0 m"]}
        axes[name] = small.axis(motor=motor, gear={"ratio": ratio}, encoder=FINEST, link=link, **place)
    return small.robot({"power": {"bus_voltage": "83.7 V"}}, axes=axes)


def test_shaft_that_turns_round_twice_before_the_event_of_another_one_has_its_own_first(
    tmp_path: Path,
) -> None:
    """The event of the shaft that ends lowest is found directly, and may be the later one."""
    home = dict.fromkeys(NUMBERS, "0.1848 rad")
    away = {"A": "0.18628 rad", "B": "0.1862 rad", "C": "0.18534 rad"}
    move = [{"to": away, "dwell": "0.02 s"}, {"to": home, "dwell": "0.02 s"}]
    scenario = {"start": home, "move": move, "record": {"every": "1 ms"}}
    fast, events, _ = run_counted(tmp_path, arm(), {**scenario, "solver": {"method": "fast"}})
    converged = {"method": "adaptive", "tolerance": 1e-12}
    exact, wanted, _ = run_counted(tmp_path, arm(), {**scenario, "solver": converged})
    assert events == wanted > 3000
    assert largest(fast, exact, "_position_rad") < 1e-9
