"""Compile and run small pieces of HLSL, so that a test can compare them with numpy."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support.dxbc_interpreter import run_compute
from wddm import hlsl
from wddm.dxbc import assemble, disassemble
from wddm.dxbc.container import ShaderBlob
from wddm.dxbc.validate import check

_KERNEL = """
StructuredBuffer<float4> source : register(t0);
StructuredBuffer<int4> integers : register(t1);
RWStructuredBuffer<{type}> result : register(u0);
{globals}
[numthreads({lanes}, 1, 1)] void main(uint i : SV_DispatchThreadID)
{{
    float4 a = source[i * 3], b = source[i * 3 + 1], c = source[i * 3 + 2];
    int4 p = integers[i * 3], q = integers[i * 3 + 1], r = integers[i * 3 + 2];
    uint4 up = p, uq = q, ur = r;
    {body}
}}
"""


def sound(blob: bytes) -> ShaderBlob:
    """The parsed container, after checking that the program is legal and survives a trip through text."""
    shader = ShaderBlob.parse(blob)
    faults = check(shader.program)
    assert not faults, (str(faults[0]), disassemble(blob))
    again = ShaderBlob.parse(assemble(disassemble(blob)))
    assert again.program == shader.program
    return shader


def run_kernel(
    body: str, floats: Any, ints: Any = None, *, type: str = "float4", globals: str = "", profile: str = "cs_5_0",
    size: int = 4, count: int = 0, **memory: Any,
) -> Any:  # fmt: skip
    """Run ``body`` once per lane; it reads a b c, p q r, up uq ur and writes ``result[i]``.

    ``floats``: (lanes, 3, 4) or None; ``ints`` likewise.  The result is (lanes, size) uint32.
    """
    floats = np.zeros((len(ints), 3, 4), np.float32) if floats is None else np.asarray(floats, np.float32)
    lanes = len(floats)
    ints = np.zeros((lanes, 3, 4), np.int32) if ints is None else np.asarray(ints, np.int64).astype(np.uint32)
    blob = hlsl.compile(_KERNEL.format(type=type, globals=globals, lanes=lanes, body=body), profile=profile)
    sound(blob)
    out = np.zeros((count or lanes) * size, np.uint32)
    memory.setdefault("textures", {}).update({0: floats.reshape(-1).view(np.uint32), 1: ints.reshape(-1).view(np.uint32)})
    memory.setdefault("uavs", {})[0] = out
    run_compute(blob, **memory)
    return out.reshape(-1, size)


def evaluate(expression: str, floats: Any, ints: Any = None, *, type: str = "float4", **more: Any) -> Any:
    """The value of an expression per lane: float32, int32 or uint32 by ``type``."""
    size = int(type[-1]) if type[-1].isdigit() else 1
    raw = run_kernel(f"result[i] = {expression};", floats, ints, type=type, size=size, **more)
    return raw.view({"f": np.float32, "i": np.int32, "u": np.uint32}[type[0]])


FLOATS = np.random.default_rng(7).uniform(-4, 4, (16, 3, 4)).astype(np.float32)
INTS = np.random.default_rng(8).integers(-50, 50, (16, 3, 4))
