"""Random valid scenes of the stages between vertices and rasterizer: geometry programs, tessellation, stream output."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np

from tests.support.gpu_scene import Scene, Surface
from wddm.hw.descriptors import InputElement, Rasterizer, float_bits
from wddm.hw.formats import Format
from wddm.hw.packets import Op, QueryKind, Stage, Topology

VS = "vertex temps=1\ninput 0 xyzw\ninput 1 xyzw\noutput 0 xyzw sv=POSITION\noutput 1 xyzw\n" + "".join(
    f"mov o{r}.{c}, v{r}.{c}\n" for r in (0, 1) for c in "xyzw"
)
PS = "pixel temps=1\ninput 1 xyzw interp=CONSTANT\noutput 0 xyzw sv=TARGET\n" + "".join(f"mov o0.{c}, v1.{c}\n" for c in "xyzw")

#: Topology and the input primitives (numbers of the program's header) that a program may take from it.
INPUTS = {
    Topology.POINTLIST: (1,),
    Topology.LINELIST: (2,),
    Topology.LINESTRIP: (2,),
    Topology.TRIANGLELIST: (3,),
    Topology.TRIANGLESTRIP: (3,),
    Topology.LINELIST_ADJ: (6, 2),
    Topology.LINESTRIP_ADJ: (6, 2),
    Topology.TRIANGLELIST_ADJ: (7, 3),
    Topology.TRIANGLESTRIP_ADJ: (7, 3),
    Topology.PATCHLIST_1 + 4: (12,),
    Topology.PATCHLIST_32: (39,),
}
CORNERS = {1: 1, 2: 2, 3: 3, 6: 4, 7: 6, 12: 5, 39: 32}
HEAD = "input 0 xyzw sv=POSITION\ninput 1 xyzw\noutput 0 xyzw sv=POSITION\noutput 1 xyzw\n"


def geometry_program(r: random.Random, primitive: int, *, streams: int = 1, topology: int = 5) -> str:
    """A program that emits around its corners: strips of several lengths, under conditions that differ between lanes."""
    corners, instances = CORNERS[primitive], r.choice([1, 1, 2, 3])
    lines = [
        f"geometry temps=16 primitive={primitive} topology={topology} max_vertices={r.choice([3, 7, 20])} instances={instances}"
        f" rasterized_stream={r.choice([*range(streams), *range(streams), 0xFFFFFFFF])}",
        HEAD.rstrip(),
    ]
    for s in range(streams):
        lines += [f"stream_output 0 xy buffer={s} stream={s} offset=4", f"stream_output 1 xz buffer={s} stream={s} offset=12"]
        lines += [f"stream_output 1 w buffer={s + 2} stream={s} offset=0", f"stream_stride {s} 24", f"stream_stride {s + 2} 4"]
    if r.random() < 0.3:
        lines[1] = HEAD.replace("output 1 xyzw", "output 1 xyzw\noutput 2 y sv=PRIMITIVE_ID").rstrip()
        lines.append("iadd o2.y, $PRIMITIVE_ID, 7")
    lines += ["mov r10, 0", "and r9, $PRIMITIVE_ID, 3", f"iadd r9, r9, {r.randrange(1, 5)}", "utof r8, $GS_INSTANCE_ID"]
    lines += ["loop", "uge r11, r10, r9", "breakc r11, 1", f"urem r12, r10, {corners}"]
    for c, name in enumerate("xyzw"):
        lines += [f"load_input r{c}, {c}, r12", f"load_input o1.{name}, {c + 4}, {r.choice(['r12', str(r.randrange(corners))])}"]
    lines += ["mov r13, $PRIMITIVE_ID", "utof o1.w, r13", "fmul r8, r8, 0.03", "fadd r0, r0, r8"]
    size = r.choice([0.02, 0.1, 0.5])
    for x, y in ((0, 0), (0, 1), (1, 0)):
        lines += [f"fadd o0.x, r0, {x * size}", f"fadd o0.y, r1, {y * size}", "mov o0.z, r2", "mov o0.w, r3"]
        s = r.randrange(streams)
        if r.random() < 0.3:
            lines += [f"ult r14, r12, {r.randrange(1, 3)}", "if r14", f"emit {s}", "endif"]
        else:
            lines.append(f"emit {s}")
    if r.random() < 0.6:
        lines += ["and r14, r10, 1", "if r14", f"cut {r.randrange(streams)}", "endif"]
    lines += ["iadd r10, r10, 1", "endloop"]
    if streams > 1:
        lines += ["emit 0", "emit 1"]
    return "\n".join(lines)


def geometry_scene(seed: int, *, streams: int = 1, topology: int = 5, n: int = 120) -> Callable[[Scene], list[Surface]]:
    """Random vertices through a random program, into a picture, buffers and queries."""

    def build(s: Scene) -> list[Surface]:
        r, random_numbers = random.Random(seed), np.random.default_rng(seed)
        kind = r.choice(list(INPUTS))
        primitive = r.choice(INPUTS[kind])
        v = np.zeros((n, 8), np.float32)
        v[:, :2], v[:, 2] = random_numbers.uniform(-1.1, 1.1, (n, 2)), random_numbers.uniform(-0.1, 1.1, n)
        v[:, 3], v[:, 4:] = random_numbers.uniform(0.5, 2, n), random_numbers.uniform(0, 1, (n, 4))
        target, depth = s.texture(Format.R8G8B8A8_UNORM, 67, 45), s.texture(Format.D24_UNORM_S8_UINT, 67, 45)
        s.memory.view(depth.address, depth.size, write=True)[:] = random_numbers.integers(0, 256, depth.size)
        four = Format.R32G32B32A32_FLOAT
        s.vertices(v, 32, [InputElement(0, 0, four, 0), InputElement(1, 0, four, 16)])
        for text in (VS, geometry_program(r, primitive, streams=streams, topology=topology), PS):
            s.shader(text)
        s.bind(Op.SET_RENDER_TARGET, target, arg=1)
        s.bind(Op.SET_DEPTH_STENCIL, depth)
        s.viewport(67, 45)
        s.emit(Op.SET_TOPOLOGY, arg=kind)
        s.rasterizer(Rasterizer(cull=r.choice([1, 3])))
        out = [target, depth]
        fill = s.buffer(np.zeros(4, np.uint32))
        for slot in range(4):
            if r.random() < 0.85:
                size = r.choice([40, 1000, 60000])
                buffer = s.buffer(np.full(size // 4 + 16, 0xABABABAB, np.uint32))
                counter = fill.address + 4 * slot
                s.emit(Op.SET_STREAM_OUTPUT, slot=slot, address=buffer.address, extent=size, address2=counter, extent2=4)
                out.append(buffer)
        queries = s.buffer(np.zeros(64, np.uint64))
        asked = [QueryKind.STREAM_OUTPUT_STATISTICS | stream << 8 for stream in range(4)] + [
            QueryKind.STREAM_OVERFLOW_PREDICATE | 4 << 8
        ]
        for i, arg in enumerate(asked):
            s.emit(Op.QUERY_BEGIN, address=queries.address + 64 * i, extent=64, arg=arg)
        instances = r.choice([1, 1, 3])
        if r.random() < 0.5:
            indices = random_numbers.integers(0, n, 2 * n).astype(r.choice([np.uint16, np.uint32]))
            indices[random_numbers.random(2 * n) < 0.04] = np.iinfo(indices.dtype).max
            s.indices(indices)
            s.draw_indexed(2 * n, instances)
        else:
            s.draw(n, instances)
        s.draw(n // 2)
        for i, arg in enumerate(asked):
            s.emit(Op.QUERY_END, address=queries.address + 64 * i, extent=64, arg=arg)
        return [*out, fill, queries]

    return build


ISOLINE, TRIANGLE, QUAD = 1, 2, 3
FACTORS = {
    ISOLINE: ["LINE_DENSITY", "LINE_DETAIL"],
    TRIANGLE: ["TRI_EDGE_U0", "TRI_EDGE_V0", "TRI_EDGE_W0", "TRI_INSIDE"],
    QUAD: ["QUAD_EDGE_U0", "QUAD_EDGE_V0", "QUAD_EDGE_U1", "QUAD_EDGE_V1", "QUAD_INSIDE_U", "QUAD_INSIDE_V"],
}
BEHIND_DOMAIN = """geometry temps=8 primitive=3 topology=5 max_vertices=3
input 0 xyzw sv=POSITION
input 1 xyzw
output 0 xyzw sv=POSITION
output 1 xyzw
stream_output 0 xyzw buffer=0 stream=0 offset=0
stream_output 1 xyzw buffer=0 stream=0 offset=16
stream_stride 0 32
loop
uge r1, r0, 3
breakc r1, 1
load_input o0.x, 0, r0
load_input o0.y, 1, r0
load_input o0.z, 2, r0
load_input o0.w, 3, r0
load_input o1.x, 4, 0
load_input o1.y, 5, 1
load_input o1.z, 6, 2
utof o1.w, $PRIMITIVE_ID
emit 0
iadd r0, r0, 1
endloop
"""


def hull(r: random.Random, domain: int, partitioning: int, output: int, points: int) -> tuple[str, int]:
    """A hull program that takes its factors from control point 0 and from constants; and the points it makes."""
    limit = r.choice(["", f" max_tess_factor={float_bits(r.choice([1.0, 3.0, 7.5, -0.0]))}"])
    made = 0 if (through := r.random() < 0.3) else r.randrange(3, 6)
    head = f"hull temps=8 primitive={made << 8 | points} topology={domain | partitioning << 4 | output << 8}"
    lines = [head + limit + (" flags=32" if through else ""), "input 0 xyzw", "input 1 xyzw", "output 0 xyzw", "output 1 xyzw"]
    lines += ["constants 0 8"]
    lines += [f"patch {i} {'xy'[i & 1]} sv={name}" for i, name in enumerate(FACTORS[domain])] + ["patch 7 xyz"]
    if not through:
        lines += [f"urem r4, $CONTROL_POINT_ID, {points}", "utof r5, $CONTROL_POINT_ID"]
        for c in range(8):
            lines.append(f"load_input r{c & 3}, {c}, r4")
            lines += ["fmul r6, r5, 0.001", f"fadd o{c >> 2}.{'xyzw'[c & 3]}, r6, r{c & 3}"]
        lines.append("patch_entry")
    for i in range(len(FACTORS[domain])):
        lines.append(f"load_input r0, {4 + i % 4}, {r.choice(['0', '1'])}")
        lines.append(f"fmul o{i}.{'xy'[i & 1]}, r0, c0[{i}]")
    lines += ["load_control_point r1, 1, 1", "load_patch r2, 0", "fadd o7.x, r1, r2", "utof o7.y, $PRIMITIVE_ID", "mov o7.z, -0.5"]
    return "\n".join(lines), made or points


def domain_program(r: random.Random, domain: int, points: int, *, streams: bool) -> str:
    """A domain program that puts its points around control points and tells its location."""
    lines = [f"domain temps=16 primitive={points} topology={domain}", "input 0 xyzw", "input 1 xyzw"]
    lines += [f"patch {i} {'xy'[i & 1]} sv={name}" for i, name in enumerate(FACTORS[domain])] + ["patch 7 xyz"]
    lines += ["output 0 xyzw sv=POSITION", "output 1 xyzw"]
    if streams:
        lines += ["stream_output 0 xyzw buffer=0 stream=0 offset=0", "stream_output 1 xyzw buffer=0 stream=0 offset=16"]
        lines += ["stream_stride 0 32"]
    lines += [f"load_input r{c + 4 * k}, {c}, {k % points}" for k in range(3) for c in range(3)]
    for c, name in enumerate("xyz"):
        lines += [f"fadd r12, r{4 + c}, -r{c}", "fmul r12, r12, $DOMAIN_U", f"fadd r12, r12, r{c}"]
        lines += [f"fadd r13, r{8 + c}, -r{c}", "fmul r13, r13, $DOMAIN_V", f"fadd o0.{name}, r13, r12"]
    lines += ["mov o0.w, 1.0", "mov o1.x, $DOMAIN_U", "mov o1.y, $DOMAIN_V", "mov o1.z, $DOMAIN_W"]
    lines += ["load_patch r14, 29", "utof r15, $PRIMITIVE_ID", "fadd r14, r14, r15", f"load_patch r15, {r.choice([28, 30, 40])}"]
    lines += ["fadd o1.w, r14, r15", "ftou r14, r14", f"urem r14, r14, {points}", "load_input r15, 5, r14", "fadd o1.w, o1.w, r15"]
    return (
        "\n".join(lines).replace("fadd o1.w, r14, r15", "fadd r11, r14, r15").replace("fadd o1.w, o1.w, r15", "fadd o1.w, r11, r15")
    )


def tessellation_scene(
    seed: int, domain: int, partitioning: int, output: int, factors: Sequence[float], *, geometry: bool = False, patches: int = 5
) -> Callable[[Scene], list[Surface]]:
    """Random patches with these factors (of the constants), which the vertices scale."""

    def build(s: Scene) -> list[Surface]:
        r, numbers = random.Random(seed), np.random.default_rng(seed)
        points = r.choice([2, 3, 4, 11, 32])
        hull_text, made = hull(r, domain, partitioning, output, points)
        n = points * patches + 1
        v = np.zeros((n, 8), np.float32)
        v[:, :2], v[:, 2], v[:, 3] = numbers.uniform(-1.1, 1.1, (n, 2)), numbers.uniform(0, 1, n), 1
        v[:, 4:] = numbers.choice([1, 1, 1, 0.5, 1.25, 2, -1 if r.random() < 0.1 else 1], (n, 4))
        target, depth = s.texture(Format.R8G8B8A8_UNORM, 67, 45), s.texture(Format.D24_UNORM_S8_UINT, 67, 45)
        s.memory.view(depth.address, depth.size, write=True).view(np.uint32)[:] = 0xC00000
        four = Format.R32G32B32A32_FLOAT
        s.vertices(v, 32, [InputElement(0, 0, four, 0), InputElement(1, 0, four, 16)])
        texts = [VS.replace(" sv=POSITION", ""), hull_text, domain_program(r, domain, made, streams=not geometry)]
        for text in texts + [BEHIND_DOMAIN] * geometry + [PS]:
            s.shader(text)
        s.constants(Stage.HULL, 0, np.array([*factors, *[1.0] * 8][:8], np.float32))
        s.bind(Op.SET_RENDER_TARGET, target, arg=1)
        s.bind(Op.SET_DEPTH_STENCIL, depth)
        s.viewport(67, 45)
        s.rasterizer(Rasterizer(cull=1))
        s.emit(Op.SET_TOPOLOGY, arg=Topology.PATCHLIST_1 + points - 1)
        streamed, fill = s.buffer(np.zeros(500000, np.uint32)), s.buffer(np.zeros(1, np.uint32))
        s.emit(Op.SET_STREAM_OUTPUT, address=streamed.address, extent=streamed.size, address2=fill.address, extent2=4)
        s.draw(n, r.choice([1, 2]))
        return [target, depth, streamed, fill]

    return build


#: Domain and output of the tessellator that go together.
KINDS = [(d, o) for d in (ISOLINE, TRIANGLE, QUAD) for o in (1, 2, 3, 4) if (d == ISOLINE) == (o == 2) or o == 1]


def stage_scene(s: Scene, seed: int) -> list[Surface]:
    """One of either kind."""
    r = random.Random(seed)
    if r.random() < 0.5:
        return geometry_scene(seed, streams=r.choice([1, 1, 2]), topology=r.choice([1, 3, 5, 5]))(s)
    domain, output = r.choice(KINDS)
    factors = [r.choice([1, 2, r.uniform(0.2, 66), r.uniform(0.5, 9), r.uniform(0.9, 1.1)]) for _ in range(6)]
    geometry = domain != ISOLINE and output > 2 and r.random() < 0.4
    return tessellation_scene(seed, domain, r.randrange(1, 5), output, factors, geometry=geometry, patches=r.choice([1, 3, 9]))(s)
