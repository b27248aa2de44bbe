r"""A closed chain on its way into a singularity, where the actuated joints no longer determine the passive ones.

After every window the closures are looked at, as :math:`S_p = Q R` of eq:closed sees them: near a singularity some
:math:`R_{jj}` goes to zero, crossing one reverses a column of Q, and beyond it the loops cannot be closed. There the
equations in the actuated joints end, and so does the run: at the end of the last window that was sound.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.compiled.jit import helper, part, piece
from servotwin.compiled.native_calls import call_address, records_at
from servotwin.drives.records import MOTOR
from servotwin.simulation.plant.records import MAX_INTEGRALS, MAX_JOINTS, MAX_STATES, WORLD
from servotwin.simulation.plant.status import SINGULAR

WEAKEST = 1e-3  # R_jj over the largest one: nearer to a singularity nothing is determined any more
OPEN = 1e-3  # rad or m that passive joints are from closing the loops
REVERSED = 0.3  # by which an entry of Q, a unit vector in each column, does not change within a window
# the last sound window: state, integrals, extremes of the motors, estimated error, energy of impacts
SOUND = np.dtype(
    [
        ("y", np.float64, (MAX_STATES,)),
        ("z", np.float64, (MAX_INTEGRALS,)),
        ("peaks", np.float64, (MAX_JOINTS, 2)),
        ("error", np.float64),
        ("impact_J", np.float64),
        ("valid", np.int64),  # there has been one
    ]
)
NUMBER = np.dtype([("value", np.float64)])


@helper
def passive_count(world: Any) -> int:
    """Number of passive joints."""
    return world.n_x - world.n  # type: ignore[no-any-return]


@part
def is_sound(world: Any, said: Any, axes: Any, valid: int) -> bool:
    """Whether the loops are closed and hold the passive joints; ``axes`` is Q of the window before."""
    p = passive_count(world)
    strongest, weakest = 0.0, 1e300
    for i in range(p):
        if not abs(said[i].value) < OPEN:  # also if it is not a number
            return False
        firm = said[2 * p + i].value
        strongest, weakest = max(strongest, firm), min(weakest, firm)
    if not weakest > WEAKEST * strongest:
        return False
    for i in range(3 * p, world.code.track_n):
        if valid and not abs(said[i].value - axes[i - 3 * p].value) < REVERSED:
            return False
    return True


@part
def keep(world: Any, motors: Any, sound: Any, said: Any, axes: Any) -> None:
    """Remember this window as the last sound one."""
    state = world.state
    for i in range(world.n_y):
        sound.y[i] = state.y[i]
    for i in range(world.n_z):
        sound.z[i] = state.z[i]
    for j in range(world.m):
        sound.peaks[j, 0], sound.peaks[j, 1] = motors[j].i_peak, motors[j].tau_peak
    for i in range(3 * passive_count(world), world.code.track_n):
        axes[i - 3 * passive_count(world)].value = said[i].value
    sound.error, sound.impact_J, sound.valid = state.error, state.impact_J, 1


@part
def go_back(world: Any, motors: Any, sound: Any) -> None:
    """Take the window back to the end of the last sound one."""
    state = world.state
    for i in range(world.n_y):
        state.y[i] = sound.y[i]
    for i in range(world.n_z):
        state.z[i] = sound.z[i]
    for j in range(world.m):
        motors[j].i_peak, motors[j].tau_peak = sound.peaks[j, 0], sound.peaks[j, 1]
    state.error, state.impact_J = sound.error, sound.impact_J


@piece
def check_closure(
    world_at: int, power_at: int, motors_at: int, stops_at: int, start: float, span: float
) -> None:
    """Look at the closures after a window; end the run before one that has met a singularity."""
    world = records_at(world_at, 1, WORLD)[0]
    code = world.code
    motors, sound = records_at(motors_at, world.m, MOTOR), records_at(code.sound_at, 1, SOUND)[0]
    # beside each other: arguments x and dq = 0 of the kernel, what it says, Q of the window before
    count = world.n_x + world.n
    given = records_at(code.track_at, count, NUMBER)
    said = records_at(code.track_at + 8 * count, code.track_n, NUMBER)
    axes = records_at(code.track_at + 8 * (count + code.track_n), code.track_n, NUMBER)
    for i in range(world.n_x):
        given[i].value = world.state.y[i]
    call_address(code.track, code.track_at, code.track_at + 8 * count, code.track_data)
    if is_sound(world, said, axes, sound.valid):
        keep(world, motors, sound, said, axes)
    elif sound.valid:
        go_back(world, motors, sound)
        world.state.status = SINGULAR
