"""One instruction against its opcode's row and the declared registers."""

from __future__ import annotations

from collections.abc import Callable

from .opcodes import (
    OPCODES,
    Dimension,
    GlobalFlags,
    Modifier,
    Opcode,
    OpcodeGroup,
    OpcodeInfo,
    OperandKind,
    ProgramType,
    RegisterType,
    SamplerMode,
    Selection,
    SyncFlags,
    ValueType,
)
from .program import Declaration, Instruction, Operand, Program
from .text_names import REGISTERS
from .validate_declarations import Registers, index_count

__all__ = ["check_instruction"]

Report = Callable[..., None]

_R = RegisterType
_ALLOWED: dict[OperandKind, frozenset[RegisterType]] = {
    OperandKind.DST: frozenset({
        _R.TEMP, _R.OUTPUT, _R.INDEXABLE_TEMP, _R.NULL, _R.OUTPUT_DEPTH, _R.OUTPUT_DEPTH_GREATER_EQUAL,
        _R.OUTPUT_DEPTH_LESS_EQUAL, _R.OUTPUT_COVERAGE_MASK, _R.OUTPUT_STENCIL_REF, _R.FUNCTION_OUTPUT,
    }),
    OperandKind.SRC: frozenset({
        _R.TEMP, _R.INPUT, _R.INDEXABLE_TEMP, _R.IMMEDIATE32, _R.IMMEDIATE64, _R.CONSTANT_BUFFER,
        _R.IMMEDIATE_CONSTANT_BUFFER, _R.INPUT_PRIMITIVEID, _R.FUNCTION_INPUT, _R.OUTPUT_CONTROL_POINT_ID,
        _R.INPUT_FORK_INSTANCE_ID, _R.INPUT_JOIN_INSTANCE_ID, _R.INPUT_CONTROL_POINT, _R.OUTPUT_CONTROL_POINT,
        _R.INPUT_PATCH_CONSTANT, _R.INPUT_DOMAIN_POINT, _R.THIS_POINTER, _R.INPUT_THREAD_ID,
        _R.INPUT_THREAD_GROUP_ID, _R.INPUT_THREAD_ID_IN_GROUP, _R.INPUT_COVERAGE_MASK,
        _R.INPUT_THREAD_ID_IN_GROUP_FLATTENED, _R.INPUT_GS_INSTANCE_ID, _R.CYCLE_COUNTER, _R.INNER_COVERAGE,
    }),
    OperandKind.RESOURCE: frozenset({_R.RESOURCE}),
    OperandKind.RESOURCE_OR_UAV: frozenset({_R.RESOURCE, _R.UNORDERED_ACCESS_VIEW}),
    OperandKind.RESOURCE_OR_RASTERIZER: frozenset({_R.RESOURCE, _R.RASTERIZER}),
    OperandKind.MEMORY: frozenset({_R.RESOURCE, _R.UNORDERED_ACCESS_VIEW, _R.THREAD_GROUP_SHARED_MEMORY}),
    OperandKind.UAV: frozenset({_R.UNORDERED_ACCESS_VIEW}),
    OperandKind.UAV_OR_SHARED: frozenset({_R.UNORDERED_ACCESS_VIEW, _R.THREAD_GROUP_SHARED_MEMORY}),
    OperandKind.SAMPLER: frozenset({_R.SAMPLER}),
    OperandKind.INPUT: frozenset({_R.INPUT}),
    OperandKind.LABEL: frozenset({_R.LABEL, _R.FUNCTION_BODY}),
    OperandKind.INTERFACE: frozenset({_R.INTERFACE}),
    OperandKind.STREAM: frozenset({_R.STREAM}),
    OperandKind.IMMEDIATE: frozenset({_R.IMMEDIATE32}),
}
_BOUND = frozenset({
    _R.CONSTANT_BUFFER, _R.SAMPLER, _R.RESOURCE, _R.UNORDERED_ACCESS_VIEW, _R.THREAD_GROUP_SHARED_MEMORY, _R.STREAM,
})
# Files that dcl_input and dcl_output bring into being.
_DECLARED = (_ALLOWED[OperandKind.DST] | _ALLOWED[OperandKind.SRC]) - {
    _R.TEMP, _R.INDEXABLE_TEMP, _R.NULL, _R.IMMEDIATE32, _R.IMMEDIATE64, _R.CONSTANT_BUFFER,
    _R.IMMEDIATE_CONSTANT_BUFFER, _R.FUNCTION_INPUT, _R.FUNCTION_OUTPUT, _R.THIS_POINTER,
}
_THIS_ENTRIES = 253

