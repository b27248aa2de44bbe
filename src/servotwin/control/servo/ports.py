"""The border between a servo and the world: FEEDBACK comes in, DRIVE_COMMAND goes out.

Both are records without addresses, for all axes of a robot side by side, so that they can lie in shared memory or
travel on a wire. A simulation fills FEEDBACK from its sensors and makes edges of DRIVE_COMMAND; a bench or a
fieldbus does the same with real ones. Instants are whole nanoseconds of the servo's clock.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

MAX_AXES = 16
_REAL, _WHOLE = np.float64, np.int64


class Sample(IntEnum):
    """Bits of ``DRIVE_COMMAND.samples``: what the servo wants to be read at its next instant."""

    COUNT = 1
    EDGE = 2  # the time of the last edge of the encoder
    CURRENT = 4


class DriveFault(IntEnum):
    """What the drive of an axis reports about itself (``FEEDBACK.fault``)."""

    NONE = 0
    OVER_TEMPERATURE = 1  # of the winding


FEEDBACK: np.dtype[Any] = np.dtype(
    [
        ("time", _WHOLE),  # instant of the samples [ns]
        (
            "bus_voltage",
            _REAL,
        ),  # V, of the intermediate circuit as the power stage measures it with every sample
        ("count", _WHOLE, (MAX_AXES,)),  # encoder, counts per line as its counting says
        ("edge_time", _REAL, (MAX_AXES,)),  # of the last edge before ``time`` [s]; -inf: no edge
        # currents of the winding, of the phases a and b of three-phase motors; A, or parts of the sensor's full
        # scale where ``per_unit`` says so
        ("current_a", _REAL, (MAX_AXES,)),
        ("current_b", _REAL, (MAX_AXES,)),
        ("per_unit", _WHOLE, (MAX_AXES,)),
        ("pressure_a", _REAL, (MAX_AXES,)),  # Pa, of the chambers of a hydraulic axis
        ("pressure_b", _REAL, (MAX_AXES,)),
        ("fault", _WHOLE, (MAX_AXES,)),  # a ``DriveFault``
    ]
)

DRIVE_COMMAND: np.dtype[Any] = np.dtype(
    [
        ("next", _WHOLE),  # instant at which the servo samples next [ns]
        ("samples", _WHOLE),  # what it reads then (``Sample``)
        ("period_start", _WHOLE),  # instant from which the modulation below holds [ns]; -1: none yet
        # modulation of the bridge, -1 to 1; of three phases the alpha and beta component
        ("modulation_a", _REAL, (MAX_AXES,)),
        ("modulation_b", _REAL, (MAX_AXES,)),
        ("current", _REAL, (MAX_AXES,)),  # A, for drives that close the current loop themselves
        ("valve_current", _REAL, (MAX_AXES,)),  # A, of a servovalve
        # lines, not samples: they hold from the instant at which they change, whatever ``next`` says
        ("enable", _WHOLE, (MAX_AXES,)),  # 0: the bridge is off, no current flows
        ("brake_released", _WHOLE, (MAX_AXES,)),  # 0: the brake has no voltage, and closes after its delay
    ]
)
