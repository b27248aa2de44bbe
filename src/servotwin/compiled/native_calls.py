"""Compiled code calls a robot's generated kernel by its address, so that one loop serves every robot."""

from __future__ import annotations

import servotwin.compiled.numba_start  # noqa: F401 -- before numba

# isort: split
from typing import Any

from numba import types
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def call_address(typing: Any, address: Any, inputs: Any, outputs: Any, data: Any) -> Any:
    """``((void (*)(double *, double *, double *)) address)(inputs, outputs, data)``, all given as integers."""
    from llvmlite import ir

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        double = ir.DoubleType().as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [double] * 3)
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        builder.call(function, [builder.inttoptr(argument, double) for argument in arguments[1:]])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def call_law(typing: Any, address: Any, time: Any, signals: Any, memory: Any, command: Any) -> Any:
    """``((void (*)(double, double *, double *, double *)) address)(time, signals, memory, command)``."""
    from llvmlite import ir

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        double = ir.DoubleType().as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [ir.DoubleType(), double, double, double])
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        pointers = [builder.inttoptr(argument, double) for argument in arguments[2:]]
        builder.call(function, [arguments[1], *pointers])
        return context.get_dummy_value()

    return types.void(types.int64, types.float64, types.int64, types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def call_actuator(
    typing: Any,
    address: Any,
    x: Any,
    dx: Any,
    out: Any,
    p: Any,
    theta: Any,
    w: Any,
    command: Any,
    supply: Any,
) -> Any:
    """``((void (*)(double *, double *, double *, double *, double, double, double, double)) address)(...)``."""
    from llvmlite import ir

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        real = ir.DoubleType()
        kind = ir.FunctionType(ir.VoidType(), [real.as_pointer()] * 4 + [real] * 4)
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        pointers = [builder.inttoptr(argument, real.as_pointer()) for argument in arguments[1:5]]
        builder.call(function, [*pointers, *arguments[5:]])
        return context.get_dummy_value()

    whole, real = types.int64, types.float64
    return types.void(whole, whole, whole, whole, whole, real, real, real, real), generate


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def call_piece(
    typing: Any, piece: Any, world: Any, power: Any, motors: Any, stops: Any, t: Any, span: Any
) -> Any:
    """Call a compiled piece of a simulation by its address; records are given by their addresses."""
    from llvmlite import ir

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole, real = ir.IntType(64), ir.DoubleType()
        kind = ir.FunctionType(ir.VoidType(), [whole] * 4 + [real] * 2)
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), list(arguments[1:]))
        return context.get_dummy_value()

    whole, real = types.int64, types.float64
    return types.void(whole, whole, whole, whole, whole, real, real), generate


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def call_wholes(typing: Any, address: Any, wholes: Any) -> Any:
    """``((void (*)(int64, ...)) address)(...)`` with the whole numbers of a tuple."""
    from llvmlite import ir

    count = len(wholes)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [whole] * count)
        numbers = [builder.extract_value(arguments[1], k) for k in range(count)]
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), numbers)
        return context.get_dummy_value()

    return types.void(types.int64, types.UniTuple(types.int64, count)), generate


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def records_at(typing: Any, address: Any, count: Any, dtype: Any) -> Any:
    """The array of ``count`` records that stands at an address."""
    from numba.np.arrayobj import make_array, populate_array

    array = types.Array(dtype.dtype, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = make_array(array)(context, builder)
        place = context.get_data_type(dtype.dtype).as_pointer()
        size = context.get_constant(types.intp, dtype.dtype.size)
        populate_array(
            made,
            data=builder.inttoptr(arguments[0], place),
            shape=(arguments[1],),
            strides=(size,),
            itemsize=size,
            meminfo=None,
        )
        return made._getvalue()

    return array(types.int64, types.int64, dtype), generate


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def table_at(typing: Any, address: Any, shape: Any, dtype: Any) -> Any:
    """The array of numbers of a NumPy type, row by row, that stands at an address; ``shape``: a tuple."""
    from numba.np.arrayobj import make_array, populate_array

    count = len(shape)
    array = types.Array(dtype.dtype, count, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = make_array(array)(context, builder)
        number = context.get_data_type(dtype.dtype)
        size = context.get_constant(types.intp, context.get_abi_sizeof(number))
        lengths = [builder.extract_value(arguments[1], k) for k in range(count)]
        strides = [size]
        for length in reversed(lengths[1:]):
            strides.insert(0, builder.mul(strides[0], length))
        populate_array(
            made,
            data=builder.inttoptr(arguments[0], number.as_pointer()),
            shape=lengths,
            strides=strides,
            itemsize=size,
            meminfo=None,
        )
        return made._getvalue()

    return array(types.int64, types.UniTuple(types.int64, count), dtype), generate


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def numbers_at(typing: Any, address: Any, dtype: Any) -> Any:
    """The pointer to numbers of a NumPy type that stand at an address; index it, or view it with ``carray``."""
    pointer = types.CPointer(dtype.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(pointer))

    return pointer(types.int64, dtype), generate


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def address_of(typing: Any, pointer: Any) -> Any:
    """Where a pointer points to."""
    from llvmlite import ir

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ptrtoint(arguments[0], ir.IntType(64))

    return types.int64(pointer), generate


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def call_step(typing: Any, address: Any, record: Any, choice: Any) -> Any:
    """``((double (*)(int64, int64)) address)(record, choice)``: a step of a method, compiled by itself."""
    from llvmlite import ir

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = ir.IntType(64)
        kind = ir.FunctionType(ir.DoubleType(), [whole, whole])
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), list(arguments[1:]))

    return types.float64(types.int64, types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def not_inlined(typing: Any) -> Any:
    """Said in a function that several others call: its code exists once, which is quicker to compile."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), generate


def copy_of(count: int) -> Any:
    """What copies ``count`` doubles from one array to another, each from an index on, with as few stores as can be.

    A wide load behind single stores waits until all of them have reached the memory; behind a wide store it does not.
    """

    @intrinsic  # type: ignore[untyped-decorator,unused-ignore]
    def copy(typing: Any, target: Any, target_from: Any, source: Any, source_from: Any) -> Any:
        from llvmlite import ir
        from numba.np.arrayobj import make_array

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            byte, whole = ir.IntType(8).as_pointer(), ir.IntType(64)
            places = [
                builder.bitcast(
                    builder.gep(make_array(array)(context, builder, arguments[k]).data, [arguments[k + 1]]),
                    byte,
                )
                for array, k in ((target, 0), (source, 2))
            ]
            memcpy = builder.module.declare_intrinsic("llvm.memcpy", [byte, byte, whole])
            builder.call(memcpy, [*places, whole(8 * count), ir.IntType(1)(0)])
            return context.get_dummy_value()

        return types.void(target, types.int64, source, types.int64), generate

    return copy
