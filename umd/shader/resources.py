"""Textures and buffers that are read: sample, load, gather and the queries about them."""

from __future__ import annotations

from umd.shader.errors import ShaderError
from umd.shader.ir import NONE, TEMP
from umd.shader.translator import Resource, Translator, handles, mnemonic
from wddm.dxbc.opcodes import OPCODES, Dimension, Opcode, RegisterType, ResinfoReturn
from wddm.dxbc.program import Instruction, Operand
from wddm.hw.isa import INDEX_MASK, Op

RASTERIZER_SLOT = 255
_SAMPLES = {
    Opcode.SAMPLE: Op.SAMPLE,
    Opcode.SAMPLE_B: Op.SAMPLE_BIAS,
    Opcode.SAMPLE_L: Op.SAMPLE_LEVEL,
    Opcode.SAMPLE_D: Op.SAMPLE_GRAD,
    Opcode.SAMPLE_C: Op.SAMPLE_COMPARE,
    Opcode.SAMPLE_C_LZ: Op.SAMPLE_COMPARE_LZ,
    Opcode.GATHER4: Op.GATHER4,
    Opcode.GATHER4_C: Op.GATHER4_COMPARE,
    Opcode.GATHER4_PO: Op.GATHER4_OFFSET,
    Opcode.GATHER4_PO_C: Op.GATHER4_OFFSET_COMPARE,
    Opcode.LOD: Op.LOD,
    Opcode.SAMPLE_L_S: Op.SAMPLE_LEVEL,
    Opcode.SAMPLE_C_LZ_S: Op.SAMPLE_COMPARE_LZ,
    Opcode.GATHER4_S: Op.GATHER4,
    Opcode.GATHER4_C_S: Op.GATHER4_COMPARE,
    Opcode.GATHER4_PO_S: Op.GATHER4_OFFSET,
    Opcode.GATHER4_PO_C_S: Op.GATHER4_OFFSET_COMPARE,
}
_GATHERS = (Op.GATHER4, Op.GATHER4_COMPARE, Op.GATHER4_OFFSET, Op.GATHER4_OFFSET_COMPARE)


def result(
    t: Translator,
    d: Operand,
    swizzle: tuple[int, int, int, int],
    op: Op,
    src: tuple[int, ...],
    *,
    aux: int,
    aux2: int = 0,
    widths: tuple[int, ...] | None = None,
) -> None:
    """Emit an operation with a four-component result and put component ``swizzle[c]`` into each masked ``c`` of ``d``.

    When the components lie in the destination as they come out, the operation writes it directly.
    """
    where = t.destination(d)
    if not where:
        return
    b = t.builder
    mask = 0
    for c, _ in where:
        mask |= 1 << swizzle[c]
    shifts = {c - swizzle[c] for c, _ in where}
    first_component, first = where[0]
    if isinstance(first, int) and first >> 28 == 1 and len(shifts) == 1:
        base = (first & INDEX_MASK) - swizzle[first_component]
        if base >= 0:
            target, copies = TEMP | base, False
        else:
            target, copies = b.scratch(4), True
    else:
        target, copies = b.scratch(4), True
    offsets = tuple(o for o in range(4) if mask >> o & 1)
    b.emit(op, target, *src, aux=aux | mask << 16, aux2=aux2, widths=widths, offsets=offsets, span=4)
    if copies:
        for c, destination in where:
            b.store(destination, target + swizzle[c])


def view(t: Translator, operand: Operand, *, uav: bool = False) -> tuple[int, Resource]:
    """Slot and declaration of a t# or u#."""
    number = t.static_index(operand, "resource")
    found = (t.uavs if uav else t.resources).get(number)
    if found is None:
        raise ShaderError(f"{'u' if uav else 't'}{number} is not declared")
    return number, found


def _sampler(t: Translator, operand: Operand) -> tuple[int, int]:
    """Slot, and the component that a gather names."""
    if operand.type is not RegisterType.SAMPLER:
        raise ShaderError("a sampler is needed")
    number = t.static_index(operand, "sampler")
    if number > 15:
        raise ShaderError(f"s{number} does not exist")
    return number, operand.swizzle[0] if operand.components == 4 else 0


