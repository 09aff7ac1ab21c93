"""Workloads for the engine alone, named as in the comparison with other software renderers.

Each function prepares a :class:`~tests.support.gpu_scene.Scene` and returns what to run, with the work of one run and its unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tests.support.gpu_scene import Scene, Surface
from vgpu.engine import Engine, StopWord
from vgpu.engine.reference import tessellator
from vgpu.memory import Memory
from wddm.hw.descriptors import InputElement, Rasterizer, Sampler, TargetBlend, float_bits
from wddm.hw.formats import Format
from wddm.hw.packets import Op, Stage, Topology

MakeEngine = Callable[[Memory, StopWord], Engine]


@dataclass(slots=True)
class Work:
    """``run()`` once is ``amount`` of ``unit`` per second; milliseconds instead when the unit starts with "ms"."""

    run: Callable[[], None]
    amount: float
    unit: str


QUAD = """vertex temps=4
output 0 xyzw sv=POSITION
output 1 xy
output 2 x
ieq r0, $VERTEX_ID, 1
ieq r1, $VERTEX_ID, 2
ieq r2, $VERTEX_ID, 4
ieq r3, $VERTEX_ID, 5
or r0, r0, r1
or r0, r0, r2
or r1, r1, r2
or r1, r1, r3
select r0, r0, 1.0, 0.0
select r1, r1, 1.0, 0.0
fmul o1.x, r0, {scale}
fmul o1.y, r1, {scale}
fmad o0.x, r0, 2.0, -1.0
fmad o0.y, r1, 2.0, -1.0
mov o0.z, 0.0
mov o0.w, 1.0
utof o2.x, $INSTANCE_ID
"""
COLOR_PS = "pixel temps=2\noutput 0 xyzw sv=TARGET\nconstants 0 4\n" + "".join(
    f"mov o0.{c}, c0[{i}]\n" for i, c in enumerate("xyzw")
)
GRADIENT_PS = """pixel temps=2
input 1 xy interp=LINEAR
output 0 xyzw sv=TARGET
mov o0.x, v1.x
mov o0.y, v1.y
mov o0.z, 0.25
mov o0.w, 1.0
"""
BLEND_PS = """pixel temps=4
input 2 x interp=CONSTANT
output 0 xyzw sv=TARGET
ftou r0, v2.x
and r1, r0, 3
utof r1, r1
fmul o0.x, r1, 0.3
ushr r1, r0, 2
utof r1, r1
fmul o0.y, r1, 0.3
mov o0.z, 0.5
mov o0.w, 0.3
"""
TEXTURE_PS = """pixel temps=6
input 1 xy interp=LINEAR
output 0 xyzw sv=TARGET
resource 0 TEXTURE2D
sampler 0
mov r0, v1.x
mov r1, v1.y
sample r2, r0 t0 s0
mov o0.x, r2
mov o0.y, r3
mov o0.z, r4
mov o0.w, r5
"""
MESH_VS = (
    "vertex temps=1\ninput 0 xyz\ninput 1 xyzw\noutput 0 xyzw sv=POSITION\noutput 1 xyzw\n"
    + "".join(f"mov o0.{c}, v0.{c}\n" for c in "xyz")
    + "mov o0.w, 1.0\n"
    + "".join(f"mov o1.{c}, v1.{c}\n" for c in "xyzw")
)
MESH_PS = "pixel temps=1\ninput 1 xyzw interp=LINEAR\noutput 0 xyzw sv=TARGET\n" + "".join(f"mov o0.{c}, v1.{c}\n" for c in "xyzw")


def _scene(make: MakeEngine, local: int = 256 << 20) -> Scene:
    return Scene(make, local)


def _target(s: Scene, width: int, height: int, depth: bool = False) -> tuple[Surface, Surface | None]:
    rt = s.texture(Format.R8G8B8A8_UNORM, width, height)
    s.bind(Op.SET_RENDER_TARGET, rt, arg=1)
    ds = None
    if depth:
        ds = s.texture(Format.D32_FLOAT, width, height)
        s.bind(Op.SET_DEPTH_STENCIL, ds)
    s.viewport(width, height)
    s.rasterizer(Rasterizer(cull=1))
    s.emit(Op.SET_TOPOLOGY, arg=Topology.TRIANGLELIST)
    return rt, ds


def _clear(s: Scene, rt: Surface, ds: Surface | None = None) -> None:
    s.bind(Op.SET_SURFACE, rt)
    s.emit(Op.CLEAR_COLOR, data=[0, 0, 0, float_bits(1.0)])
    if ds is not None:
        s.bind(Op.SET_SURFACE, ds)
        s.emit(Op.CLEAR_DEPTH_STENCIL, arg=1, data=[float_bits(1.0)])


def _frames(s: Scene, setup: npt.NDArray[np.void] | None = None) -> Callable[[], None]:
    packets = np.concatenate(s.packets)
    return lambda: s.submit(packets)


def clear(make: MakeEngine) -> Work:
    """fill.clear"""
    s = _scene(make)
    rt, _ = _target(s, 1920, 1080)
    _clear(s, rt)
    return Work(_frames(s), 1920 * 1080 / 1e9, "Gpix/s")


def quad_scene(make: MakeEngine, ps: str, size: tuple[int, int] = (1920, 1080), scale: float = 1.0) -> Scene:
    s = _scene(make)
    _target(s, *size)
    s.shader(QUAD.format(scale=float(scale)))
    s.shader(ps)
    return s


def quad(make: MakeEngine) -> Work:
    """fill.quad"""
    s = quad_scene(make, COLOR_PS)
    s.constants(Stage.PIXEL, 0, np.array([0.2, 0.5, 0.25, 1], np.float32))
    s.draw(6)
    return Work(_frames(s), 1920 * 1080 / 1e9, "Gpix/s")


def gradient(make: MakeEngine) -> Work:
    """fill.gradient"""
    s = quad_scene(make, GRADIENT_PS)
    s.draw(6)
    return Work(_frames(s), 1920 * 1080 / 1e9, "Gpix/s")


_ALPHA = TargetBlend(True, 5, 6, 1, 5, 6, 1, 15)


def blend_instanced(make: MakeEngine) -> Work:
    """blend.x16.instanced"""
    s = quad_scene(make, BLEND_PS)
    s.blend(_ALPHA)
    s.draw(6, 16)
    return Work(_frames(s), 1920 * 1080 * 16 / 1e9, "Gpix/s")


def blend_draws(make: MakeEngine) -> Work:
    """blend.x16.draws"""
    s = quad_scene(make, COLOR_PS)
    s.blend(_ALPHA)
    for i in range(16):
        s.constants(Stage.PIXEL, 0, np.array([i / 16, 0.5, 0.2, 0.3], np.float32))
        s.draw(6)
    return Work(_frames(s), 1920 * 1080 * 16 / 1e9, "Gpix/s")


def textured(kind: str, repeat: int) -> Callable[[MakeEngine], Work]:
    """texture.*"""

    def work(make: MakeEngine) -> Work:
        s = quad_scene(make, TEXTURE_PS, scale=float(repeat))
        mips = 11 if kind == "trilinear" else 1
        t = s.texture(Format.R8G8B8A8_UNORM, 1024, 1024, mips=mips)
        image = np.random.default_rng(1).integers(0, 255, (1024, 1024, 4), dtype=np.uint8)
        for mip in range(mips):
            s.pixels(t, mip)[:] = image
            if mip + 1 < mips:
                wide = image.astype(np.uint16)
                image = ((wide[::2, ::2] + wide[1::2, ::2] + wide[::2, 1::2] + wide[1::2, 1::2]) >> 2).astype(np.uint8)
        s.bind(Op.SET_RESOURCE, t, slot=Stage.PIXEL << 8)
        linear = int(kind != "nearest")
        s.sampler(Sampler(linear, linear, int(kind == "trilinear"), address_u=1, address_v=1))
        s.draw(6)
        return Work(_frames(s), 1920 * 1080 / 1e9, "Gpix/s")

    return work


def _mesh(make: MakeEngine, vertices: npt.NDArray[np.void], indices: npt.NDArray[np.uint32] | None) -> Scene:
    s = _scene(make)
    rt, ds = _target(s, 1280, 720, True)
    _clear(s, rt, ds)
    elements = [InputElement(0, 0, Format.R32G32B32_FLOAT, 0), InputElement(1, 0, Format.R8G8B8A8_UNORM, 12)]
    s.vertices(vertices, 16, elements)
    s.shader(MESH_VS)
    s.shader(MESH_PS)
    if indices is None:
        s.draw(len(vertices))
    else:
        s.indices(indices)
        s.draw_indexed(len(indices))
    return s


_VERTEX = [("p", "f4", 3), ("c", "u1", 4)]


def small_soup(make: MakeEngine) -> Work:
    """tri_small.soup: 100,000 triangles of about ten pixels, own vertices, random place and depth."""
    n, r = 100_000, np.random.default_rng(2)
    middle, angle, leg = r.uniform(0, [1280, 720], (n, 2)), r.uniform(0, 2 * np.pi, n), np.sqrt(20.0)
    side = np.stack([np.cos(angle), np.sin(angle)], 1) * leg
    other = np.stack([-np.sin(angle), np.cos(angle)], 1) * leg
    corners = np.stack([middle, middle + side, middle + other], 1) / [640, 360] - 1
    v = np.zeros((n, 3), _VERTEX)
    v["p"][..., :2], v["p"][..., 2] = corners, r.uniform(0, 1, (n, 1))
    v["c"] = r.integers(0, 255, (n, 3, 4))
    return Work(_frames(_mesh(make, v.reshape(-1), None)), n / 1e6, "Mtri/s")


def small_grid(make: MakeEngine) -> Work:
    """tri_small.grid: the same number, indexed, sharing vertices."""
    nx, ny, r = 400, 125, np.random.default_rng(3)
    x, y = np.meshgrid(np.linspace(-1, 1, nx + 1), np.linspace(-1, 1, ny + 1))
    v = np.zeros(x.size, _VERTEX)
    v["p"] = np.stack([x.ravel(), y.ravel(), r.uniform(0.2, 0.8, x.size)], 1)
    v["c"] = r.integers(0, 255, (x.size, 4))
    first = (np.arange(ny)[:, None] * (nx + 1) + np.arange(nx)).ravel()
    cells = [first, first + 1, first + nx + 1, first + 1, first + nx + 2, first + nx + 1]
    indices = np.stack(cells, 1).astype(np.uint32).ravel()
    return Work(_frames(_mesh(make, v, indices)), len(indices) / 3e6, "Mtri/s")


def _staged(make: MakeEngine, vertices: npt.NDArray[np.void], topology: int, *shaders: str) -> Scene:
    """Own vertices through these stages into 1280x720 pixels."""
    s = _scene(make)
    rt, ds = _target(s, 1280, 720, True)
    _clear(s, rt, ds)
    s.vertices(vertices, 16, [InputElement(0, 0, Format.R32G32B32_FLOAT, 0), InputElement(1, 0, Format.R8G8B8A8_UNORM, 12)])
    for text in (MESH_VS, *shaders, MESH_PS):
        s.shader(text)
    s.emit(Op.SET_TOPOLOGY, arg=topology)
    s.draw(len(vertices))
    return s


def _points(n: int) -> npt.NDArray[np.void]:
    r = np.random.default_rng(6)
    v = np.zeros(n, _VERTEX)
    v["p"], v["c"] = r.uniform([-1, -1, 0], 1, (n, 3)), r.integers(0, 255, (n, 4))
    return v


GEOMETRY_HEAD = "geometry temps=8 primitive={} topology=5 max_vertices={}\ninput 0 xyzw sv=POSITION\ninput 1 xyzw\n"
_GEOMETRY_OUT = "output 0 xyzw sv=POSITION\noutput 1 xyzw\n"
SPRITE_GS = (
    GEOMETRY_HEAD.format(1, 4)
    + _GEOMETRY_OUT
    + "".join(f"load_input o1.{c}, {4 + i}, 0\n" for i, c in enumerate("xyzw"))
    + "load_input r0, 0, 0\nload_input r1, 1, 0\nload_input o0.z, 2, 0\nmov o0.w, 1.0\n"
    + "".join(f"fadd o0.x, r0, {x}\nfadd o0.y, r1, {y}\nemit 0\n" for x in (-0.0035, 0.0035) for y in (-0.006, 0.006))
)
PASS_GS = (
    GEOMETRY_HEAD.format(3, 3)
    + _GEOMETRY_OUT
    + "".join("".join(f"load_input o{i >> 2}.{'xyzw'[i & 3]}, {i}, {k}\n" for i in range(8)) + "emit 0\n" for k in range(3))
)
STREAM_VS = MESH_VS.replace(
    "mov o0.x", "stream_output 0 xyzw buffer=0 stream=0 offset=0\nstream_output 1 xyzw buffer=0 stream=0 offset=16\n"
    "stream_stride 0 32\nmov o0.x", 1,
)  # fmt: skip
_QUAD_FACTORS = ("QUAD_EDGE_U0", "QUAD_EDGE_V0", "QUAD_EDGE_U1", "QUAD_EDGE_V1", "QUAD_INSIDE_U", "QUAD_INSIDE_V")
PATCH_HS = (
    "hull temps=8 flags=32 primitive=4 topology={}\ninput 0 xyzw\ninput 1 xyzw\noutput 0 xyzw\noutput 1 xyzw\nconstants 0 4\n"
    + "".join(f"patch {i} x sv={name}\n" for i, name in enumerate(_QUAD_FACTORS))
    + "load_input r0, 5, 0\nfmul r0, r0, c0[1]\nfadd r0, r0, c0[0]\n"
    + "".join(f"mov o{i}.x, r0\n" for i in range(6))
)
PATCH_DS = (
    "domain temps=16 primitive=4 topology=3\ninput 0 xyzw\ninput 1 xyzw\noutput 0 xyzw sv=POSITION\noutput 1 xyzw\n"
    + "".join(f"load_input r{i}, {i % 3}, {i // 3}\n" for i in range(12))
    + "".join(
        f"fadd r12, r{3 + c}, -r{c}\nfmad r12, r12, $DOMAIN_U, r{c}\n"
        f"fadd r13, r{9 + c}, -r{6 + c}\nfmad r13, r13, $DOMAIN_U, r{6 + c}\n"
        f"fadd r13, r13, -r12\nfmad o0.{'xyz'[c]}, r13, $DOMAIN_V, r12\n"
        for c in range(3)
    )
    + "mov o0.w, 1.0\nmov o1.x, $DOMAIN_U\nmov o1.y, $DOMAIN_V\nmov o1.z, 0.5\nmov o1.w, 1.0\n"
)


def sprites(make: MakeEngine) -> Work:
    """stages.sprites: a geometry program makes two triangles of each of 100,000 points."""
    return Work(_frames(_staged(make, _points(100_000), Topology.POINTLIST, SPRITE_GS)), 0.2, "Mtri/s")


def passing(make: MakeEngine) -> Work:
    """stages.pass: the soup through a geometry program that hands on what it gets."""
    v = np.repeat(_points(100_000), 3)
    r = np.random.default_rng(7)
    v["p"][:, :2] += r.uniform(-0.008, 0.008, (len(v), 2))
    return Work(_frames(_staged(make, v, Topology.TRIANGLELIST, PASS_GS)), 0.1, "Mtri/s")


def streamed(make: MakeEngine) -> Work:
    """stages.stream: 100,000 triangles into a stream-output buffer alone."""
    s = _scene(make)
    s.vertices(_points(300_000), 16, [InputElement(0, 0, Format.R32G32B32_FLOAT, 0), InputElement(1, 0, Format.R8G8B8A8_UNORM, 12)])
    s.shader(STREAM_VS.replace(" sv=POSITION", ""))
    s.emit(Op.SET_TOPOLOGY, arg=Topology.TRIANGLELIST)
    buffer, fill = s.buffer(np.zeros(300_000 * 8, np.uint32)), s.buffer(np.zeros(1, np.uint32))
    s.emit(Op.SET_STREAM_OUTPUT, address=buffer.address, extent=buffer.size, address2=fill.address, extent2=4, arg=1)
    s.draw(300_000)
    return Work(_frames(s), 0.1, "Mtri/s")


def tessellated(columns: int, rows: int, base: float, spread: float, partitioning: int) -> Callable[[MakeEngine], Work]:
    """stages.tess.*: a screen of quad patches; factors are ``base``, and up to ``spread`` more from patch to patch."""

    def work(make: MakeEngine) -> Work:
        x, y = np.meshgrid(np.arange(columns), np.arange(rows))
        v = np.zeros((columns * rows, 4), _VERTEX)
        for k in range(4):
            v["p"][:, k, 0] = ((x + (k & 1)) / columns * 2 - 1).ravel()
            v["p"][:, k, 1] = ((y + (k >> 1)) / rows * 2 - 1).ravel()
        v["p"][..., 2] = 0.5
        v["c"] = np.random.default_rng(8).integers(0, 255, (columns * rows, 1, 4))
        s = _staged(make, v.reshape(-1), Topology.PATCHLIST_1 + 3, PATCH_HS.format(3 | partitioning << 4 | 3 << 8), PATCH_DS)
        s.constants(Stage.HULL, 0, np.array([base, spread, 0, 0], np.float32))
        s.packets.insert(-2, s.packets.pop())  # before the draw
        factors = base + spread * (v["c"][:, 0, 1] / np.float32(255))
        triangles = sum(
            len(tessellator.tessellate(3, partitioning, 3, (f,) * 4, (f,) * 2).primitives) for f in factors.astype(float).tolist()
        )
        return Work(_frames(s), triangles / 1e6, "Mtri/s")

    return work


def large(order: str) -> Callable[[MakeEngine], Work]:
    """tri_large.*: 100 large depth-tested triangles."""

    def work(make: MakeEngine) -> Work:
        n, r = 100, np.random.default_rng(4)
        p = r.uniform(-1.3, 1.3, (4000, 3, 2))
        a, b = p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]
        p = p[np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / 2 > 1.2][:n]
        z = np.linspace(0.95, 0.05, n)
        z = z[::-1] if order == "f2b" else r.permutation(z) if order == "random" else z
        v = np.zeros((n, 3), _VERTEX)
        v["p"][..., :2], v["p"][..., 2] = p, z[:, None] + r.uniform(-0.004, 0.004, (n, 3))
        v["c"] = r.integers(0, 255, (n, 3, 4))
        return Work(_frames(_mesh(make, v.reshape(-1), None)), 1, "ms/frame")

    return work


def _mad200() -> str:
    text = "pixel temps=8\ninput 1 xy interp=LINEAR\noutput 0 xyzw sv=TARGET\nconstants 0 4\n"
    text += "mov r0, v1.x\nmov r1, v1.y\nmov r2, v1.y\nmov r3, v1.x\n"
    for i in range(25):
        for c, add in enumerate(("v1.x", "v1.y", f"{0.001 * i + 1e-9:.9f}", "v1.x")):
            text += f"fmad r{c}, r{c}, c0[{c}], {add}\n"
    return text + "".join(f"mov o0.{c}, r{i}\n" for i, c in enumerate("xyzw"))


_MANDEL = """pixel temps=12
input 1 xy interp=LINEAR
output 0 xyzw sv=TARGET
fmad r0, v1.x, 3.0, -2.2
fmad r1, v1.y, 2.4, -1.2
mov r2, 0.0
mov r3, 0.0
mov r4, 0.0
mov r5, 0
loop
ige r6, r5, 64
breakc r6, 1
fmul r7, r2, r2
fmul r8, r3, r3
"""
MANDEL_FIXED = (
    _MANDEL
    + """fmul r9, r2, r3
