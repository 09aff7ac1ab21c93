"""Sampling and loading on both engines: within one step of 8 bits; what is exact, exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.gpu_scene import Scene, Surface
from tests.unit.llvm.conftest import run_both
from wddm.hw.descriptors import Rasterizer, Sampler, ViewDimension
from wddm.hw.formats import Format
from wddm.hw.packets import Op, Stage, Topology

VS = """vertex temps=4
output 0 xyzw sv=POSITION
output 1 xyzw
and r1, $VERTEX_ID, 1
utof r1, r1
ushr r2, $VERTEX_ID, 1
utof r2, r2
fmad o0.x, r1, 2.0, -1.0
fmad o0.y, r2, -2.0, 1.0
mov o0.z, 0.5
mov o0.w, 1.0
fmad o1.x, r1, {0}, {1}
fmad o1.y, r2, {2}, {3}
fmul o1.z, r1, 0.7
mov o1.w, 0.0
"""
PS = """pixel temps=12
input 1 xyzw interp=LINEAR
output 0 xyzw sv=TARGET
resource 0 {dimension}
sampler 0{compare}
mov r0, v1.x
mov r1, v1.y
mov r2, v1.z
mov r3, 1.2
{op}
mov o0.x, r4
mov o0.y, r5
mov o0.z, r6
mov o0.w, r7
"""


def textured(
    op: str = "sample r4, r0 t0 s0",
    *,
    dimension: str = "TEXTURE2D",
    format: Format = Format.R8G8B8A8_UNORM,
    size: tuple[int, int, int] = (37, 21, 1),
    mips: int = 1,
    slices: int = 1,
    sampler: Sampler | None = None,
    scale: tuple[float, float, float, float] = (3.03, -0.61, 2.07, -0.31),
    compare: str = "",
) -> Callable[[Scene], list[Surface]]:
    """A quad that shows what ``op`` leaves in r4..r7."""

    def build(s: Scene) -> list[Surface]:
        r = np.random.default_rng(1)
        width, height, depth = size
        d = ViewDimension[dimension.split()[0]]
        flags = int("array" in dimension)
        t = s.texture(format, width, height, depth=depth, mips=mips, slices=slices, dimension=d, flags=flags)
        raw = s.memory.view(t.address, t.size, write=True)
        if format in (Format.R32G32B32A32_FLOAT, Format.R32_FLOAT):
            raw[:] = r.uniform(-1, 2, t.size // 4).astype(np.float32).view(np.uint8)
        elif format in (Format.R16G16B16A16_FLOAT,):
            raw[:] = r.uniform(-1, 2, t.size // 2).astype(np.float16).view(np.uint8)
        else:
            raw[:] = r.integers(0, 256, t.size)
        rt = s.texture(Format.R8G8B8A8_UNORM, 110, 70)
        s.shader(VS.format(*scale))
        s.shader(PS.format(dimension=dimension, op=op, compare=compare))
        s.bind(Op.SET_RENDER_TARGET, rt, arg=1)
        s.bind(Op.SET_RESOURCE, t, slot=Stage.PIXEL << 8)
        s.sampler(sampler or Sampler(0, 0, 0, address_u=1, address_v=2))
        s.viewport(110, 70)
        s.emit(Op.SET_TOPOLOGY, arg=Topology.TRIANGLESTRIP)
        s.rasterizer(Rasterizer(cull=1))
        s.draw(4)
        return [rt]

    return build


def worst(build: Callable[[Scene], list[Surface]], *, outliers: int = 0) -> int:
    """Largest difference, but for some bytes where a rounding decides between neighbouring texels."""
    ((a, b),) = run_both(build)
    difference = np.sort(np.abs(a.astype(int) - b))
    return int(difference[len(difference) - 1 - outliers])


LINEAR = {"min_filter": 1, "mag_filter": 1}
MIPS: dict[str, Any] = {"size": (61, 43, 1), "mips": 5, "scale": (9.1, 0.0, 5.3, 0.0)}
TO_TEXELS = "fmul r0, r0, 30.0\nfmul r1, r1, 20.0\nftoi r0, r0\nftoi r1, r1\n"
CENTRED = "fadd r0, r0, -0.5\nfadd r1, r1, -0.5\nfadd r2, r2, -0.2\nsample r4, r0 t0 s0"
CASES: dict[str, dict[str, Any]] = {
    **{f"point mode {m}": {"sampler": Sampler(0, 0, 0, address_u=m, address_v=m, border=(0.2, 0.4, 0.6, 0.8))} for m in range(1, 6)},
    **{f"linear mode {m}": {"sampler": Sampler(1, 1, 0, address_u=m, address_v=m, border=(0.2, 0.4, 0.6, 0.8))} for m in range(1, 6)},
    "offset": {"op": "sample r4, r0 t0 s0 offset=3,-2,0", "sampler": Sampler(1, 1, 0, address_u=1, address_v=2)},
    "trilinear": {**MIPS, "sampler": Sampler(1, 1, 1, address_u=1, address_v=1)},
    "point mips": {**MIPS, "sampler": Sampler(1, 0, 0, address_u=1, address_v=1)},
    "level": {**MIPS, "op": "sample_level r4, r0, r2 t0 s0", "sampler": Sampler(1, 1, 1, address_u=1, address_v=1)},
    "bias": {
        **MIPS,
        "op": "sample_bias r4, r0, r2 t0 s0",
        "sampler": Sampler(1, 1, 1, address_u=1, address_v=1, mip_lod_bias=0.3, min_lod=0.5, max_lod=3.2),
    },
    "anisotropic": {
        "size": (64, 64, 1), "mips": 7, "scale": (19.0, 0.0, 2.0, 0.0),
        "sampler": Sampler(1, 1, 1, True, address_u=1, address_v=1, max_anisotropy=8),
    },
    "gather": {"op": "gather4 r4, r0 t0 s0 component=y"},
    "gather with offsets": {"op": "ftoi r8, r2\nmov r9, 3\ngather4_offset r4, r0, r8 t0 s0 component=z"},
    "comparison": {
        "op": "sample_compare r4, r0, 0.5 t0 s0", "format": Format.R32_FLOAT, "compare": " compare",
        "sampler": Sampler(1, 1, 0, compare=True, comparison=2),
    },
    "load": {"op": TO_TEXELS + "mov r2, 0\nload r4, r0 t0"},
    "load mip": {"op": TO_TEXELS + "load r4, r0, 2 t0 offset=1,1,0", "mips": 4},
    "1d": {"dimension": "TEXTURE1D", "size": (37, 1, 1), "sampler": Sampler(1, 1, 0, address_u=1)},
    "3d": {"dimension": "TEXTURE3D", "size": (37, 21, 9), "mips": 3, "sampler": Sampler(1, 1, 1, address_u=1, address_v=2, address_w=1)},
    "array": {
        "op": "fmul r2, r2, 4.0\nsample r4, r0 t0 s0", "dimension": "TEXTURE2D array", "slices": 3, "sampler": Sampler(1, 1, 0),
    },
    "cube": {
        "op": CENTRED, "dimension": "TEXTURECUBE array", "size": (16, 16, 1), "slices": 12, "sampler": Sampler(1, 1, 0),
        "scale": (3.03, -1.01, 3.07, -1.02),
    },
    "size": {"op": "resinfo r4, 1 t0 control=1", "mips": 3},
    "gradients": {
        "op": "mov r8, 0.3\nmov r9, 0.2\nmov r10, 0.1\nmov r11, 0.25\nsample_grad r4, r0, r8, r10 t0 s0",
        "size": (64, 64, 1), "mips": 5, "sampler": Sampler(1, 1, 1, address_u=1, address_v=1),
    },
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_sampling(name: str) -> None:
    assert worst(textured(**CASES[name]), outliers=240) <= 1


@pytest.mark.parametrize(
    "format",
    [
        Format.R8_UNORM, Format.R16G16_UNORM, Format.R8G8_SNORM, Format.B5G6R5_UNORM, Format.R10G10B10A2_UNORM,
        Format.R16G16B16A16_FLOAT, Format.R32G32B32A32_FLOAT, Format.R9G9B9E5_SHAREDEXP, Format.R8G8B8A8_UNORM_SRGB,
        Format.B4G4R4A4_UNORM, Format.R8G8_B8G8_UNORM, Format.G8R8_G8B8_UNORM, Format.BC1_UNORM_SRGB, Format.BC2_UNORM,
        Format.BC3_UNORM, Format.BC4_SNORM, Format.BC5_UNORM, Format.A8_UNORM,
    ],
    ids=lambda f: f.name,
)  # fmt: skip
def test_formats(format: Format) -> None:
    build = textured(format=format, size=(40, 20, 1), sampler=Sampler(1, 1, 0, address_u=1, address_v=2))
    assert worst(build) <= 1


def _blocks(format: Format) -> np.ndarray:
    """Blocks of every mode."""
    r = np.random.default_rng(3)
    blocks = r.integers(0, 256, (16, 16, 16), dtype=np.uint8)
    for i, block in enumerate(blocks.reshape(-1, 16)):
        if format in (Format.BC7_UNORM, Format.BC7_UNORM_SRGB):
            block[0] = (int(block[0]) << i % 8 + 1 | 1 << i % 8) & 255
        else:
            block[0] = (int(block[0]) & 0xE0) | i % 32
    return blocks


@pytest.mark.parametrize("format", [Format.BC7_UNORM, Format.BC7_UNORM_SRGB, Format.BC6H_UF16, Format.BC6H_SF16])
def test_every_mode_of_large_blocks(format: Format) -> None:
    """All texels of blocks in all modes, loaded one by one."""

    def build(s: Scene) -> list[Surface]:
        t = s.texture(format, 64, 64)
        s.pixels(t)[:] = _blocks(format)
        out = s.buffer(np.zeros(64 * 64 * 4, np.float32))
        s.shader("""compute temps=12 group=64,1,1
resource 0 TEXTURE2D
uav 0 RAW_BUFFER
mov r0, $ID_IN_GROUP_X
mov r1, $GROUP_ID_X
load r4, r0 t0
imad r2, r1, 64, r0
shl r2, r2, 4
uav_store_raw r2, r4 u0 mask=xyzw
""")
        s.bind(Op.SET_RESOURCE, t, slot=Stage.COMPUTE << 8)
        s.bind(Op.SET_UAV, out, slot=Stage.COMPUTE << 8)
        s.emit(Op.DISPATCH, data=[64, 1, 1])
        return [out]

    ((reference, compiled),) = run_both(build)
    assert np.array_equal(reference.view(np.float32), compiled.view(np.float32), equal_nan=True)
