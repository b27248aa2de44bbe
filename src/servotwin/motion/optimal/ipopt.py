"""IPOPT through its C interface, in the library that the casadi wheel brings; no Python runs while it solves.

Wächter and Biegler, On the implementation of an interior-point filter line-search algorithm for large-scale
nonlinear programming, Mathematical Programming 106, 25-57, 2006.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from servotwin.errors import UnsupportedError
from servotwin.mechanism.model import Array
from servotwin.motion.optimal import callbacks as cb
from servotwin.motion.optimal.block_nlp import BlockNlp, Table, make_table

INSTALL = "pip install 'servotwin[optimal]'"
INFINITE = 2e19  # beyond what IPOPT takes for a bound
POLL = 0.05  # s between two looks at a solver that runs
STATUS = {
    0: "solved",
    1: "solved to acceptable accuracy",
    2: "no point meets all limits",
    3: "no further progress: the step became too small",
    4: "the iterates diverge",
    5: "stopped",
    -1: "the largest number of iterations was reached",
    -2: "the restoration of the limits failed",
    -3: "a step could not be computed",
    -4: "the time was used up",
    -10: "fewer variables than equations",
    -11: "the problem is not defined",
    -12: "an option of the solver is not valid",
    -13: "a function gave something that is not a number",
    -102: "out of memory",
    -199: "an error inside the solver",
}
OPTIONS: dict[str, str | float | int] = {
    "print_level": 0,
    "sb": "yes",
    "tol": 1e-7,
    "constr_viol_tol": 1e-7,
    "dual_inf_tol": 1e-3,
    "compl_inf_tol": 1e-6,
    "acceptable_tol": 1e-5,
    "acceptable_constr_viol_tol": 1e-6,
    "acceptable_iter": 8,
    "max_iter": 300,
    "mu_init": 1e-2,
    "nlp_scaling_method": "none",
    "linear_solver": "mumps",
    "mumps_mem_percent": 400,
    "mumps_scaling": 0,
    "bound_relax_factor": 1e-9,
    "honor_original_bounds": "no",
}


def available() -> bool:
    """Whether the solver is installed."""
    return find_spec("casadi") is not None


@cache
def library() -> Any:
    """IPOPT's library; UnsupportedError with how to install it."""
    spec = find_spec("casadi")
    if spec is None or not spec.submodule_search_locations:
        raise UnsupportedError(f"optimal motions need IPOPT, which is not installed: {INSTALL}")
    folder = Path(next(iter(spec.submodule_search_locations)))
    found = sorted(folder.glob("libipopt.so.3")) or sorted(folder.glob("libipopt*.dylib"))
    if not found:
        raise UnsupportedError(f"the installed casadi has no IPOPT library; install another one: {INSTALL}")
    lib = ctypes.CDLL(str(found[0]))
    pointer, whole, real = ctypes.c_void_p, ctypes.c_int, ctypes.c_double
    lib.CreateIpoptProblem.restype = pointer
    lib.CreateIpoptProblem.argtypes = [
        *(whole, pointer, pointer, whole, pointer, pointer, whole, whole, whole),
        *(pointer,) * 5,
    ]
    lib.FreeIpoptProblem.argtypes = [pointer]
    lib.AddIpoptStrOption.argtypes = [pointer, ctypes.c_char_p, ctypes.c_char_p]
    lib.AddIpoptNumOption.argtypes = [pointer, ctypes.c_char_p, real]
    lib.AddIpoptIntOption.argtypes = [pointer, ctypes.c_char_p, whole]
    for name in ("AddIpoptStrOption", "AddIpoptNumOption", "AddIpoptIntOption", "SetIntermediateCallback"):
        getattr(lib, name).restype = ctypes.c_bool
    lib.SetIntermediateCallback.argtypes = [pointer, pointer]
    lib.IpoptSolve.restype = whole
    lib.IpoptSolve.argtypes = [pointer] * 8
    return lib