fadd r10, r7, -r8
fadd r2, r10, r0
fadd r10, r9, r9
fadd r3, r10, r1
fadd r10, r7, r8
flt r10, r10, 4.0
and r10, r10, 1.0
fadd r4, r4, r10
iadd r5, r5, 1
endloop
fmul o0.x, r4, 0.015625
mov o0.y, 0.2
mov o0.z, 0.3
mov o0.w, 1.0
"""
)
MANDEL_BREAK = (
    _MANDEL
    + """fadd r10, r7, r8
flt r10, 4.0, r10
breakc r10, 1
fmul r9, r2, r3
fmad r3, r9, 2.0, r1
fadd r10, r7, -r8
fadd r2, r10, r0
iadd r5, r5, 1
endloop
itof r4, r5
fmul o0.x, r4, 0.015625
mov o0.y, 0.2
mov o0.z, 0.3
mov o0.w, 1.0
"""
)
TRIG = """pixel temps=8
input 1 xy interp=LINEAR
output 0 xyzw sv=TARGET
mov r0, v1.x
mov r1, v1.y
mov r2, 0
loop
ige r3, r2, 16
breakc r3, 1
fmad r4, r0, 3.0, r1
fsin r0, r4
fadd r4, |r1|, 0.1
fsqrt r4, r4
fmul r5, r0, -0.5
fexp2 r5, r5
fmul r1, r4, r5
fadd r4, |r1|, 0.01
flog2 r4, r4
fmul r4, r4, 0.7
fexp2 r4, r4
fadd r0, r0, r4
iadd r2, r2, 1
endloop
mov o0.x, r0
mov o0.y, r1
fmul o0.z, r0, r1
mov o0.w, 1.0
"""


def shader(ps: str, flops: float = 0) -> Callable[[MakeEngine], Work]:
    """shader.*"""

    def work(make: MakeEngine) -> Work:
        s = quad_scene(make, ps, (1280, 720))
        if "constants" in ps:
            s.constants(Stage.PIXEL, 0, np.array([0.93, 0.837, 0.744, 0.651], np.float32))
        s.draw(6)
        if flops:
            return Work(_frames(s), 1280 * 720 * flops / 1e9, "Gflop/s")
        return Work(_frames(s), 1, "ms/frame")

    return work


SAXPY = """compute temps=4 group={group},1,1
resource 0 RAW_BUFFER
uav 0 RAW_BUFFER
imad r0, $THREAD_ID_Y, 65536, $THREAD_ID_X
shl r0, r0, 2
load_raw r1, r0 t0 mask=x
uav_load_raw r2, r0 u0 mask=x
fmad r3, r1, 0.5, r2
uav_store_raw r0, r3 u0 mask=x
"""
_BUFFERS = """compute temps=12 group=16,16,1{shared}
resource 0 RAW_BUFFER
resource 1 RAW_BUFFER
uav 0 RAW_BUFFER
mov r0, 0
mov r1, 0.0
"""
_STORE = "imad r3, $THREAD_ID_Y, 512, $THREAD_ID_X\nshl r3, r3, 2\nuav_store_raw r3, r1 u0 mask=x\n"
NAIVE = (
    _BUFFERS.format(shared="")
    + """loop