_OFFSETS = frozenset({
    o for o in Opcode
    if OPCODES[o].group is OpcodeGroup.TEXTURE
    and o.name.startswith(("SAMPLE", "GATHER4", "LD"))
    and not o.name.startswith(("SAMPLEINFO", "SAMPLEPOS", "GATHER4_PO"))
})
_COMPARISONS = frozenset({
    Opcode.SAMPLE_C, Opcode.SAMPLE_C_LZ, Opcode.GATHER4_C, Opcode.GATHER4_PO_C, Opcode.GATHER4_C_S,
    Opcode.GATHER4_PO_C_S, Opcode.SAMPLE_C_LZ_S, Opcode.SAMPLE_C_CL_S,
})
_NEEDS_RAW_FLAG_IN_4 = frozenset({Opcode.LD_RAW, Opcode.LD_STRUCTURED, Opcode.STORE_RAW, Opcode.STORE_STRUCTURED})
_TYPED = frozenset({Opcode.DCL_RESOURCE, Opcode.DCL_UAV_TYPED})
_RAW = frozenset({Opcode.DCL_RESOURCE_RAW, Opcode.DCL_UAV_RAW, Opcode.DCL_TGSM_RAW})
_STRUCTURED = frozenset({Opcode.DCL_RESOURCE_STRUCTURED, Opcode.DCL_UAV_STRUCTURED, Opcode.DCL_TGSM_STRUCTURED})
_DOUBLE_SWIZZLES = frozenset({0xE4, 0x44, 0xEE, 0x4E})  # xyzw, xyxy, zwzw, zwxy
_CONTIGUOUS = (0x1, 0x3, 0x7, 0xF)


def _word(operand: Operand) -> str:
    """The register as a listing writes it, without components."""
    if operand.is_immediate:
        return "a literal"
    name = REGISTERS[operand.type]
    indices = ["…" if index.relative is not None else str(index.immediate) for index in operand.indices]
    if len(indices) == 1 or (indices and operand.type in _BOUND | {RegisterType.INDEXABLE_TEMP}):
        name += indices.pop(0)
    return name + "".join(f"[{index}]" for index in indices)


def check_instruction(i: Instruction, program: Program, registers: Registers, report: Report) -> None:
    """Report what is wrong with one instruction."""
    info = OPCODES[i.opcode]
    if i.opcode is Opcode.CUSTOMDATA:
        return
    if info.group in (OpcodeGroup.DECLARATION, OpcodeGroup.RESERVED, OpcodeGroup.PHASE):
        report("is no instruction", i)
        return
    if program.type not in info.stages:
        report(f"does not exist in {program.type.prefix} programs", i)
    if program.model < info.min_model:
        report("needs shader model {}.{}".format(*info.min_model), i)
    if info.requires and not info.requires & registers.flags:
        report(f"needs the global flag {info.requires.name}", i)
    if i.opcode in _NEEDS_RAW_FLAG_IN_4 and program.major < 5:
        if not registers.flags & GlobalFlags.RAW_AND_STRUCTURED_BUFFERS:
            report("needs enableRawAndStructuredBuffers in shader model 4", i)
    if len(i.operands) != len(info.roles):
        report(f"takes {len(info.roles)} operands, not {len(i.operands)}", i)
        return
    if i.saturate and not info.saturate:
        report("cannot saturate", i)
    if i.texel_offset is not None and i.opcode not in _OFFSETS:
        report("takes no texel offsets", i)
    if i.opcode is Opcode.SYNC:
        _sync(i, program, report)
    for number, operand in enumerate(i.operands):
        kind = info.kinds[number]
        if operand.type not in _ALLOWED[kind]:
            report(f"operand {info.roles[number]} is {_word(operand)}, it must be a {kind.value}", i)
            continue
        if kind is OperandKind.DST:
            _destination(i, info, number, operand, registers, report)
        elif kind is OperandKind.SRC or kind is OperandKind.INPUT:
            _source(i, info, number, operand, report)
        _named(i, operand, program, registers, report)
    if info.group in (OpcodeGroup.TEXTURE, OpcodeGroup.MEMORY, OpcodeGroup.ATOMIC):
        _resources(i, info, registers, report)


