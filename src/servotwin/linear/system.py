"""A linear system with names and units, and the forms that other programs take it in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from servotwin.errors import MissingExtraError, ShapeError

Array = NDArray[np.float64]


class Quantity(NamedTuple):
    """A state, input or output."""

    name: str  # such as "A.current"
    unit: str


@dataclass(frozen=True)
class LinearSystem:
    """x' = A x + B u, y = C x + D u about a point; with ``period`` [s] sampled, x[k+1] = A x[k] + B u[k]."""

    A: Array
    B: Array
    C: Array
    D: Array
    states: tuple[Quantity, ...]
    inputs: tuple[Quantity, ...]
    outputs: tuple[Quantity, ...]
    name: str = ""
    period: float | None = None
    x0: Array = field(
        default_factory=lambda: np.zeros(0)
    )  # the point: deviations from it are the system's states
    u0: Array = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        n, m, p = len(self.states), len(self.inputs), len(self.outputs)
        shapes = {"A": (n, n), "B": (n, m), "C": (p, n), "D": (p, m)}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ShapeError(f"{name} has shape {getattr(self, name).shape}; expected {shape}")

    @property
    def order(self) -> int:
        """Number of states."""
        return len(self.states)

    @property
    def poles(self) -> NDArray[np.complex128]:
        """Eigenvalues of A, slowest first."""
        values = np.linalg.eigvals(self.A).astype(np.complex128)
        return values[np.lexsort((values.imag, np.round(np.abs(values), 9)))]

    def with_outputs(self, C: Array, outputs: Sequence[Quantity]) -> LinearSystem:
        """The same system seen through other outputs."""
        C = np.asarray(C, dtype=np.float64)
        return replace(self, C=C, D=np.zeros((len(C), len(self.inputs))), outputs=tuple(outputs))

    def channel(self, output: int, source: int) -> LinearSystem:
        """One output and one input of it."""
        return replace(
            self,
            B=self.B[:, [source]],
            C=self.C[[output]],
            D=self.D[[output]][:, [source]],
            inputs=(self.inputs[source],),
            outputs=(self.outputs[output],),
        )

    # --- for other programs -----------------------------------------------------------------------
    def scipy(self) -> Any:
        """As ``scipy.signal.StateSpace``; sampled systems with their ``dt``."""
        from scipy.signal import StateSpace

        matrices = (self.A, self.B, self.C, self.D)
        return StateSpace(*matrices) if self.period is None else StateSpace(*matrices, dt=self.period)

    def control(self) -> Any:
        """As ``control.StateSpace`` of python-control, with the names of states, inputs and outputs."""
        try:
            import control
        except ImportError:
            raise MissingExtraError("python-control objects", "control", "control") from None
        names = {
            "states": [_plain(q.name) for q in self.states],
            "inputs": [_plain(q.name) for q in self.inputs],
            "outputs": [_plain(q.name) for q in self.outputs],
        }
        return control.ss(
            self.A, self.B, self.C, self.D, 0 if self.period is None else self.period, name=self.name, **names
        )

    def data(self) -> dict[str, Any]:
        """As plain data, matrices row by row."""
        return {
            "name": self.name,
            "period_s": self.period,
            "states": [q._asdict() for q in self.states],
            "inputs": [q._asdict() for q in self.inputs],
            "outputs": [q._asdict() for q in self.outputs],
            "x0": self.x0.tolist(),
            "u0": self.u0.tolist(),
            **{name: getattr(self, name).tolist() for name in "ABCD"},
        }


def _plain(name: str) -> str:
    """A name without dots, which python-control keeps for its own."""
    return name.replace(".", "_")