def texel_offsets(i: Instruction) -> int:
    """The immediate texel offsets as aux2 has them."""
    if i.texel_offset is None:
        return 0
    u, v, w = i.texel_offset
    return (u & 0xFF) | (v & 0xFF) << 8 | (w & 0xFF) << 16


def _gradient_width(dimension: Dimension) -> int:
    return max(1, dimension.coordinates - (1 if dimension.is_array else 0))


@handles(*_SAMPLES)
def sample(t: Translator, i: Instruction) -> None:
    roles = OPCODES[i.opcode].roles
    operands = dict(zip(roles, i.operands, strict=True))
    slot, resource = view(t, operands["t"])
    sampler, component = _sampler(t, operands["s"])
    op = _SAMPLES[i.opcode]
    if resource.dimension in (Dimension.BUFFER, Dimension.RAW_BUFFER, Dimension.STRUCTURED_BUFFER, Dimension.UNKNOWN):
        raise ShaderError(f"t{slot} is a buffer and cannot be sampled")
    if resource.dimension.is_multisampled:
        raise ShaderError(f"t{slot} is multisampled and cannot be sampled")
    # A cube map's direction and its array index lie in xyz and w.
    positions = tuple(range(resource.dimension.coordinates))
    src = [t.address(operands["addr"], positions, "f")]
    widths = [len(positions)]
    if op in (Op.SAMPLE_BIAS, Op.SAMPLE_LEVEL, Op.SAMPLE_COMPARE, Op.SAMPLE_COMPARE_LZ, Op.GATHER4_COMPARE):
        role = {Op.SAMPLE_BIAS: "bias", Op.SAMPLE_LEVEL: "lod"}.get(op, "ref")
        src.append(t.plain(operands[role], (0,), "f")[0])
        widths.append(0)
    elif op is Op.SAMPLE_GRAD:
        width = _gradient_width(resource.dimension)
        for role in ("ddx", "ddy"):
            src.append(t.address(operands[role], tuple(range(width)), "f"))
            widths.append(width)
    elif op in (Op.GATHER4_OFFSET, Op.GATHER4_OFFSET_COMPARE):
        src.append(t.plain(operands["ref"], (0,), "f")[0] if "ref" in operands else NONE)
        src.append(t.address(operands["off"], (0, 1), "i"))
        widths += [0, 2]
    aux = slot | sampler << 8
    # A programmable offset takes the place of the immediate one; level-of-detail queries have none.
    offsets = 0 if op in (Op.GATHER4_OFFSET, Op.GATHER4_OFFSET_COMPARE, Op.LOD) else texel_offsets(i)
    if op in _GATHERS:
        aux |= component << 20
    result(
        t, operands["d"], operands["t"].swizzle, op, tuple(src), aux=aux, aux2=offsets, widths=tuple(widths)
    )
    mapped(t, operands)


def mapped(t: Translator, operands: dict[str, Operand]) -> None:
    """The status of a feedback form: every texel is there, since tiled resources do not exist."""
    if "st" in operands:
        status = t.builder.literal(0xFFFFFFFF)
        for _, d in t.destination(operands["st"]):
            t.builder.store(d, status)


@handles(Opcode.CHECK_ACCESS_FULLY_MAPPED)
def check_access(t: Translator, i: Instruction) -> None:
    word = t.plain(i.operands[1], (0,), "u")[0]
    zero = t.builder.literal(0)
    t.builder.parallel([(d, Op.INE, (word, zero), 0) for _, d in t.destination(i.operands[0])])


@handles(Opcode.SAMPLE_CL_S, Opcode.SAMPLE_B_CL_S, Opcode.SAMPLE_D_CL_S, Opcode.SAMPLE_C_CL_S)
def clamped(t: Translator, i: Instruction) -> None:
    raise ShaderError(f"{mnemonic(i)} needs tiled resources, which this adapter does not have")