def _sync(i: Instruction, program: Program, report: Report) -> None:
    if not i.sync_flags:
        report("does nothing", i)
    if program.type is not ProgramType.COMPUTE and i.sync_flags != SyncFlags.UAV_GLOBAL:
        report("outside of compute shaders only sync_uglobal exists", i)
    if i.sync_flags & SyncFlags.UAV_GLOBAL and i.sync_flags & SyncFlags.UAV_GROUP:
        report("is both global and within the group", i)


def _destination(
    i: Instruction, info: OpcodeInfo, number: int, operand: Operand, registers: Registers, report: Report
) -> None:
    if operand.modifier is not Modifier.NONE:
        report("a destination has no modifier", i)
    if operand.type is RegisterType.NULL:
        if info.dst_count < 2 and info.group is not OpcodeGroup.ATOMIC:
            report("its only result goes to null", i)
        return
    if operand.components == 4 and operand.selection is not Selection.MASK:
        report("a destination has a mask, no swizzle", i)
    if not operand.mask:
        report(f"destination {info.roles[number]} writes no component", i)
    elif operand.components == 4 and info.types[number] is ValueType.DOUBLE and operand.mask not in (0x3, 0xC, 0xF):
        report("a double result goes to xy, zw or xyzw", i)
    if info.group is OpcodeGroup.ATOMIC and operand.mask.bit_count() > 1:
        report("the result of an atomic is one component", i)
    if operand.type in _DECLARED and operand.indices and operand.indices[-1].relative is None:
        declared = registers.masks.get((operand.type, operand.indices[-1].immediate))
        if declared is not None and operand.mask & ~declared:
            report(f"writes components of {_word(operand)} that are not declared", i)


def _source(i: Instruction, info: OpcodeInfo, number: int, operand: Operand, report: Report) -> None:
    type_ = info.types[number]
    double = type_ is ValueType.DOUBLE
    if operand.type is RegisterType.IMMEDIATE64 and not double:
        report(f"operand {info.roles[number]} is a double literal", i)
    if operand.modifier in (Modifier.ABS, Modifier.NEG_ABS) and type_ in (ValueType.INT, ValueType.UINT):
        report(f"integer operand {info.roles[number]} cannot be made absolute", i)
    if operand.is_immediate:
        return
    if operand.components == 4 and operand.selection is Selection.MASK and operand.selector:
        report(f"source {info.roles[number]} has a mask, no swizzle", i)
    elif not operand.components or (operand.components == 4 and operand.selection is Selection.MASK):
        report(f"source {info.roles[number]} names no component", i)
    if double and operand.components == 4 and operand.selection is Selection.SWIZZLE:
        if operand.selector not in _DOUBLE_SWIZZLES:
            report("the swizzle of a double keeps xy and zw together", i)