uge r2, r0, 512
breakc r2, 1
imad r3, $THREAD_ID_Y, 512, r0
shl r3, r3, 2
imad r4, r0, 512, $THREAD_ID_X
shl r4, r4, 2
load_raw r5, r3 t0 mask=x
load_raw r6, r4 t1 mask=x
fmad r1, r5, r6, r1
iadd r0, r0, 1
endloop
"""
    + _STORE
)
TILED = (
    _BUFFERS.format(shared=" shared_bytes=2048")
    + """loop
uge r2, r0, 32
breakc r2, 1
imad r3, r0, 16, $ID_IN_GROUP_X
imad r3, $THREAD_ID_Y, 512, r3
shl r3, r3, 2
load_raw r4, r3 t0 mask=x
imad r3, r0, 16, $ID_IN_GROUP_Y
imad r3, r3, 512, $THREAD_ID_X
shl r3, r3, 2
load_raw r5, r3 t1 mask=x
imad r6, $ID_IN_GROUP_Y, 16, $ID_IN_GROUP_X
shl r6, r6, 2
shared_store r6, r4 mask=x
iadd r6, r6, 1024
shared_store r6, r5 mask=x
barrier 3
mov r7, 0
loop
uge r2, r7, 16
breakc r2, 1
imad r8, $ID_IN_GROUP_Y, 16, r7
shl r8, r8, 2
shared_load r9, r8 mask=x
imad r8, r7, 16, $ID_IN_GROUP_X
shl r8, r8, 2
iadd r8, r8, 1024
shared_load r10, r8 mask=x
fmad r1, r9, r10, r1
iadd r7, r7, 1
endloop
barrier 3
iadd r0, r0, 1
endloop
"""
    + _STORE
)


def saxpy(group: int) -> Callable[[MakeEngine], Work]:
    """compute.saxpy16M.*"""

    def work(make: MakeEngine) -> Work:
        n = 16 << 20
        s = _scene(make)
        x, y = s.buffer(np.ones(n, np.float32)), s.buffer(np.full(n, 2, np.float32))
        s.shader(SAXPY.format(group=group))
        s.bind(Op.SET_RESOURCE, x, slot=Stage.COMPUTE << 8)
        s.bind(Op.SET_UAV, y, slot=Stage.COMPUTE << 8)
        s.emit(Op.DISPATCH, data=[65536 // group, n // 65536, 1])
        return Work(_frames(s), n * 12 / 1e9, "GB/s")

    return work


def matmul(text: str) -> Callable[[MakeEngine], Work]:
    """compute.matmul512.*"""

    def work(make: MakeEngine) -> Work:
        s, r = _scene(make), np.random.default_rng(6)
        a, b = r.random((512, 512), np.float32), r.random((512, 512), np.float32)
        c = s.buffer(np.zeros((512, 512), np.float32))
        s.shader(text)
        s.bind(Op.SET_RESOURCE, s.buffer(a), slot=Stage.COMPUTE << 8)
        s.bind(Op.SET_RESOURCE, s.buffer(b), slot=Stage.COMPUTE << 8 | 1)
        s.bind(Op.SET_UAV, c, slot=Stage.COMPUTE << 8)
        s.emit(Op.DISPATCH, data=[32, 32, 1])
        run = _frames(s)
        run()
        if not np.allclose(s.read(c).reshape(512, 512), a @ b, rtol=1e-3):
            raise AssertionError("wrong product")
        return Work(run, 2 * 512**3 / 1e9, "Gflop/s")

    return work


_RATE_VS = """vertex temps=4
constants 0 4
output 0 xyzw sv=POSITION
ieq r0, $VERTEX_ID, 1
ieq r1, $VERTEX_ID, 2
ieq r2, $VERTEX_ID, 4
ieq r3, $VERTEX_ID, 5
or r0, r0, r1
or r0, r0, r2
or r1, r1, r2
or r1, r1, r3
select r0, r0, 0.03125, 0.0
select r1, r1, 0.03125, 0.0
fadd o0.x, r0, c0[0]
fadd o0.y, r1, c0[1]
mov o0.z, 0.0
mov o0.w, 1.0
"""
_RATE_TEXTURE_PS = """pixel temps=6
output 0 xyzw sv=TARGET
constants 0 4
resource 0 TEXTURE2D
sampler 0
mov r0, c0[2]
mov r1, c0[3]
sample r2, r0 t0 s0
fmul o0.x, c0[0], r2
fmul o0.y, c0[1], r3
fmul o0.z, c0[2], r4
fmul o0.w, c0[3], r5
"""


def draw_rate(kind: str) -> Callable[[MakeEngine], Work]:
    """drawrate.*: 10,000 draws of a quad of 4x4 pixels in one submission."""

    def work(make: MakeEngine) -> Work:
        n = 10_000
        s = _scene(make)
        _target(s, 256, 256)
        s.shader(_RATE_VS)
        s.shader(_RATE_TEXTURE_PS if kind == "texture" else COLOR_PS)
        values = np.zeros((n, 64), np.float32)
        values[:, :4] = np.random.default_rng(5).uniform(-1, 0.9, (n, 4))
        if kind == "clipped":
            values[:, :2] = 5
        address, _ = s.upload(values)
        textures = [s.texture(Format.R8G8B8A8_UNORM, 16, 16) for _ in range(2)]
        s.sampler(Sampler())
        s.bind(Op.SET_RESOURCE, textures[0], slot=Stage.PIXEL << 8)
        for stage in (Stage.VERTEX, Stage.PIXEL):
            s.emit(Op.SET_CONSTANT_BUFFER, slot=stage << 8, address=address, extent=16, data=[16])
        for i in range(n):
            if kind == "blend":
                s.blend(_ALPHA if i & 1 else TargetBlend())
            if kind == "texture":
                s.bind(Op.SET_RESOURCE, textures[i & 1], slot=Stage.PIXEL << 8)
            if kind != "same":
                for stage in (Stage.VERTEX, Stage.PIXEL):
                    s.emit(Op.SET_CONSTANT_BUFFER, slot=stage << 8, address=address + 256 * i, extent=16, data=[16])
            s.draw(6)
        return Work(_frames(s), n / 1e3, "kdraw/s")

    return work


WORKLOADS: dict[str, Callable[[MakeEngine], Work]] = {
    "fill.clear.finish": clear,
    "fill.quad.finish": quad,
    "fill.gradient.flush": gradient,
    "blend.x16.instanced": blend_instanced,
    "blend.x16.draws": blend_draws,
    "texture.nearest.uv1": textured("nearest", 1),
    "texture.bilinear.uv1": textured("bilinear", 1),
    "texture.bilinear.uv4": textured("bilinear", 4),
    "texture.trilinear.uv4": textured("trilinear", 4),
    "texture.trilinear.uv1": textured("trilinear", 1),
    "tri_small.soup": small_soup,
    "tri_small.grid": small_grid,
    "stages.sprites": sprites,
    "stages.pass": passing,
    "stages.stream": streamed,
    "stages.tess.16": tessellated(20, 20, 16, 0, 1),
    "stages.tess.fractional": tessellated(40, 25, 3, 12, 3),
    "stages.tess.few": tessellated(200, 100, 1, 3, 1),
    "tri_large.random": large("random"),
    "tri_large.b2f": large("b2f"),
    "tri_large.f2b": large("f2b"),
    "shader.mad200.gflops": shader(_mad200(), 200),
    "shader.mandel64.fixed.gflops": shader(MANDEL_FIXED, 640),
    "shader.mandel64.break.ms": shader(MANDEL_BREAK),
    "shader.trig16.ms": shader(TRIG),
    "compute.saxpy16M.wg64": saxpy(64),
    "compute.saxpy16M.wg256": saxpy(256),
    "compute.matmul512.naive": matmul(NAIVE),
    "compute.matmul512.tiled": matmul(TILED),
    "drawrate.same": draw_rate("same"),
    "drawrate.uniform": draw_rate("uniform"),
    "drawrate.blend": draw_rate("blend"),
    "drawrate.texture": draw_rate("texture"),
    "drawrate.clipped": draw_rate("clipped"),
}

__all__ = ["WORKLOADS", "Work"]
