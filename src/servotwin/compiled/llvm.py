"""LLVM assembly -> machine code in this process, through llvmlite; no C compiler involved."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm

_kept: list[Any] = []  # engines own the code that function addresses point into


@cache
def host() -> tuple[str, str, str]:
    """Target triple, processor name and feature list of this machine."""
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@cache
def abi() -> str:
    """Everything outside the graph that decides whether stored machine code may run here."""
    return "|".join((*host(), llvmlite.__version__, ".".join(map(str, llvm.llvm_version_info)), sys.platform))


@cache
def simd_width() -> int:
    """Doubles per SIMD register worth using: 8 with AVX-512, 4 with AVX2 and FMA, otherwise 2."""
    features = dict(llvm.get_host_cpu_features())
    if features.get("avx512f"):
        return 8
    return 4 if features.get("avx2") and features.get("fma") else 2


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