def _named(i: Instruction, operand: Operand, program: Program, registers: Registers, report: Report) -> None:
    """The register exists and its indices stay within it."""
    type_, indices = operand.type, operand.indices
    for index in indices:
        if index.relative is not None:
            _relative(i, index.relative, program, registers, report)
    expected = index_count(type_, program, registers.phase)
    if len(indices) != expected:
        report(f"{_word(operand)} takes {expected} indices here, not {len(indices)}", i)
        return
    if not indices:
        if type_ in _DECLARED and (type_, 0) not in registers.masks:
            report(f"{_word(operand)} is not declared", i)
        return
    last, number = indices[-1], indices[-1].immediate
    fixed = last.relative is None
    if type_ is RegisterType.TEMP:
        if not fixed:
            report("temps cannot be indexed, only x registers", i)
        elif number >= registers.temps:
            report(f"r{number} is not declared, there are {registers.temps} temps", i)
    elif type_ is RegisterType.INDEXABLE_TEMP:
        array = registers.arrays.get(operand.index)
        if array is None or indices[0].relative is not None:
            report(f"x{operand.index} is not declared", i)
        elif number >= array.count and fixed:
            report(f"x{operand.index}[{number}] is beyond its {array.count} elements", i)
    elif type_ is RegisterType.IMMEDIATE_CONSTANT_BUFFER:
        if not registers.rows:
            report("there is no immediate constant buffer", i)
        elif fixed and number >= registers.rows:
            report(f"icb[{number}] is beyond its {registers.rows} rows", i)
    elif type_ in _BOUND:
        _bound(i, operand, program, registers, report)
    elif type_ in _DECLARED:
        _signature_register(i, operand, registers, report)
    elif type_ is RegisterType.THIS_POINTER and fixed and number >= _THIS_ENTRIES:
        report(f"this[{number}] is beyond its {_THIS_ENTRIES} entries", i)
    elif type_ is RegisterType.INTERFACE:
        interface = registers.functions.get((type_, operand.index))
        if interface is None:
            report(f"fp{operand.index} is not declared", i)
        elif fixed and number >= max(1, interface.array_length):
            report(f"fp{operand.index}[{number}] is beyond its {interface.array_length} elements", i)


def _relative(i: Instruction, operand: Operand, program: Program, registers: Registers, report: Report) -> None:
    if operand.type not in _ALLOWED[OperandKind.SRC] or operand.is_immediate:
        report(f"{_word(operand)} cannot be an index", i)
        return
    one = operand.components == 1 or (operand.components == 4 and operand.selection is Selection.SELECT1)
    if not one:
        report("an index is one component of a register", i)
    if operand.modifier is not Modifier.NONE:
        report("an index has no modifier", i)
    _named(i, operand, program, registers, report)


def _bound(i: Instruction, operand: Operand, program: Program, registers: Registers, report: Report) -> None:
    slot = operand.indices[0].relative
    if slot is not None and slot.type is RegisterType.THIS_POINTER:
        return  # a class instance says where its data is bound
    d = registers.bound.get((operand.type, operand.index))
    if d is None or slot is not None:
        report(f"{_word(operand)} is not declared", i)
        return
    assert d.operand is not None
    sm51 = program.model == (5, 1)
    if sm51 and len(operand.indices) > 1 and len(d.operand.indices) == 3:
        place = operand.indices[1]
        low, high = d.operand.indices[1].immediate, d.operand.indices[2].immediate
        if place.relative is None and not low <= place.immediate <= high:
            report(f"{_word(operand)} has no register {place.immediate}", i)
    if operand.type is RegisterType.CONSTANT_BUFFER:
        size = d.count if sm51 else d.operand.indices[1].immediate
        last = operand.indices[-1]
        if last.relative is not None:
            if not d.dynamic:
                report(f"cb{operand.index} is declared immediateIndexed", i)
        # Size 0: unknown to the compiler.
        elif size and last.immediate >= size:
            report(f"cb{operand.index}[{last.immediate}] is beyond its {size} vec4s", i)


