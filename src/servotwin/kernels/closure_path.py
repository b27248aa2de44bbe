"""From home to q along the straight way, the loops of a closed chain kept closed: one compiled loop for all robots.

The loop calls a robot's kernel ``closed_track`` by its address. From one closed point to the next it follows
the tangent and corrects by Newton steps. A step counts only if

- the corrections are small beside the motion itself and shrink fast,
- the motion agrees with the mean of the tangents at both ends,
- with S_p = Q R, no R_jj has lost most of its size, nor is it next to nothing: a singularity is approached in
  several steps, if at all,
- and Q has turned little: crossing a singularity would reverse a column.

Otherwise a step of half the length is tried. Where no step succeeds the walk ends before q, and says so: it
does not arrive on another branch of the assembly.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import numpy as np

from servotwin.cache.sources import source_digest
from servotwin.cache.store import write_entry
from servotwin.compiled import shipped
from servotwin.compiled.llvm import abi, compile_object, load_object
from servotwin.kernels.kernel_store import Kernel
from servotwin.kernels.ufunc import make_ufunc
from servotwin.mechanism.model import Array

START = 0.2  # length of the first step [rad, m]
FIRST = 0.15  # the first correction, as part of the step of the passive joints, at most
SHRINK = 0.5  # every further correction, as part of the one before, at most
MEAN = 0.1  # difference between a step and the mean of its tangents, as part of the step, at most
KEEP = 0.3  # what every R_jj keeps of its size in one step, at least
SINGULAR = 1e-7  # R_jj below this part of the largest: the passive joints are not held
TURN = 1.0  # squared change of Q in one step, at most; a reversed column counts 4
EXACT = 1e-9  # a point is closed after a correction that is smaller: the next one would be below rounding
SHORTEST = 1e-8  # steps below this length [rad, m] are not tried
NEWTON = 10  # corrections of one point
EVALUATIONS = 200_000

NAME = "walk"


def make_walk(track: Kernel, x_home: Array, n: int) -> np.ufunc:
    """Ufunc ``(n) -> (n_x), ()``: coordinates at q, and the part of the way from home that was walked (1: all).

    ``track`` is the robot's kernel ``closed_track``; the caller keeps it alive. ``x_home`` (n_x,) closes the loops.
    """
    (length,) = track.compiled.outputs[0]
    words = np.array(
        [track.compiled.address, track.consts.ctypes.data, n, len(x_home) - n, length], dtype=np.int64
    )
    consts = np.concatenate([words.view(np.float64), x_home])
    shapes: list[tuple[int, ...]] = [(len(x_home),), ()]
    return make_ufunc(_address(), consts, [(n,)], shapes, NAME, "coordinates of a closed chain at q")


@cache
def _address() -> int:
    version = source_digest("kernels/closure_path", given=["kernels/kernel_store", "mechanism/model"])
    entry = shipped.entry_of("kernels", lambda level: _key(level, version))
    code = entry[1] if entry else compile_object(assembly())
    if entry is None:
        write_entry(_key(None, version), {"kind": NAME}, code)
    return load_object(code, [NAME])[0]


def _key(level: str | None, version: str) -> str:
    return hashlib.sha256("|".join((NAME, abi(level), version)).encode()).hexdigest()


def assembly() -> str:
    """LLVM assembly of the loop."""
    code = _Code()
    _walk(code)
    lines = [f"define void @{NAME}(ptr %args, ptr %dims, ptr %strides, ptr %data) {{", "entry:"]
    lines += [*code.variables, *code.lines, "  ret void", "}", "declare double @llvm.sqrt.f64(double)"]
    return "\n".join(lines) + "\n"


class _Code:
    """Lines of LLVM assembly: variables, arrays, loops. Values are names; booleans are i1."""

    def __init__(self) -> None:
        self.variables: list[str] = []  # in the first block, so that loops do not use up the stack
        self.lines: list[str] = []
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def line(self, text: str) -> str:
        name = f"%{self.name()}"
        self.lines.append(f"  {name} = {text}")
        return name

    def variable(self, start: str, kind: str = "double") -> str:
        name = f"%{self.name()}"
        self.variables.append(f"  {name} = alloca {kind}")
        self.set(name, start, kind)
        return name

    def array(self, count: str, kind: str = "double") -> str:
        return self.line(f"alloca {kind}, i64 {count}")

    def get(self, variable: str, kind: str = "double") -> str:
        return self.line(f"load {kind}, ptr {variable}")

    def set(self, variable: str, value: str, kind: str = "double") -> None:
        self.lines.append(f"  store {kind} {value}, ptr {variable}")

    def at(self, array: str, index: str, kind: str = "double") -> str:
        return self.line(f"getelementptr {kind}, ptr {array}, i64 {index}")

    def item(self, array: str, index: str, kind: str = "double") -> str:
        return self.get(self.at(array, index, kind), kind)

    def beyond(self, pointer: str, count: str, stride: str) -> str:
        return self.line(f"getelementptr i8, ptr {pointer}, i64 {self.line(f'mul i64 {count}, {stride}')}")

    def do(self, op: str, x: str, y: str) -> str:
        return self.line(f"f{op} double {x}, {y}")

    def less(self, x: str, y: str) -> str:
        """x < y; false if one of them is not a number."""
        return self.line(f"fcmp olt double {x}, {y}")

    def choose(self, condition: str, x: str, y: str) -> str:
        return self.line(f"select i1 {condition}, double {x}, double {y}")

    def sqrt(self, x: str) -> str:
        return self.line(f"call double @llvm.sqrt.f64(double {x})")

    def label(self, name: str) -> None:
        self.lines += [f"  br label %{name}", f"{name}:"]

    @contextmanager
    def forever(self) -> Iterator[Callable[[str], None]]:
        """Body that repeats until the yielded function meets a true condition."""
        head, after = self.name(), self.name()
        self.label(head)

        def leave(condition: str) -> None:
            onward = self.name()
            self.lines += [f"  br i1 {condition}, label %{after}, label %{onward}", f"{onward}:"]

        yield leave
        self.lines += [f"  br label %{head}", f"{after}:"]

    @contextmanager
    def loop(self, count: str) -> Iterator[str]:
        """Body for an index from 0 to count - 1."""
        index = self.variable("0", "i64")
        with self.forever() as leave:
            i = self.get(index, "i64")
            leave(self.line(f"icmp sge i64 {i}, {count}"))
            yield i
            self.set(index, self.line(f"add i64 {i}, 1"), "i64")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Body that runs if the condition is true."""
        inside, after = self.name(), self.name()
        self.lines += [f"  br i1 {condition}, label %{inside}, label %{after}", f"{inside}:"]
        yield
        self.label(after)

    def squares(self, array: str, count: str, other: str = "") -> str:
        """Sum of squares of an array, or of its difference to another one; not a number if one entry is not."""
        total = self.variable("0.0")
        with self.loop(count) as i:
            value = self.item(array, i)
            if other:
                value = self.do("sub", value, self.item(other, i))
            self.set(total, self.do("add", self.get(total), self.do("mul", value, value)))
        return self.get(total)

    def copy(self, target: str, source: str, count: str) -> None:
        with self.loop(count) as i:
            self.set(self.at(target, i), self.item(source, i))