@handles(Opcode.LD, Opcode.LD_MS, Opcode.LD_S, Opcode.LD_MS_S)
def load(t: Translator, i: Instruction) -> None:
    operands = dict(zip(OPCODES[i.opcode].roles, i.operands, strict=True))
    slot, resource = view(t, operands["t"])
    dimension = resource.dimension
    if dimension in (Dimension.RAW_BUFFER, Dimension.STRUCTURED_BUFFER, Dimension.TEXTURECUBE, Dimension.TEXTURECUBEARRAY):
        raise ShaderError(f"t{slot} is a {dimension.name.lower()} and cannot be loaded from by texel")
    positions = tuple(range(dimension.coordinates))
    src = [t.address(operands["addr"], positions, "i")]
    widths = [len(positions)]
    if "sample" in operands:
        src += [NONE, t.plain(operands["sample"], (0,), "i")[0]]
        widths += [0, 0]
    elif dimension is not Dimension.BUFFER and not dimension.is_multisampled:
        src.append(t.plain(operands["addr"], (3,), "i")[0])
        widths.append(0)
    result(
        t, operands["d"], operands["t"].swizzle, Op.LOAD, tuple(src), aux=slot, aux2=texel_offsets(i), widths=tuple(widths)
    )
    mapped(t, operands)


@handles(Opcode.RESINFO)
def resinfo(t: Translator, i: Instruction) -> None:
    d, mip, resource = i.operands
    control = int(i.resinfo_return) << 24
    uav = resource.type is RegisterType.UNORDERED_ACCESS_VIEW
    slot, declared = view(t, resource, uav=uav)
    if declared.dimension in (Dimension.BUFFER, Dimension.RAW_BUFFER, Dimension.STRUCTURED_BUFFER):
        _buffer_size(t, i, slot, uav)
        return
    if uav:
        result(t, d, resource.swizzle, Op.UAV_RESINFO, (), aux=slot, aux2=control)
        return
    result(t, d, resource.swizzle, Op.RESINFO, (t.plain(mip, (0,), "u")[0],), aux=slot, aux2=control)


def _buffer_size(t: Translator, i: Instruction, slot: int, uav: bool) -> None:
    """Shader model 4 asks for the size of a buffer with resinfo: the element count in x, one mip in w."""
    d, _, resource = i.operands
    b = t.builder
    count = b.scratch(1)
    b.emit(Op.UAV_BUFINFO if uav else Op.BUFINFO, count, aux=slot | 1 << 16, offsets=(0,), span=1)
    one = b.literal(1)
    if i.resinfo_return is not ResinfoReturn.UINT:
        count, one = b.value(Op.UTOF, count), b.literal(0x3F800000)
    if i.resinfo_return is ResinfoReturn.RCPFLOAT:
        count = b.value(Op.FRCP, count)
    zero = b.literal(0)
    values = (count, zero, zero, one)
    t.write(d, {c: values[resource.swizzle[c]] for c in range(4)})


def _sampled(t: Translator, operand: Operand) -> int:
    return RASTERIZER_SLOT if operand.type is RegisterType.RASTERIZER else view(t, operand)[0]


@handles(Opcode.SAMPLEINFO)
def sampleinfo(t: Translator, i: Instruction) -> None:
    d, source = i.operands
    control = (0 if i.resinfo_return is ResinfoReturn.FLOAT else 1) << 24
    result(t, d, _swizzle(source), Op.SAMPLEINFO, (), aux=_sampled(t, source), aux2=control)


@handles(Opcode.SAMPLEPOS)
def samplepos(t: Translator, i: Instruction) -> None:
    d, source, index = i.operands
    word = t.plain(index, (0,), "i")[0]
    result(t, d, _swizzle(source), Op.SAMPLEPOS, (word,), aux=_sampled(t, source))


def _swizzle(operand: Operand) -> tuple[int, int, int, int]:
    """A rasterizer operand may carry no components; then they are taken in order."""
    return operand.swizzle if operand.components == 4 else (0, 1, 2, 3)


@handles(Opcode.BUFINFO)
def bufinfo(t: Translator, i: Instruction) -> None:
    d, source = i.operands
    uav = source.type is RegisterType.UNORDERED_ACCESS_VIEW
    slot, _ = view(t, source, uav=uav)
    # The count stands in every component.
    op = Op.UAV_BUFINFO if uav else Op.BUFINFO
    result(t, d, (0, 0, 0, 0), op, (), aux=slot)