def _signature_register(i: Instruction, operand: Operand, registers: Registers, report: Report) -> None:
    type_, last = operand.type, operand.indices[-1]
    if len(operand.indices) == 2 and operand.indices[0].relative is None:
        vertices = registers.vertices.get(type_, 0)
        if operand.indices[0].immediate >= vertices:
            report(f"{_word(operand)}: there are {vertices} vertices or control points", i)
    if last.relative is None:
        if (type_, last.immediate) not in registers.masks:
            report(f"{_word(operand)} is not declared", i)
        return
    if (type_, last.immediate) not in registers.ranges:
        report(f"{_word(operand)} lies in no declared index range", i)


# --- resources ------------------------------------------------------------------------------------------------


def _resources(i: Instruction, info: OpcodeInfo, registers: Registers, report: Report) -> None:
    """Shape of the declared resource, mode of the sampler, mask of a store."""
    for kind, operand in zip(info.kinds, i.operands, strict=True):
        d = registers.bound.get((operand.type, operand.index)) if operand.type in _BOUND else None
        if d is None:
            continue
        if kind is OperandKind.SAMPLER:
            if i.opcode in _COMPARISONS and d.sampler_mode is not SamplerMode.COMPARISON:
                report(f"s{operand.index} is no comparison sampler", i)
        elif operand.type is not RegisterType.CONSTANT_BUFFER:
            message = _shape_fault(i.opcode, info, d)
            if message:
                report(f"{_word(operand)} {message}", i)
    if i.opcode in (Opcode.STORE_RAW, Opcode.STORE_STRUCTURED) and i.operands[0].mask not in _CONTIGUOUS:
        report("stores .x, .xy, .xyz or .xyzw", i)
    if i.opcode is Opcode.STORE_UAV_TYPED and i.operands[0].mask != 0xF:
        report("stores all four components", i)


def _shape_fault(opcode: Opcode, info: OpcodeInfo, d: Declaration) -> str:
    """Why the declared resource does not suit the opcode; empty when it does."""
    name = info.mnemonic
    shape = d.dimension
    if name.startswith(("ld_raw", "store_raw")):
        return "" if d.opcode in _RAW else "is not raw"
    if name.startswith(("ld_structured", "store_structured")):
        return "" if d.opcode in _STRUCTURED else "is not structured"
    if opcode in (Opcode.IMM_ATOMIC_ALLOC, Opcode.IMM_ATOMIC_CONSUME):
        return "" if d.opcode is Opcode.DCL_UAV_STRUCTURED else "has no counter, it is not structured"
    if info.group is OpcodeGroup.ATOMIC:
        return ""
    if opcode is Opcode.BUFINFO:
        return "" if d.opcode not in _TYPED or shape is Dimension.BUFFER else "is no buffer"
    if d.opcode not in _TYPED:
        return "is not typed"
    if name.startswith("ld_ms") or opcode in (Opcode.SAMPLEINFO, Opcode.SAMPLEPOS):
        return "" if shape.is_multisampled else "is not multisampled"
    if name.startswith(("ld_uav", "store_uav")):
        return ""
    cube = shape in (Dimension.TEXTURECUBE, Dimension.TEXTURECUBEARRAY)
    if opcode in (Opcode.LD, Opcode.LD_S):
        return "cannot be loaded from with ld" if cube or shape.is_multisampled else ""
    if shape is Dimension.BUFFER or (shape.is_multisampled and opcode is not Opcode.RESINFO):
        return f"cannot be read with {name}"
    if name.startswith("gather4_po") and shape not in (Dimension.TEXTURE2D, Dimension.TEXTURE2DARRAY):
        return "is no 2D texture"
    if name.startswith("gather4") and not cube and shape not in (Dimension.TEXTURE2D, Dimension.TEXTURE2DARRAY):
        return "is neither a 2D texture nor a cube"
    return ""