@dataclass
class _Places:
    """Sizes and arrays of one walk. Three arrays hold what the step kernel says about a point."""

    n: str
    m: str
    width: str  # n + m
    length: str  # of what the kernel says
    home: str
    q: str  # target, contiguous
    dq: str
    x: str  # the last closed point
    y: str  # the point that is tried
    of_x: str
    of_y: str

    def parts(self, code: _Code, of: str) -> tuple[str, str, str, str]:
        """Correction (m), tangent (m), diagonal of R (m) and Q in what the kernel says."""
        tangent = code.at(of, self.m)
        firm = code.at(tangent, self.m)
        return of, tangent, firm, code.at(firm, self.m)


def _walk(code: _Code) -> None:
    step, step_data, n, m, length = (code.item("%data", str(k), "i64") for k in range(5))
    width = code.line(f"add i64 {n}, {m}")
    arrays = [code.array(count) for count in (n, n, width, width, length, length)]
    place = _Places(n, m, width, length, code.at("%data", "5"), *arrays)
    addresses = [code.line(f"inttoptr i64 {word} to ptr") for word in (step, step_data)]
    call = _caller(code, place, *addresses)
    args = [code.item("%args", str(k), "ptr") for k in range(3)]
    strides = [code.item("%strides", str(k), "i64") for k in range(5)]
    with code.loop(code.get("%dims", "i64")) as row:
        given, found, walked = (code.beyond(a, row, s) for a, s in zip(args, strides[:3], strict=True))
        with code.loop(n) as i:
            value = code.get(code.beyond(given, i, strides[3]))
            code.set(code.at(place.q, i), value)
            code.set(code.at(place.dq, i), code.do("sub", value, code.item(place.home, i)))
        code.set(walked, _one_walk(code, place, call))
        with code.loop(width) as i:
            code.set(code.beyond(found, i, strides[4]), code.item(place.x, i))


