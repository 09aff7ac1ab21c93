"""Random valid programs of each stage."""

from __future__ import annotations

import random

from wddm.hw.descriptors import ViewDimension
from wddm.hw.isa import DeclarationKind, Interpolation, Kind, ProgramFlag, SystemRegister, SystemValue, operand
from wddm.hw.packets import Stage

from .maker import DOUBLES, FLOATS, INTEGERS, SCRATCH, Made, Maker, Slot, bits


def vertex_program(r: random.Random, *, exact: bool, layers: int = 1, wild: float = 0.1) -> Made:
    """Inputs 0..: as many as a layout may have; output 0 the position, 1.. generic, then distances and array indices."""
    m = Maker(r, Stage.VERTEX, exact=exact)
    m.bindings(resources=0 if exact else 3)
    for register in range(r.randrange(1, 6)):
        kind = "f" if register == 0 else r.choice("if")
        m.inputs[register] = kind
        value = r.choice((SystemValue.NONE,) * 8 + (SystemValue.VERTEX_ID, SystemValue.INSTANCE_ID)) if register else 0
        if value and exact:
            m.inputs[register] = "i"
        m.declare(DeclarationKind.INPUT, register, 15 if not value else 1 << r.randrange(4), value)
    m.declare(DeclarationKind.OUTPUT, 0, 15, SystemValue.POSITION)
    for register in range(1, r.randrange(1, 6)):
        m.outputs[register] = r.choice("if")
        m.declare(DeclarationKind.OUTPUT, register, 15)
    distances = 0
    for register in range(6, r.choice((6, 6, 6, 6, 7, 8))):
        mask = r.randrange(1, 16)
        value = r.choice((SystemValue.CLIP_DISTANCE, SystemValue.CULL_DISTANCE))
        m.declare(DeclarationKind.OUTPUT, register, mask, value)
        distances |= mask << 4 * (register - 6)
    selects = [v for v in (SystemValue.RENDER_TARGET_ARRAY_INDEX, SystemValue.VIEWPORT_ARRAY_INDEX) if r.random() < 0.15]
    for n, value in enumerate(selects):
        m.declare(DeclarationKind.OUTPUT, 8 + n, 1, value)
    stream_output(m, 0.15)
    if exact:
        m.load_inputs()
    m.body(0, r.choice((2, 6, 16)))
    low, span = m.literal(bits(-1.3)), m.literal(bits(2.6))
    for c, step in enumerate((0.618034, 0.754878)):
        t = m.temp(SCRATCH[c])
        if r.random() < 0.7:  # spread by the vertex's number
            m.emit("UTOF", t, [operand(Kind.SYSTEM, SystemRegister.VERTEX_ID)])
            m.emit("FMUL", t, [t, m.literal(bits(step))])
            m.emit("FFRC", t, [t])
        else:
            source = operand(Kind.INPUT, c) if r.random() < 0.7 else m.temp(r.choice(FLOATS))
            m.emit("MOV" if r.random() < wild else "FFRC", t, [source])
        m.emit("FMUL", t, [t, span])
        m.emit("FADD", operand(Kind.OUTPUT, c), [t, low])
    z, w = m.temp(SCRATCH[2]), m.temp(SCRATCH[3])
    for t in (z, w):
        m.emit("FADD", t, [m.temp(SCRATCH[0]), operand(Kind.INPUT, r.randrange(4))])
        m.emit("FFRC", t, [t])
    m.emit("FADD", w, [w, m.literal(bits(r.choice((0.25, 1.0, -0.25))))])
    m.emit("MOV", operand(Kind.OUTPUT, 2), [m.temp(r.choice(FLOATS)) if r.random() < wild else z])
    if r.random() < wild:
        w = m.temp(r.choice(FLOATS))
    m.emit("MOV", operand(Kind.OUTPUT, 3), [w if r.random() < 0.4 else m.literal(bits(1.0))])
    for register, kind in m.outputs.items():
        for c in range(4):
            m.write(register, c, kind)
    for c in range(8):
        if distances >> c & 1:
            m.emit("FADD", operand(Kind.OUTPUT, 24 + c), [operand(Kind.INPUT, r.randrange(4)), m.literal(bits(r.uniform(0, 2)))])
    for n in range(len(selects)):
        m.emit("AND", operand(Kind.OUTPUT, 4 * (8 + n)), [m.temp(r.choice(INTEGERS)), m.literal(r.choice((1, 3, 7)))])
    return m.finish()