@dataclass(frozen=True)
class Solution:
    """What the solver returned: variables, constraints, multipliers of constraints and of both bounds."""

    status: int
    x: Array
    g: Array
    objective: float
    mult_g: Array
    mult_low: Array
    mult_high: Array
    iterations: int

    @property
    def solved(self) -> bool:
        """Whether the answer may be used."""
        return self.status in (0, 1)

    @property
    def text(self) -> str:
        """The solver's verdict in words."""
        return STATUS.get(self.status, f"status {self.status} of the solver")


def solve_nlp(
    nlp: BlockNlp,
    x0: Array,
    x_low: Array,
    x_high: Array,
    options: Mapping[str, str | float | int] | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Solution:
    """Solve a problem from x0.

    ``progress`` is told the iteration and the largest violation of a constraint.
    """
    lib, table = library(), make_table(nlp)
    low, high = (np.clip(np.concatenate(part), -INFINITE, INFINITE) for part in (nlp.low, nlp.high))
    bounds = [np.clip(np.asarray(b, dtype=float), -INFINITE, INFINITE) for b in (x_low, x_high)]
    jac, hess = nlp.jacobian_places()[0].size, nlp.hessian_places()[0].size
    functions = [f.address for f in (cb.eval_f, cb.eval_g, cb.eval_grad_f, cb.eval_jac_g, cb.eval_h)]
    sizes = [array.ctypes.data for array in (*bounds, low, high)]
    problem = lib.CreateIpoptProblem(
        nlp.n, sizes[0], sizes[1], nlp.m, sizes[2], sizes[3], jac, hess, 0, *functions
    )
    try:
        for name, value in {**OPTIONS, **(options or {})}.items():
            _set(lib, problem, name, value)
        lib.SetIntermediateCallback(problem, cb.intermediate.address)
        out = [np.array(x0, dtype=float), np.zeros(nlp.m), np.zeros(1), np.zeros(nlp.m)]
        out += [np.zeros(nlp.n), np.zeros(nlp.n)]
        status = _run(lib, problem, out, table, progress)
    finally:
        lib.FreeIpoptProblem(problem)
    x, g, objective, mult_g, mult_low, mult_high = out
    count = int(table.watch[cb.ITERATION])
    return Solution(status, x, g, float(objective[0]), mult_g, mult_low, mult_high, count)


def _set(lib: Any, problem: Any, name: str, value: str | float | int) -> None:
    key = name.encode()
    if isinstance(value, str):
        done = lib.AddIpoptStrOption(problem, key, value.encode())
    elif isinstance(value, int):
        done = lib.AddIpoptIntOption(problem, key, value)
    else:
        done = lib.AddIpoptNumOption(problem, key, value)
    if not done:
        raise ValueError(f"the solver has no option '{name}' with the value {value!r}")


def _run(
    lib: Any, problem: Any, out: list[Array], table: Table, progress: Callable[[int, float], None] | None
) -> int:
    """Solve in a thread of its own, so that Ctrl-C and progress are served; ctypes lets go of the interpreter."""
    at = [array.ctypes.data for array in out]
    return watched(
        lambda: int(lib.IpoptSolve(problem, *at, table.address)),
        table.watch,
        (cb.ITERATION, cb.PRIMAL, cb.STOP),
        progress,
    )


def watched(
    work: Callable[[], int],
    watch: Array,
    places: tuple[int, int, int],
    progress: Callable[[int, float], None] | None,
) -> int:
    """What ``work`` returns, done in a thread of its own that lets go of the interpreter.

    ``places`` in ``watch``: where it writes its iteration and its violation, and what makes it stop if it is set.
    """
    answer: list[int] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            answer.append(work())
        except BaseException as error:  # noqa: BLE001 -- raised again by whoever waits
            failed.append(error)

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    try:
        while worker.is_alive():
            worker.join(POLL)
            if progress is not None:
                progress(int(watch[places[0]]), float(watch[places[1]]))
    except BaseException:
        watch[places[2]] = 1.0
        _wait(worker)
        raise
    if failed:
        raise failed[0]
    return answer[0]


def _wait(worker: threading.Thread) -> None:
    """Wait for a thread even if Ctrl-C comes again: its compiled code uses memory that its starter owns."""
    while worker.is_alive():
        try:
            worker.join()
        except KeyboardInterrupt:
            continue