Caller = Callable[[str, str], None]


def _caller(code: _Code, place: _Places, step: str, data: str) -> Caller:
    """What evaluates the step kernel at a point, as NumPy would call it for one row."""
    arguments, strides, one = code.array("3", "ptr"), code.array("6", "i64"), code.array("1", "i64")
    code.set(one, "1", "i64")
    for k, size in enumerate((0, 0, 0, 8, 8, 8)):
        code.set(code.at(strides, str(k), "i64"), str(size), "i64")
    code.set(code.at(arguments, "1", "ptr"), place.dq, "ptr")

    def call(point: str, out: str) -> None:
        code.set(arguments, point, "ptr")
        code.set(code.at(arguments, "2", "ptr"), out, "ptr")
        code.lines.append(f"  call void {step}(ptr {arguments}, ptr {one}, ptr {strides}, ptr {data})")

    return call


def _one_walk(code: _Code, place: _Places, call: Caller) -> str:
    """Walk to one q; the part of the way that was done. The point reached is left in ``x``."""
    code.copy(place.x, place.home, place.width)
    call(place.x, place.of_x)
    tangent = place.parts(code, place.of_x)[1]
    whole = code.sqrt(code.do("add", code.squares(place.dq, place.n), code.squares(tangent, place.m)))
    at, ahead, budget = code.variable("0.0"), code.variable("1.0"), code.variable(str(EVALUATIONS), "i64")
    code.set(ahead, code.choose(code.less(_real(START), whole), code.do("div", _real(START), whole), "1.0"))
    at_home = code.line(f"fcmp ole double {whole}, {_real(SHORTEST)}")
    with code.forever() as leave:
        leave(code.line(f"fcmp oge double {code.get(at)}, 1.0"))
        # false too for a way of unknown length, when q is not a number
        long_enough = code.less(_real(SHORTEST), code.do("mul", code.get(ahead), whole))
        first = code.line(f"and i1 {at_home}, {code.line(f'fcmp oge double {code.get(ahead)}, 1.0')}")
        leave(code.line(f"xor i1 {code.line(f'or i1 {long_enough}, {first}')}, true"))
        leave(code.line(f"icmp sle i64 {code.get(budget, 'i64')}, 0"))
        to = code.do("add", code.get(at), code.get(ahead))
        last = code.line(f"fcmp oge double {to}, 1.0")
        to = code.choose(last, "1.0", to)
        by = code.do("sub", to, code.get(at))
        growth = _try(code, place, call, to, by, last, budget)
        code.set(ahead, code.do("mul", by, code.choose(code.less("0.0", growth), growth, "0.5")))
        with code.when(code.less("0.0", growth)):
            code.copy(place.x, place.y, place.width)
            code.copy(place.of_x, place.of_y, place.length)
            code.set(at, to)
    return code.get(at)