#: Input primitives of geometry programs: their corners.
CORNERS = {1: 1, 2: 2, 3: 3, 6: 4, 7: 6} | {8 + n: n + 1 for n in range(32)}
FACTORS = {
    1: (SystemValue.LINE_DENSITY, SystemValue.LINE_DETAIL),
    2: (SystemValue.TRI_EDGE_U0, SystemValue.TRI_EDGE_V0, SystemValue.TRI_EDGE_W0, SystemValue.TRI_INSIDE),
    3: tuple(SystemValue(v) for v in range(SystemValue.QUAD_EDGE_U0, SystemValue.QUAD_INSIDE_V + 1)),
}


def stream_output(m: Maker, chance: float = 0.4) -> None:
    """Declarations that send some outputs to buffers 0 and 1."""
    r = m.r
    if r.random() > chance:
        return
    for buffer in range(r.randrange(1, 3)):
        at = r.choice((0, 0, 4))
        for register in r.sample([0, *m.outputs], r.randrange(1, len(m.outputs) + 2)):
            mask = r.choice((15, 1, 3, 6, 12))
            m.declare(DeclarationKind.STREAM_OUTPUT, register, mask, buffer, at)
            at += 4 * mask.bit_count()
        m.declare(DeclarationKind.STREAM_STRIDE, buffer, value=at + r.choice((0, 0, 8)))


def take_inputs(m: Maker, before: Made) -> None:
    """Declare what the stage before writes, and sometimes what it does not; arrays by vertex."""
    m.declare(DeclarationKind.INPUT, 0, 15, SystemValue.POSITION if m.stage == Stage.GEOMETRY else 0)
    m.inputs[0] = "f"
    for register in range(1, 6):
        if register in before.outputs or m.r.random() < 0.1:
            m.declare(DeclarationKind.INPUT, register, 15)
            m.inputs[register] = before.outputs.get(register, "f")


def load(m: Maker, index: int, vertex: int) -> None:
    """Some input components of a vertex into registers of their kind."""
    for register, kind in m.inputs.items():
        if register and m.r.random() < 0.7:
            target = m.temp(m.r.choice(INTEGERS if kind == "i" else FLOATS))
            m.emit("LOAD_INPUT", target, [m.literal(register * 4 + index % 4), vertex])


def geometry_program(r: random.Random, before: Made, primitive: int, *, exact: bool) -> Made:
    """Emits around its corners, under conditions."""
    m = Maker(r, Stage.GEOMETRY, exact=exact)
    m.bindings(resources=0 if exact else 2)
    take_inputs(m, before)
    m.declare(DeclarationKind.OUTPUT, 0, 15, SystemValue.POSITION)
    for register in range(1, r.randrange(1, 6)):
        m.outputs[register] = r.choice("if")
        m.declare(DeclarationKind.OUTPUT, register, 15)
    selects = [v for v in (SystemValue.RENDER_TARGET_ARRAY_INDEX, SystemValue.VIEWPORT_ARRAY_INDEX) if r.random() < 0.2]
    for n, value in enumerate(selects):
        m.declare(DeclarationKind.OUTPUT, 8 + n, 1, value)
    stream_output(m)
    for system in (SystemRegister.PRIMITIVE_ID, SystemRegister.GS_INSTANCE_ID):
        m.emit("MOV", m.temp(r.choice(INTEGERS)), [operand(Kind.SYSTEM, system)])
    counter, vertex, t = m.temp(39), m.temp(38), m.temp(SCRATCH[0])
    m.emit("MOV", counter, [m.literal(0)])
    m.emit("LOOP")
    m.regions.append("loop")
    m.emit("UGE", t, [counter, m.literal(r.randrange(1, 9))])
    m.emit("BREAKC", 0, [t], 1)
    m.emit("UREM", vertex, [counter, m.literal(CORNERS[primitive])])
    m.emit("IADD", counter, [counter, m.literal(1)])
    load(m, r.randrange(4), vertex)
    m.body(1, r.choice((2, 4)))
    for c in range(4):
        m.emit("LOAD_INPUT", operand(Kind.OUTPUT, c), [m.literal(c), vertex])
    if r.random() < 0.5:  # corners apart
        m.emit("UTOF", t, [counter])
        m.emit("FMUL", t, [t, m.literal(bits(r.choice((0.37, 0.9))))])
        m.emit("FFRC", operand(Kind.OUTPUT, r.randrange(2)), [t])
    for register, kind in m.outputs.items():
        for c in range(4):
            m.write(register, c, kind)
    for n in range(len(selects)):
        m.emit("AND", operand(Kind.OUTPUT, 4 * (8 + n)), [m.temp(r.choice(INTEGERS)), m.literal(r.choice((1, 3)))])
    for op, chance in (("EMIT", 0.3), ("CUT", 0.9)):
        conditional = r.random() < chance
        if conditional:
            source, mods = m.condition()
            m.emit("IF", 0, source, mods=mods)
        if op == "EMIT" or r.random() < 0.5:
            m.emit(op)
        if conditional:
            m.emit("ENDIF")
    m.emit("ENDLOOP")
    m.regions.pop()
    return m.finish(
        primitive=primitive, topology=r.choice((1, 3, 5, 5, 5)), max_vertices=r.choice((1, 3, 4, 8, 20)), instances=r.choice((1, 1, 2, 3))
    )


