"""LLVM assembly -> machine code in this process, through llvmlite; no C compiler involved."""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm

V3 = frozenset(
    "avx avx2 bmi bmi2 cx16 f16c fma lzcnt movbe popcnt sahf sse3 sse4.1 sse4.2 ssse3 xsave".split()  # noqa: SIM905
)
# Levels of the x86-64 psABI, the best first: what a processor has that runs code made for them.
LEVELS = {
    "x86-64-v4": V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "x86-64-v3": V3,
}
_kept: list[Any] = []  # engines own the code that function addresses point into


@cache
def host() -> tuple[str, str, str]:
    """Target triple, processor name and feature list of the code that is made here.

    They are this machine's; the variables NUMBA_CPU_NAME and NUMBA_CPU_FEATURES choose others, as for numba.
    """
    name = os.environ.get("NUMBA_CPU_NAME", "") or llvm.get_host_cpu_name()
    features = os.environ.get("NUMBA_CPU_FEATURES")
    if features is None:
        features = "" if name.lower() == "generic" else llvm.get_host_cpu_features().flatten()
    return llvm.get_process_triple(), name, features


def target_of(level: str | None) -> tuple[str, str, str]:
    """The same for code of a level of processors; None: for what ``host`` says."""
    return host() if level is None else (llvm.get_process_triple(), level, "")


def reached(level: str) -> bool:
    """Whether this machine runs code of a level."""
    present = dict(llvm.get_host_cpu_features())
    return llvm.get_process_triple().startswith("x86_64") and all(map(present.get, LEVELS[level]))


@cache
def abi(level: str | None = None) -> str:
    """Everything outside the graph that decides whether stored machine code may run here."""
    version = ".".join(map(str, llvm.llvm_version_info))
    return "|".join((*target_of(level), llvmlite.__version__, version, sys.platform))


@cache
def simd_width() -> int:
    """Doubles per SIMD register worth using: 8 with AVX-512, 4 with AVX2 and FMA, otherwise 2."""
    _, name, features = host()
    present = LEVELS.get(name) or {each[1:] for each in features.split(",") if each.startswith("+")}
    if "avx512f" in present:
        return 8
    return 4 if {"avx2", "fma"} <= present else 2


@cache
def _target_machine(level: int = 2) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple, cpu, features = host()
    target = llvm.Target.from_triple(triple)
    return target.create_target_machine(
        cpu=cpu, features=features, opt=level, reloc="pic", codemodel="small", jit=True
    )


def compile_object(assembly: str, *, quick: bool = False) -> bytes:
    """Machine code of a module as a relocatable object; ``quick``: made in a twentieth of the time, to slower code."""
    module = llvm.parse_assembly(f'target triple = "{host()[0]}"\n{assembly}')
    machine = _target_machine(0 if quick else 2)
    module.data_layout = str(machine.target_data)
    module.verify()
    return bytes(machine.emit_object(module))


OBJECT_STARTS = {"linux": b"\x7fELF\x02\x01", "darwin": b"\xcf\xfa\xed\xfe", "win32": b"\x64\x86"}


def load_object(code: bytes, names: list[str]) -> list[int]:
    """Place an object in executable memory; addresses of the named functions.

    LLVM ends the process on bytes that are no object file, so the first ones are looked at before.
    """
    if not code.startswith(OBJECT_STARTS.get(sys.platform, b"")):
        raise ValueError("not an object file of this platform")
    machine = _target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(f'target triple = "{host()[0]}"'), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    addresses = [int(engine.get_function_address(name)) for name in names]
    if not all(addresses):
        raise ValueError("the object does not define what was asked for")
    _kept.append(engine)
    return addresses
