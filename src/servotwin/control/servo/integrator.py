r"""The integrator of every servo loop: it stops while more of it would only be cut off.

A loop computes its output first, sees what of it is realised, and then updates its integrator:

.. math:: y_k = K_p e_k + x_k, \quad \bar y_k = \mathrm{sat}(y_k), \quad
          x_{k+1} = x_k + \begin{cases} K_i T e_k & \bar y_k = y_k \text{ or } e_k y_k < 0 \\
                                        0 & \text{else} \end{cases}                       (eq:anti-windup)

So it passes the limit by one step at most, whatever the gains are, K_p = 0 included.
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper


@helper
def integrated(kept: Any, more: Any, error: Any, wanted: Any, given: Any) -> Any:
    """The integrator after a sample: ``kept``, and ``more`` of it unless that only saturates further.

    ``wanted`` is the output of the loop, ``given`` what its limit leaves; floats and integers alike.
    """
    return kept + more if given == wanted or error * wanted < 0 else kept  # eq:anti-windup
