"""A force source with a lag: pressure builds up behind the command, and what leaks away becomes heat."""

import servotwin as st


def rates(x, theta, w, command, supply, p, dx, out):
    force_constant, lag, leak = p[0], p[1], p[2]
    dx[0] = (force_constant * command - x[0]) / lag
    out[st.EFFORT] = x[0]
    out[st.LOSS] = leak * x[0] * x[0]
    out[st.POWER] = x[0] * w + out[st.LOSS]


LAGGED_FORCE = st.Actuator(
    rates=rates,
    states={"force": "N"},
    parameters={"force_constant": "N/A", "lag": "s", "leak": "W/N^2"},
)