def _try(code: _Code, place: _Places, call: Caller, to: str, by: str, last: str, budget: str) -> str:
    """Close the point at part ``to`` of the way; by how much the next step may grow, 0 if this one fails."""
    with code.loop(place.n) as i:
        between = code.do("add", code.item(place.home, i), code.do("mul", to, code.item(place.dq, i)))
        code.set(code.at(place.y, i), code.choose(last, code.item(place.q, i), between))
    passive, now = code.at(place.y, place.n), code.at(place.x, place.n)
    tangent = place.parts(code, place.of_x)[1]
    with code.loop(place.m) as i:
        motion = code.do("mul", by, code.item(tangent, i))
        code.set(code.at(passive, i), code.do("add", code.item(now, i), motion))
    reach = code.do("mul", by, code.sqrt(code.squares(tangent, place.m)))
    first = code.do("mul", _real(FIRST), reach)
    limit, growth = code.variable(code.do("add", _real(EXACT), first)), code.variable("0.0")
    tries, initial = code.variable("0", "i64"), code.variable("0.0")
    with code.forever() as leave:
        count = code.get(tries, "i64")
        leave(code.line(f"icmp sge i64 {count}, {NEWTON}"))
        code.set(tries, code.line(f"add i64 {count}, 1"), "i64")
        code.set(budget, code.line(f"sub i64 {code.get(budget, 'i64')}, 1"), "i64")
        call(place.y, place.of_y)
        size = code.sqrt(code.squares(place.of_y, place.m))
        leave(code.line(f"fcmp ugt double {size}, {code.get(limit)}"))
        with code.when(code.line(f"icmp eq i64 {count}, 0")):
            code.set(initial, size)
        with code.loop(place.m) as i:
            code.set(code.at(passive, i), code.do("add", code.item(passive, i), code.item(place.of_y, i)))
        done = code.line(f"fcmp ole double {size}, {_real(EXACT)}")
        with code.when(done):
            code.set(growth, _growth(code, place, by, reach, code.get(initial)))
        leave(done)
        shrunk = code.do("mul", _real(SHRINK), size)
        code.set(limit, code.choose(code.less(shrunk, _real(EXACT)), _real(EXACT), shrunk))
    return code.get(growth)


def _growth(code: _Code, place: _Places, by: str, reach: str, initial: str) -> str:
    """Growth of the step after a point that closed: up to 3, or 0 if the point may be on another branch."""
    _, tangent_x, firm_x, Q_x = place.parts(code, place.of_x)
    _, tangent_y, firm_y, Q_y = place.parts(code, place.of_y)
    three = code.line(f"mul i64 {place.m}, 3")
    turned = code.squares(Q_y, code.line(f"sub i64 {place.length}, {three}"), Q_x)
    off, good = code.variable("0.0"), code.variable("true", "i1")
    half = code.do("mul", by, "0.5")
    firmest = code.do("mul", _real(SINGULAR), _largest(code, firm_y, place.m))
    with code.loop(place.m) as i:
        mean = code.do("mul", half, code.do("add", code.item(tangent_x, i), code.item(tangent_y, i)))
        k = code.line(f"add i64 {i}, {place.n}")
        rest = code.do("sub", code.do("sub", code.item(place.y, k), code.item(place.x, k)), mean)
        code.set(off, code.do("add", code.get(off), code.do("mul", rest, rest)))
        for least in (code.do("mul", _real(KEEP), code.item(firm_x, i)), firmest):
            kept = code.line(f"fcmp oge double {code.item(firm_y, i)}, {least}")
            code.set(good, code.line(f"and i1 {code.get(good, 'i1')}, {kept}"), "i1")
    allowed = code.do("add", _real(EXACT), code.do("mul", _real(MEAN), reach))
    straight = code.line(f"fcmp ole double {code.sqrt(code.get(off))}, {allowed}")
    steady = code.line(f"fcmp ole double {turned}, {_real(TURN)}")
    fine = code.line(f"and i1 {code.get(good, 'i1')}, {code.line(f'and i1 {straight}, {steady}')}")
    growth = "3.0"
    by_turn = code.sqrt(code.do("div", _real(TURN), code.do("add", turned, _real(EXACT))))
    by_first = code.do("div", code.do("mul", _real(FIRST), reach), code.do("add", initial, _real(EXACT)))
    for bound in (by_turn, by_first):
        bound = code.do("mul", "0.8", bound)
        growth = code.choose(code.less(bound, growth), bound, growth)
    # a step that closed at once (only joints moved that carry whole loops) may have no reach to judge by
    growth = code.choose(code.less(growth, "0.1"), "1.0", growth)
    return code.choose(fine, growth, "0.0")


def _largest(code: _Code, array: str, count: str) -> str:
    largest = code.variable("0.0")
    with code.loop(count) as i:
        value = code.item(array, i)
        code.set(largest, code.choose(code.less(code.get(largest), value), value, code.get(largest)))
    return code.get(largest)


def _real(value: float) -> str:
    """A number as LLVM reads it without rounding."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