def hull_program(r: random.Random, before: Made, points: int, domain: int, *, exact: bool) -> Made:
    """Control points from those before, and factors up to eight from them."""
    m = Maker(r, Stage.HULL, exact=exact)
    m.bindings(resources=0 if exact else 2)
    take_inputs(m, before)
    made = r.choice((1, 3, 4, points, 9))
    m.declare(DeclarationKind.OUTPUT, 0, 15)
    for register in [k for k in m.inputs if k]:
        m.outputs[register] = m.inputs[register]
        m.declare(DeclarationKind.OUTPUT, register, 15)
    for n, value in enumerate(FACTORS[domain]):
        m.declare(DeclarationKind.PATCH_CONSTANT, n, 1, value)
    m.declare(DeclarationKind.PATCH_CONSTANT, 8, 15)
    me = operand(Kind.SYSTEM, SystemRegister.CONTROL_POINT_ID)
    vertex = m.temp(38)
    m.emit("UREM", vertex, [me, m.literal(points)])
    m.emit("MOV", m.temp(r.choice(INTEGERS)), [me])
    load(m, r.randrange(4), vertex)
    m.body(0, r.choice((2, 6)))
    for c in range(4):
        m.emit("LOAD_INPUT", operand(Kind.OUTPUT, c), [m.literal(c), vertex])
    outputs = dict(m.outputs)
    for register, kind in outputs.items():
        for c in range(4):
            m.write(register, c, kind)
    entry, m.outputs = len(m.rows), {}
    m.body(0, 3)
    t = m.temp(SCRATCH[0])
    for n in range(len(FACTORS[domain])):
        m.emit("LOAD_CONTROL_POINT", t, [m.literal(r.randrange(4)), m.literal(r.randrange(made + 1))])
        m.emit("FFRC", t, [t])
        m.emit("FMUL", t, [t, m.literal(bits(r.choice((0.9, 3.0, 8.0))))])
        m.emit("FADD", operand(Kind.OUTPUT, 4 * n), [t, m.literal(bits(r.choice((0.0, 1.0, 1.0))))])
    for c in range(4):
        m.emit("MOV", operand(Kind.OUTPUT, 32 + c), [m.temp(r.choice(FLOATS))])
    m.outputs = outputs
    primitive = r.choice((1, 2)) if domain == 1 else r.choice((1, 3, 4, 3, 4))
    return m.finish(
        primitive=points | made << 8, topology=domain | r.randrange(1, 5) << 4 | primitive << 8, patch_entry=entry,
        max_tess_factor=bits(r.choice((64.0, 64.0, 5.0))),
    )  # fmt: skip


