"""The complete model x' = A(x) + B(x) u: the printed example of DAIV-1 beside the correct one; valve axis; modes."""

import numpy as np

import servotwin as st
from servotwin.design.hydraulic import hydraulic_axis_of
from servotwin.equations.published import perez1987_study as paper

# Positions and speeds of the paper's example; the rows of its hydraulic pressure are not physical in SI units.
daiv = st.state_space("daiv-1")
A, B, _ = daiv.affine(daiv.state(paper.STATE[:3], paper.STATE[3:6]))
print("state       A(x) printed   A(x)        B(x) printed, columns 1 and 2    B(x), columns 1 and 2")
for i, quantity in enumerate(daiv.states[:6]):
    printed = f"{paper.PRINTED_B[i, 0]:12.5g}{paper.PRINTED_B[i, 1]:12.5g}"
    print(
        f"{quantity.name:12}{paper.PRINTED_A[i]:12.5g}{A[i]:12.5g}   {printed}         {B[i, 0]:12.5g}{B[i, 1]:12.5g}"
    )
ratios = paper.gain_ratios()
print(f"\nratios in the printed B(x): {np.round(ratios.printed, 2)}")
print(f"rotors counted twice:       {np.round(ratios.twice, 2)}   once: {np.round(ratios.once, 2)}")

# Section 5: the third-order model of the valve axis, reduced from the derivatives of the complete model.
axis = hydraulic_axis_of(st.study_model(daiv, [0.0, 0.0, -0.075]), "q3")
A_3, b_3, _ = axis.third_order()
print("\nposition, speed, load pressure; valve current:\n", np.column_stack([A_3, b_3]).round(9))
print(f"mass and oil swing at {axis.natural_frequency:.0f} rad/s, damping {axis.damping:.3f}")

# Section 6: torques that both models predict for the same motions. What remains when the slips are gone is physics.
for motion in paper.motions():
    found = paper.torques(motion)
    true = next(item.rms for item in found if item.model == "basic, corrected")
    print(f"\n{motion.name}: RMS torques {true.round(1)} N m; others against them")
    for item in found:
        more = 100 * (item.rms / true - 1)
        print(f"  {item.model:25} {more[0]:+6.1f} % {more[1]:+6.1f} %  {item.reason}")

# Poles, modes and ranks of an axis with an elastic gear, at rest at home.
study = st.study_model("manutec-r3-axis")
print(
    f"\n{study.linear.name}: controllable {study.controllable.rank}, observable {study.observable.rank} of 5"
)
for mode in study.modes:
    main = ", ".join(f"{name} {100 * share:.0f} %" for name, share in study.main_states(mode, 2))
    print(f"  {mode.pole:.4g} 1/s, damping {mode.damping:.3f}: {main}")
