"""How the processor treats denormal numbers.

Direct3D flushes them in single precision and keeps them in double, and the processor knows one mode for both. Programs without
doubles run with flushing; programs with doubles run without, and their single-precision operations flush by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from wddm.hw.isa import ShaderProgram

from .analysis import SIGNATURES, instructions
from .builder import I32, VOID, Function, Value


def uses_doubles(program: ShaderProgram | None) -> bool:
    """Whether an operation of the program takes or makes doubles."""
    return program is not None and any("d" in SIGNATURES[ins[0]] for ins in instructions(program) if ins[0] in SIGNATURES)


def set_float_mode(f: Function, *, denormals: bool = False) -> Value:
    """Round to nearest, mask exceptions, flush denormals unless they are wanted; returns where the caller's mode is kept."""
    saved = f.array(I32, 2, 4)
    f.call("llvm.x86.sse.stmxcsr", VOID, [saved])
    f.store(f.value(0x1F80 if denormals else 0x9FC0, I32), saved, 4)
    f.call("llvm.x86.sse.ldmxcsr", VOID, [f.offset(saved, 4)])
    return saved


def restore_float_mode(f: Function, saved: Value) -> None:
    """The caller's mode again."""
    f.call("llvm.x86.sse.ldmxcsr", VOID, [saved])


@contextmanager
def float_mode(f: Function, program: ShaderProgram | None) -> Iterator[None]:
    """What is written inside may hold the program; the function was called with denormals flushed."""
    if not uses_doubles(program):
        yield
        return
    saved = set_float_mode(f, denormals=True)
    yield
    restore_float_mode(f, saved)


def flush(f: Function, bits: Value) -> Value:
    """Denormal floats (as bits) become zeros of their sign."""
    return (bits & 0x7F80_0000).eq(0).select(bits & -(1 << 31), bits)