def domain_program(r: random.Random, before: Made, domain: int, *, exact: bool) -> Made:
    """Points from the domain, control points and patch constants."""
    m = Maker(r, Stage.DOMAIN, exact=exact)
    m.bindings(resources=0 if exact else 2)
    take_inputs(m, before)
    for n, value in enumerate(FACTORS[domain]):
        m.declare(DeclarationKind.PATCH_CONSTANT, n, 1, value)
    m.declare(DeclarationKind.PATCH_CONSTANT, 8, 15)
    m.declare(DeclarationKind.OUTPUT, 0, 15, SystemValue.POSITION)
    for register in range(1, r.randrange(1, 6)):
        m.outputs[register] = r.choice("if")
        m.declare(DeclarationKind.OUTPUT, register, 15)
    stream_output(m, 0.2)
    load(m, r.randrange(4), m.literal(r.randrange(4)))
    m.emit("LOAD_PATCH", m.temp(r.choice(FLOATS)), [m.literal(r.choice((0, 4, 32, 33)))])
    m.body(0, r.choice((2, 6)))
    for c, system in enumerate((SystemRegister.DOMAIN_U, SystemRegister.DOMAIN_V)):
        t = m.temp(SCRATCH[c])
        m.emit("FMUL", t, [operand(Kind.SYSTEM, system), m.literal(bits(r.choice((2.0, 1.3, -1.7))))])
        m.emit("LOAD_INPUT", m.temp(SCRATCH[2]), [m.literal(c), m.literal(0)])
        m.emit("FADD", operand(Kind.OUTPUT, c), [t, m.temp(SCRATCH[2]) if r.random() < 0.6 else m.literal(bits(-0.9))])
    m.emit("FFRC", operand(Kind.OUTPUT, 2), [m.temp(r.choice(FLOATS))])
    m.emit("MOV", operand(Kind.OUTPUT, 3), [m.literal(bits(1.0))])
    for register, kind in m.outputs.items():
        for c in range(4):
            m.write(register, c, kind)
    return m.finish(primitive=before.program.primitive >> 8, topology=domain)


def pixel_program(r: random.Random, vs_outputs: dict[int, str], targets: dict[int, str], *, exact: bool) -> Made:
    """Reads what the stage before wrote, and writes ``targets`` (register: kind of format)."""
    m = Maker(r, Stage.PIXEL, exact=exact)
    m.bindings(resources=0 if exact else 3, uavs=0 if exact else 2)
    for register in range(1, 7):
        if r.random() < 0.6:
            kind = vs_outputs.get(register, r.choice("if"))
            m.inputs[register] = kind
            interpolation = Interpolation.CONSTANT if exact else r.choice(tuple(Interpolation))
            m.declare(DeclarationKind.INPUT, register, 15, 0, interpolation)
    flags = 0
    extra = []
    for register, kind in targets.items():
        if r.random() < 0.9:
            m.outputs[register] = kind
            m.declare(DeclarationKind.OUTPUT, register, 15, SystemValue.TARGET)
    if r.random() < 0.15:
        m.declare(DeclarationKind.OUTPUT, 32, 1, r.choice((SystemValue.DEPTH, SystemValue.DEPTH_GREATER_EQUAL, SystemValue.DEPTH_LESS_EQUAL)))
        extra.append((32, "f"))
        flags |= ProgramFlag.WRITES_DEPTH
    if r.random() < 0.1:
        m.declare(DeclarationKind.OUTPUT, 33, 1, SystemValue.COVERAGE)
        extra.append((33, "i"))
    if r.random() < 0.1:
        m.declare(DeclarationKind.OUTPUT, 34, 1, SystemValue.STENCIL_REF)
        extra.append((34, "i"))
    if r.random() < 0.1:
        flags |= ProgramFlag.EARLY_DEPTH_STENCIL
    if r.random() < 0.05:
        flags |= ProgramFlag.SAMPLE_FREQUENCY
    if exact:
        m.load_inputs()
        for system in (SystemRegister.PRIMITIVE_ID, SystemRegister.FRONT_FACE, SystemRegister.COVERAGE, SystemRegister.SAMPLE_INDEX):
            if r.random() < (0.05 if system == SystemRegister.SAMPLE_INDEX else 0.2):
                m.emit("MOV", m.temp(r.choice(INTEGERS)), [operand(Kind.SYSTEM, system)])
        for system in (SystemRegister.POSITION_X, SystemRegister.POSITION_Y):
            if r.random() < 0.3:
                m.emit("MOV", m.temp(r.choice(FLOATS)), [operand(Kind.SYSTEM, system)])
    m.body(0, r.choice((2, 8, 20)))
    if r.random() < 0.3:
        source, mods = m.condition()
        m.emit("DISCARD", 0, source, mods=mods)
        flags |= ProgramFlag.USES_DISCARD
    for register, kind in m.outputs.items():
        for c in range(4):
            if r.random() < 0.95:
                m.write(register, c, kind)
    for register, kind in extra:
        m.write(register, 0, kind)
    if m.made.uavs:
        flags |= ProgramFlag.USES_UAV
    return m.finish(flags=flags)


