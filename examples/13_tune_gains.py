"""Gains from bandwidths, their margins over all loads, and what they are worth in a simulated move."""

import math

import servotwin as st
from servotwin.description.load import read_description
from servotwin.design.tuning import tune

description = read_description("gsis-scara")
tuning = tune(description, payload_max=4.0)

print("speed loop, lightest and heaviest load (0 to 4 kg):")
for axis in tuning.axes:
    light, heavy = axis.case("lightest").loops.speed, axis.case("heaviest").loops.speed
    print(
        f"  {axis.motor}: K_p {axis.gains.speed_proportional:.4g} A s/rad, phase margin "
        f"{math.degrees(light.phase_margin):.0f} and {math.degrees(heavy.phase_margin):.0f} deg, "
        f"gain margin {light.gain_margin:.1f} and {heavy.gain_margin:.1f}"
    )
print(*tuning.warnings, sep="\n")

# Faster loops follow better, until the margins are used up.
print("position [1/s]  speed [rad/s]  least phase margin  largest error of A  settled after  at the end")
for position, speed in ((15, 75), (30, 150), (50, 250), (80, 400), (100, 500)):
    trial = tune(description, payload_max=4.0, speed_bandwidth=speed, position_bandwidth=position)
    margin = min(math.degrees(case.loops.speed.phase_margin) for axis in trial.axes for case in axis.cases)
    changes = {
        "set.controller.speed_bandwidth": f"{speed} rad/s",
        "set.controller.position_bandwidth": f"{position} 1/s",
    }
    numbers = st.simulate("scara-a-axis-100deg", changes).summary
    error, settled = math.degrees(numbers["axes"][0]["joint_error_max"]), numbers["settling_s"]
    words = "never" if settled is None else f"{1e3 * settled:.0f} ms"
    print(
        f"{position:14}  {speed:13}  {margin:14.0f} deg  {error:14.2f} deg  {words:>13}  "
        f"{1e3 * numbers['tip_error_final_m']:.3f} mm"
    )
