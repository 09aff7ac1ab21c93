"""Random valid scenes: state, views, geometry and programs that agree well enough for something to be drawn."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.support.gpu_scene import Scene, Surface
from wddm.hw.descriptors import (
    BlendFlag,
    DepthStencil,
    InputElement,
    Rasterizer,
    Sampler,
    StencilFace,
    TargetBlend,
    View,
    ViewDimension,
    ViewFlag,
    float_bits,
)
from wddm.hw.formats import FORMATS, Format, NumberType
from wddm.hw.packets import Op, QueryKind, Stage, Topology

from .maker import Made, Slot
from .programs import compute_program, domain_program, geometry_program, hull_program, pixel_program, vertex_program

_PLAIN = [f for f, i in FORMATS.items() if i.channels and not i.is_block and not i.pair and i.type is not NumberType.TYPELESS]
_NEVER_TARGETS = (NumberType.SHAREDEXP, NumberType.XR_BIAS)
TARGETS = [f for f in _PLAIN if FORMATS[f].depth is None and FORMATS[f].type not in _NEVER_TARGETS and "X" not in f.name.split("_")[0] and FORMATS[f].bytes_per_block != 12]
DEPTHS = [Format.D16_UNORM, Format.D24_UNORM_S8_UINT, Format.D32_FLOAT, Format.D32_FLOAT_S8X24_UINT]
VERTICES = [f for f in _PLAIN if FORMATS[f].depth is None and not FORMATS[f].srgb and FORMATS[f].type not in _NEVER_TARGETS and "X" not in f.name.split("_")[0]]
SAMPLED = [f for f, i in FORMATS.items() if i.bytes_per_block and i.type is not NumberType.TYPELESS]
#: Threads of the largest exact dispatch, and the bytes of registers that each leaves.
THREADS_OUT, REGISTERS_OUT = 1024, 96
#: Tells a block of pipeline statistics.
STATISTICS_STRIDE = 88
TYPED_UAVS = [f for f in TARGETS if not FORMATS[f].srgb]


def kind_of(format: Format) -> str:
    """Of the registers that meet a format."""
    return "i" if FORMATS[format].is_integer else "f"


def fill(s: Scene, r: random.Random, surface: Surface) -> None:
    """Random texels; no NaN in floats, whose payload is free."""
    g = np.random.default_rng(r.getrandbits(32))
    raw = s.memory.view(surface.address, surface.size, write=True)
    info = FORMATS[Format(surface.view.format)] if surface.view.format else None
    bits = {c.bits for c in info.channels} if info else set()
    if info is not None and info.type is NumberType.FLOAT and bits <= {32}:
        raw[: raw.size & ~3].view(np.float32)[:] = g.uniform(-1, 2, raw.size // 4)
        if info.depth is not None:
            raw[: raw.size & ~3].view(np.float32)[:] = g.uniform(0, 1, raw.size // 4)
    elif info is not None and info.type is NumberType.FLOAT and bits == {16}:
        raw[: raw.size & ~1].view(np.float16)[:] = g.uniform(-1, 2, raw.size // 2)
    elif info is not None and info.type is NumberType.FLOAT:
        raw[:] = g.integers(0, 64, raw.size)
    else:
        raw[:] = g.integers(0, 256, raw.size)


def surface_for(s: Scene, r: random.Random, slot: Slot, formats: list[Format], *, write: bool = False) -> Surface:
    """Something that fits a declaration."""
    d = slot.dimension
    count = r.choice((1, 7, 64, 200))
    if d == ViewDimension.RAW_BUFFER:
        return s.buffer(np.arange(count, dtype=np.uint32))
    if d == ViewDimension.STRUCTURED_BUFFER:
        return s.buffer(np.zeros(count * slot.stride, np.uint8), d, stride=slot.stride)
    format = r.choice(formats)
    info = FORMATS[format]
    if d == ViewDimension.BUFFER:
        format = r.choice([f for f in formats if FORMATS[f].channels and FORMATS[f].block == 1 and not FORMATS[f].pair])
        size = FORMATS[format].bytes_per_block
        out = s.buffer(np.zeros(count * size, np.uint8), d, stride=size, format=format)
        fill(s, r, out)
        return out
    width, height, depth = r.choice((1, 4, 5, 16, 33)), r.choice((1, 4, 7, 16)), r.choice((1, 2, 5))
    slices = r.choice((1, 2, 5))
    samples = 1
    if d == ViewDimension.TEXTURE1D:
        format = r.choice([f for f in formats if FORMATS[f].block == 1])
        height = 1
    elif d == ViewDimension.TEXTURECUBE:
        height, slices = width, 6 * r.choice((1, 2))
    elif d == ViewDimension.TEXTURE2D and not write and r.random() < 0.2 and info.block == 1:
        samples = r.choice((2, 4, 8))
    if d != ViewDimension.TEXTURE3D:
        depth = 1
    else:
        slices = 1
    most = 1 if samples > 1 else max(width, height, depth).bit_length()
    mips = r.randrange(1, most + 1)
    t = s.texture(format, width, height, depth=depth, mips=mips, slices=slices, samples=samples, dimension=d)
    fill(s, r, t)
    first = r.randrange(mips)
    levels = 1 if write else r.randrange(1, mips - first + 1)
    if d == ViewDimension.TEXTURECUBE:
        first_slice, count = (0, slices) if slot.array else (0, 6)
    elif d == ViewDimension.TEXTURE3D:
        first_slice, count = 0, max(1, depth >> first)
    else:
        first_slice = r.randrange(slices)
        count = r.randrange(1, slices - first_slice + 1) if slot.array else 1
    v = View(
        d, format, width, height, depth, mips, slices, samples, first, levels, first_slice, count,
        int(ViewFlag.ARRAY) if slot.array else 0, min_lod=r.choice((0.0, 0.0, 0.7, 3.0)),
    )  # fmt: skip
    return Surface(t.address, t.size, v, t.layout)


def random_sampler(r: random.Random, compare: bool) -> Sampler:
    """Any sampler."""
    return Sampler(
        r.randrange(2), r.randrange(2), r.randrange(2), r.random() < 0.2, compare, r.randrange(1, 6), r.randrange(1, 6),
        r.randrange(1, 6), r.randrange(1, 9), r.randrange(0, 17), r.choice((0.0, 0.5, -2.0)), r.choice((-1000.0, 0.0, 1.5)),
        r.choice((1000.0, 2.25, 0.0)), (0.25, 0.5, 0.75, 1.0),
    )  # fmt: skip


def bind(s: Scene, r: random.Random, made: Made, out: list[Surface]) -> None:
    """The program, and what it wants; sometimes something else, sometimes nothing."""
    program = made.program
    stage = program.stage
    s.shader(program)
    g = np.random.default_rng(r.getrandbits(32))
    for slot in range(3):
        if r.random() < 0.9:
            data = g.choice(np.array([0, 1, 2, 31, 0x3F800000, 0x80000000, 0xFFFFFFFF], np.uint32), r.choice((1, 4, 16, 64)))
            s.constants(Stage(stage), slot, data)
    for slot, wanted in made.resources.items():
        if r.random() < 0.93:
            surface = surface_for(s, r, wanted, SAMPLED)
            s.bind(Op.SET_RESOURCE, surface, slot=stage << 8 | slot)
    for slot, wanted in made.uavs.items():
        if r.random() < 0.95 or slot == 7:
            surface = surface_for(s, r, wanted, TYPED_UAVS, write=True)
            counter = 0
            view = surface.view
            if wanted.counter:
                counter, _ = s.upload(np.zeros(1, np.uint32))
                v = surface.view
                view = View(v.dimension, v.format, v.width, v.height, flags=int(ViewFlag.COUNTER), stride=v.stride)
                out.append(Surface(counter, 4, view, None))
            if slot == 7:
                surface = s.buffer(np.zeros((THREADS_OUT, REGISTERS_OUT), np.uint8))
                view = surface.view
                surface.view = View(view.dimension, 0, view.width, stride=REGISTERS_OUT)  # so that it is known
            out.append(surface)
            s.bind(Op.SET_UAV, surface, slot=stage << 8 | slot, view=view, counter=counter)
    for slot, compare in made.samplers.items():
        if r.random() < 0.9:
            s.sampler(random_sampler(r, compare), stage=Stage(stage), slot=slot)


def dispatch_scene(s: Scene, seed: int, *, exact: bool) -> list[Surface]:
    """A dispatch or two."""
    r = random.Random(seed)
    out: list[Surface] = []
    for _ in range(r.randrange(1, 3)):
        made = compute_program(r, exact=exact)
        bind(s, r, made, out)
        if exact:
            s.emit(Op.DISPATCH, data=[r.choice((1, 2, 8)), 1, 1])
        else:
            s.emit(Op.DISPATCH, data=[r.choice((1, 2, 5)), r.choice((1, 2)), r.choice((1, 1, 3))])
    return out


def random_blend(r: random.Random) -> TargetBlend:
    """Any blend state of one target."""
    factors = [*range(1, 12), *range(14, 20)]
    if r.random() < 0.5:
        return TargetBlend(write_mask=r.choice((15, 15, r.randrange(16))))
    pick = lambda: r.choice(factors)  # noqa: E731
    return TargetBlend(True, pick(), pick(), r.randrange(1, 6), pick(), pick(), r.randrange(1, 6), r.choice((15, r.randrange(16))))


def state(s: Scene, r: random.Random) -> None:
    """Fixed function."""
    if r.random() < 0.7:
        flags = 0
        if r.random() < 0.1:
            flags |= BlendFlag.ALPHA_TO_COVERAGE
        if r.random() < 0.1:
            flags |= BlendFlag.LOGIC_OP | r.randrange(16) << 8
        s.blend(*[random_blend(r) for _ in range(r.choice((1, 8)))], arg=int(flags))
    if r.random() < 0.5:
        data = [float_bits(r.random()) for _ in range(4)]
        s.emit(Op.SET_BLEND_FACTOR, data=[*data, r.choice((0xFFFFFFFF, 0xFFFFFFFF, r.getrandbits(8)))])
    if r.random() < 0.7:
        op = lambda: r.randrange(1, 9)  # noqa: E731
        face = lambda: StencilFace(op(), op(), op(), op())  # noqa: E731
        s.depth_state(
            DepthStencil(
                r.random() < 0.7, r.random() < 0.7, op(), r.random() < 0.4, r.getrandbits(8), r.getrandbits(8), face(), face(),
                r.getrandbits(8),
            )
        )  # fmt: skip
    s.rasterizer(
        Rasterizer(
            2 if r.random() < 0.05 else 3, r.choice((1, 1, 1, 2, 3)), r.random() < 0.5, r.random() < 0.8, r.random() < 0.15,
            r.random() < 0.5, r.random() < 0.2, r.choice((0, 0, 1000, -100000)), r.choice((0.0, 0.0, 0.01, -0.01)),
            r.choice((0.0, 0.0, 1.5)),
        )
    )  # fmt: skip
    count = r.choice((1, 1, 1, 3, 16))
    for slot in range(count):
        x, y, w, h = 0.0, 0.0, 130.0, 70.0
        if r.random() < 0.3:
            x, y = (r.choice((0, r.uniform(-20, 20), r.randrange(40))) for _ in range(2))
            w, h = r.choice((64, 40.5, 1, 300)), r.choice((48, 17.25, 1, 300))
        near, far = r.choice(((0, 1), (0, 1), (0.25, 0.5), (1, 0), (r.random(), r.random())))
        data = [float_bits(v) for v in (x, y, w, h, near, far)]
        s.emit(Op.SET_VIEWPORT, slot=slot, arg=count, data=data)
        if r.random() < 0.7:
            edges = [r.randrange(0, 30), r.randrange(0, 30), r.randrange(10, 90), r.randrange(10, 90)]
            s.emit(Op.SET_SCISSOR, slot=slot, data=edges)


TOPOLOGIES = [Topology.TRIANGLELIST] * 4 + [Topology.TRIANGLESTRIP] * 4 + [Topology.TRIANGLELIST_ADJ, Topology.TRIANGLESTRIP_ADJ] * 2
#: What a geometry program takes from each.
PRIMITIVES = {
    Topology.POINTLIST: 1, Topology.LINELIST: 2, Topology.LINESTRIP: 2, Topology.TRIANGLELIST: 3, Topology.TRIANGLESTRIP: 3,
    Topology.LINELIST_ADJ: 6, Topology.LINESTRIP_ADJ: 6, Topology.TRIANGLELIST_ADJ: 7, Topology.TRIANGLESTRIP_ADJ: 7,
}  # fmt: skip
OTHER_TOPOLOGIES = [Topology.POINTLIST, Topology.LINELIST, Topology.LINESTRIP, Topology.LINELIST_ADJ, Topology.LINESTRIP_ADJ]


def topology_of(r: random.Random, tessellated: bool) -> Topology:
    """Of a draw."""
    if tessellated or r.random() < 0.05:
        return Topology(Topology.PATCHLIST_1) if r.random() < 0.2 else Topology.PATCHLIST_1 + r.choice((2, 3, 3, 8))  # type: ignore[return-value]
    return r.choice(OTHER_TOPOLOGIES if r.random() < 0.3 else TOPOLOGIES)


def stages(s: Scene, r: random.Random, vs: Made, topology: int, out: list[Surface], *, tessellated: bool, exact: bool) -> Made:
    """Programs between vertices and pixels; the last one."""
    last = vs
    for stage in (Stage.HULL, Stage.DOMAIN, Stage.GEOMETRY):
        s.emit(Op.SET_SHADER, slot=stage << 8)
    primitive = PRIMITIVES.get(topology, 8 + topology - Topology.PATCHLIST_1)
    if tessellated:
        domain = r.randrange(1, 4)
        hull = hull_program(r, last, topology - Topology.PATCHLIST_1 + 1, domain, exact=exact)
        bind(s, r, hull, out)
        last = domain_program(r, hull, domain, exact=exact)
        bind(s, r, last, out)
        primitive = {1: 1, 2: 2, 3: 3, 4: 3}[hull.program.topology >> 8]
    if r.random() < 0.3:
        last = geometry_program(r, last, primitive, exact=exact)
        bind(s, r, last, out)
    for buffer in range(r.randrange(3)):
        target, counter = s.buffer(np.zeros(r.choice((64, 4000)), np.uint8)), s.buffer(np.zeros(4, np.uint8))
        s.emit(
            Op.SET_STREAM_OUTPUT, slot=buffer, address=target.address, extent=target.size, address2=counter.address, extent2=4,
            arg=1, data=[r.choice((0, 0, 12))],
        )  # fmt: skip
        out += [target, counter]
    return last


def geometry(s: Scene, r: random.Random, topology: int) -> None:
    """Vertex buffers, a layout, indices."""
    g = np.random.default_rng(r.getrandbits(32))
    strides = {}
    for slot in range(r.randrange(1, 4)):
        stride = r.choice((0, 4, 16, 20, 32, 48, 7))
        strides[slot] = stride
        size = max(4, stride * r.choice((3, 30, 60)) + r.randrange(20))
        data = g.integers(0, 256, size, np.uint8)
        floats = data[: size & ~3].view(np.float32)
        floats[:] = np.where(g.random(len(floats)) < 0.95, g.uniform(-2, 2, len(floats)), floats)
        floats[np.isnan(floats)] = 1
        address, size = s.upload(data)
        s.emit(Op.SET_VERTEX_BUFFER, slot=slot, address=address, extent=size, data=[stride])
    elements = [InputElement(0, 0, r.choice((Format.R32G32B32A32_FLOAT, Format.R32G32_FLOAT, Format.R16G16_SNORM)), r.choice((0, 4, 8)))]
    for register in range(1, r.randrange(1, 8)):
        slot = r.randrange(4)
        per = r.random() < 0.3
        elements.append(InputElement(register, slot, r.choice(VERTICES), r.choice((0, 4, 8, 12, 2)), per, r.choice((0, 1, 2, 3)) if per else 0))
    if r.random() < 0.95:
        s.layout(elements)
    s.emit(Op.SET_TOPOLOGY, arg=topology)
    if r.random() < 0.8:
        dtype: Any = r.choice((np.uint16, np.uint32))
        indices = g.integers(0, r.choice((4, 60, 60)), r.choice((3, 40, 300, 300))).astype(dtype)
        indices[g.random(len(indices)) < r.choice((0, 0.05, 0.3))] = np.iinfo(dtype).max
        s.indices(indices)


def call(s: Scene, r: random.Random) -> None:
    """A draw."""
    count, instances = r.choice((0, 2, 3, 6, 31, 100, 300)), r.choice((0, *[1] * 8, 2, 5))
    start = r.choice((0, 0, 0, 0, 1, 7, 1000))
    if r.random() < 0.5:
        s.draw(count, instances, start, r.choice((0, 1, 5)))
    else:
        s.draw_indexed(count, instances, start, r.choice((0, 0, 3, -2, -100)), r.choice((0, 2)))


def draw_scene(s: Scene, seed: int, *, exact: bool) -> list[Surface]:
    """Some draws with changing state into the same targets."""
    r = random.Random(seed)
    out: list[Surface] = []
    samples = r.choice((1, 1, 1, 2, 4, 8))
    layers = r.choice((1, 1, 1, 3))
    width, height = r.choice(((64, 48), (64, 48), (130, 70), (130, 70), (1, 1), (65, 3)))
    dimension = ViewDimension.TEXTURE2D
    targets: dict[int, str] = {}
    for slot in range(r.choice((0, 1, 1, 1, 2, 8))):
        if slot and r.random() < 0.2:
            continue
        format = r.choice(TARGETS)
        t = s.texture(format, width, height, slices=layers, samples=samples, dimension=dimension, flags=int(layers > 1))
        fill(s, r, t)
        s.bind(Op.SET_RENDER_TARGET, t, slot=slot, arg=slot + 1)
        out.append(t)
        targets[slot] = kind_of(format)
    if r.random() < 0.6:
        d = s.texture(r.choice(DEPTHS), width, height, slices=layers, samples=samples, flags=int(layers > 1))
        fill(s, r, d)
        s.bind(Op.SET_DEPTH_STENCIL, d, arg=r.choice((0, 0, 0, 1, 2, 3)))
        out.append(d)
    block = s.buffer(np.zeros(64, np.uint64))
    query = r.random() < 0.3
    kind = r.choice((QueryKind.OCCLUSION, QueryKind.OCCLUSION, QueryKind.PIPELINE_STATISTICS, QueryKind.OCCLUSION_PREDICATE))
    if query:
        s.emit(Op.QUERY_BEGIN, address=block.address, extent=256, arg=kind)
        if kind == QueryKind.PIPELINE_STATISTICS:
            block.view = View(block.view.dimension, 0, block.view.width, stride=STATISTICS_STRIDE)  # so that it is known
        out.append(block)
    for _ in range(r.randrange(1, 4)):
        tessellated = r.random() < 0.15
        topology = topology_of(r, tessellated)
        vs = vertex_program(r, exact=exact, layers=layers)
        bind(s, r, vs, out)
        last = stages(s, r, vs, topology, out, tessellated=tessellated, exact=exact)
        if r.random() < 0.95:
            kinds = targets if exact or r.random() < 0.9 else {0: "f", 1: "i"}
            bind(s, r, pixel_program(r, last.outputs, kinds, exact=exact), out)
        else:
            s.emit(Op.SET_SHADER, slot=Stage.PIXEL << 8)
        state(s, r)
        geometry(s, r, topology)
        for _ in range(r.randrange(1, 4)):
            call(s, r)
    if query:
        s.emit(Op.QUERY_END, address=block.address, extent=256, arg=kind)
    return out