def compute_program(r: random.Random, *, exact: bool) -> Made:
    """Any kernel. Exact ones read t0 and write u7 (raw), 24 dwords a thread; others touch whatever is bound."""
    m = Maker(r, Stage.COMPUTE, exact=exact)
    m.bindings(resources=0 if exact else 3, uavs=0 if exact else 3)
    group = r.choice(((1, 1, 1), (64, 1, 1), (8, 8, 1), (4, 4, 4), (7, 3, 1), (33, 1, 1), (128, 1, 1)))
    shared = r.choice((0, 64, 4096)) if not exact else r.choice((0, 4 * group[0] * group[1] * group[2]))
    if exact:
        m.declare(DeclarationKind.UAV, 7, 0, ViewDimension.RAW_BUFFER)
        m.made.uavs[7] = Slot(ViewDimension.RAW_BUFFER)
        size = group[0] * group[1] * group[2]
        flat = m.temp(SCRATCH[8])
        m.emit("IMAD", flat, [operand(Kind.SYSTEM, SystemRegister.GROUP_ID_X), m.literal(size), operand(Kind.SYSTEM, SystemRegister.ID_IN_GROUP_FLAT)])
        m.emit("IMUL", m.temp(SCRATCH[9]), [flat, m.literal(96)])
        for k in INTEGERS:
            m.emit("IMUL", m.temp(k), [flat, m.literal(r.choice((1, 3, 0x9E3779B9, 1 << 29, r.getrandbits(32))))])
        for k in FLOATS:
            m.emit("UTOF", m.temp(k), [flat])
            m.emit("FMUL", m.temp(k), [m.temp(k), m.literal(bits(r.uniform(-2, 2)))])
        for k in DOUBLES:
            m.emit("FTOD", m.temp(k), [m.temp(r.choice(FLOATS))])
    for _ in range(r.randrange(1, 4)):
        m.body(0, r.choice((2, 8, 16)))
        if shared and r.random() < 0.7:
            m.emit("BARRIER", aux=3)
            if exact:  # a rotation through shared memory
                at, value, result = m.temp(SCRATCH[10]), m.temp(r.choice(INTEGERS)), m.temp(r.choice(INTEGERS))
                me = operand(Kind.SYSTEM, SystemRegister.ID_IN_GROUP_FLAT)
                m.emit("SHL", at, [me, m.literal(2)])
                m.emit("SHARED_STORE", 0, [at, 0, value], 1 << 16)
                m.emit("BARRIER", aux=3)
                m.emit("IADD", at, [me, m.literal(r.randrange(1, 40))])
                m.emit("UREM", at, [at, m.literal(shared // 4)])
                m.emit("SHL", at, [at, m.literal(2)])
                m.emit("SHARED_LOAD", m.temp(SCRATCH[11]), [at], 1 << 16)
                m.emit("XOR", result, [result, m.temp(SCRATCH[11])])
                m.emit("BARRIER", aux=3)
    if exact:
        at = m.temp(SCRATCH[9])
        for k in range(0, 24, 4):
            m.emit("UAV_STORE_RAW", 0, [at, 0, m.temp(k)], 7 | 15 << 16)
            m.emit("IADD", at, [at, m.literal(16)])
    return m.finish(group=group, shared_bytes=shared)
