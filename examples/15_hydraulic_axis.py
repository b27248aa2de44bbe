"""The hydraulic axis of DAIV-1: its linear model along the stroke, a run, and where the energy went."""

import numpy as np

import servotwin as st

np.set_printoptions(precision=3, suppress=False)
model = st.hydraulic_model("daiv-1", "q3", speed=0.1, force=50.0)
A, b, f = model.third_order()  # position, speed, load pressure: Perez et al. 1987, section 5
print("A =", A, "b =", b, "f =", f, sep="\n")
print(f"K_q = {6e4 * 1e-3 * model.flow_gain:.4f} L/min per mA, K_c + C = {model.flow_pressure:.3e} m3/(s Pa)")
for x in (-0.150, -0.075, 0.0):
    there = st.hydraulic_model("daiv-1", "q3", position=x)
    print(f"at {1e3 * x:5.0f} mm oil and load swing at {there.natural_frequency / 2 / np.pi:.0f} Hz")
try:
    st.hydraulic_model("daiv-1", "q3", force=2000.0)
except st.InputError as error:
    print(f"refused: {error}")

run = st.simulate("daiv-1-lift")
axis = run.summary["hydraulics"]["axes"][0]
print(
    f"chamber A {1e-5 * axis['pressure_a_min_Pa']:.1f} to {1e-5 * axis['pressure_a_max_Pa']:.1f} bar, "
    f"valve {100 * axis['valve_opening_max']:.0f} % open at most"
)
energy = run.summary["energy"]
for name in ("source_J", "valve_J", "copper_J", "friction_J"):
    print(f"{name:12} {energy[name]:8.2f}")
print(f"unaccounted for: {energy['balance_error_relative']:.0e} of the energy, ", end="")
print(f"{abs(run.summary['hydraulics']['mass_error_relative']):.0e} of the oil")
