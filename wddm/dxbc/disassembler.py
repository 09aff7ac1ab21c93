"""Shader to text: the shader model 5 assembly listing, in the manner of the HLSL compiler's own.

The listing loses nothing of tokens and signatures: what :func:`wddm.dxbc.assembler.assemble` makes of it is the same
shader again.  Chunks other than code and signatures (RDEF, STAT, SFI0, debug data …) are not in the text.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from .container import ShaderBlob
from .opcodes import (
    OPCODES,
    CustomDataClass,
    GlobalFlags,
    MinPrecision,
    Modifier,
    Opcode,
    OperandKind,
    ProgramType,
    RegisterType,
    ResinfoReturn,
    Selection,
    SyncFlags,
    UavFlags,
    ValueType,
)
from .program import (
    XYZW,
    Declaration,
    Index,
    Instruction,
    Operand,
    Program,
    ReturnTypes,
    float_bits,
    mask_text,
    swizzle_text,
)
from .signature_text import format_signature
from .text_names import (
    BARE_COMPONENTS,
    BRACKETED,
    CUSTOM_DATA,
    DECLARATION_NAMES,
    DIMENSIONS,
    GLOBAL_FLAGS,
    INTERPOLATIONS,
    MIN_PRECISIONS,
    PRIMITIVES,
    REGISTERS,
    RETURN_TYPES,
    SAMPLER_MODES,
    SYNC_FLAGS,
    SYSTEM_VALUES,
    TESS_DOMAINS,
    TESS_OUTPUTS,
    TESS_PARTITIONINGS,
    TOPOLOGIES,
    UAV_FLAGS,
)

__all__ = ["disassemble", "format_declaration", "format_float", "format_instruction", "format_operand", "format_program"]

_VERTEX_FIRST = (RegisterType.INPUT, RegisterType.INPUT_CONTROL_POINT, RegisterType.OUTPUT_CONTROL_POINT)
_OPENING = (Opcode.IF, Opcode.LOOP, Opcode.SWITCH)
_CLOSING = (Opcode.ENDIF, Opcode.ENDLOOP, Opcode.ENDSWITCH)


def disassemble(blob: bytes | bytearray | memoryview, *, verify_checksum: bool = True) -> str:
    """The listing of a shader container: signatures as comment blocks, then the program.

    :raises DxbcError: when the container, a signature or the token stream is broken.
    """
    shader = ShaderBlob.parse(blob, verify_checksum=verify_checksum)
    program = shader.program
    streamed = program.type is ProgramType.GEOMETRY and program.major >= 5
    parts = [
        format_signature(shader.input_signature, "Input", shader.input_tag, "ISGN", read=True),
        format_signature(shader.output_signature, "Output", shader.output_tag, "OSG5" if streamed else "OSGN"),
    ]
    if shader.patch_constant_signature is not None:
        # Patch constants are written by a hull shader and read by a domain shader.
        parts.append(format_signature(
            shader.patch_constant_signature, "Patch Constant", shader.patch_constant_tag, "PCSG",
            read=program.type is ProgramType.DOMAIN,
        ))
    return "".join(parts) + format_program(program)


def format_program(program: Program) -> str:
    """The program without signatures, one line per declaration and instruction, profile first."""
    lines = [program.profile]
    if program.type is ProgramType.HULL:
        lines.append("hs_decls")
    for phase, declarations, instructions in program.bodies():
        if phase is not None:
            lines.append(OPCODES[phase.kind].mnemonic)
        lines += [format_declaration(declaration, program) for declaration in declarations]
        depth = 0
        for instruction in instructions:
            opcode = instruction.opcode
            if opcode in _CLOSING:
                depth = max(0, depth - 1)
            back = 1 if depth and opcode in (Opcode.ELSE, Opcode.CASE, Opcode.DEFAULT) else 0
            lines.append("  " * (depth - back) + format_instruction(instruction, program))
            if opcode in _OPENING:
                depth = min(64, depth + 1)
    return "\n".join(lines) + "\n"


# --- numbers --------------------------------------------------------------------------------------------------


def format_float(bits: int) -> str:
    """Shortest decimal that reads back to the same float32, with a point or exponent; hex where there is none."""
    if bits & 0x7F800000 == 0x7F800000:
        return f"0x{bits:08x}"
    value = struct.unpack("<f", struct.pack("<I", bits))[0]
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if float_bits(float(text)) == bits:
            break
    return text if "." in text or "e" in text else text + ".0"


def _looks_like_float(bits: int) -> bool:
    """Whether untyped bits are more likely a float: an exponent within 2⁻²⁰ … 2³²."""
    return 107 <= (bits >> 23 & 0xFF) <= 159


def _number(bits: int, type_: ValueType) -> str:
    if bits == 0:
        return "0"
    if type_ is ValueType.FLOAT:
        return format_float(bits)
    if type_ is ValueType.INT or bits < 0x10000 or bits >= 0xFFFF0000:
        return str(bits - (1 << 32) if bits >> 31 else bits)
    if type_ is ValueType.RAW and _looks_like_float(bits):
        return format_float(bits)
    return str(bits) if type_ is ValueType.UINT and bits < 0x100000 else f"0x{bits:08x}"


def _double(low: int, high: int) -> str:
    if high & 0x7FF00000 == 0x7FF00000:
        return f"0x{high:08x}{low:08x}"
    return f"{struct.unpack('<d', struct.pack('<2I', low, high))[0]!r}l"


# --- operands -------------------------------------------------------------------------------------------------


def format_operand(
    operand: Operand, type_: ValueType = ValueType.RAW, *, masked: bool = False, program: Program | None = None
) -> str:
    """One operand.  ``type_`` chooses how immediates read; ``masked``: it stands where a write mask is the rule."""
    kind = operand.type
    if kind is RegisterType.IMMEDIATE32:
        text = "l(" + ", ".join(_number(value, type_) for value in operand.values) + ")"
        bare = (Selection.MASK, 0)
        suffix = "" if (operand.selection, operand.selector) == bare else _raw_suffix(operand)
    elif kind is RegisterType.IMMEDIATE64:
        pairs = zip(operand.values[::2], operand.values[1::2], strict=True)
        text = "d(" + ", ".join(_double(low, high) for low, high in pairs) + ")"
        suffix = "" if (operand.selection, operand.selector) == (Selection.MASK, 0) else _raw_suffix(operand)
    else:
        text = _register(operand, program)
        suffix = _suffix(operand, masked)
    text += suffix
    if operand.modifier:
        if operand.modifier in (Modifier.ABS, Modifier.NEG_ABS):
            text = f"|{text}|"
        if operand.modifier in (Modifier.NEG, Modifier.NEG_ABS):
            text = f"-{text}"
    notes = [MIN_PRECISIONS[operand.min_precision]] if operand.min_precision is not MinPrecision.DEFAULT else []
    if operand.nonuniform:
        notes.append("nonuniform")
    return f"{text} {{{', '.join(notes)}}}" if notes else text


def _register(operand: Operand, program: Program | None) -> str:
    kind = operand.type
    name = REGISTERS[kind]
    if kind is RegisterType.INPUT_CONTROL_POINT and program is not None and program.type is ProgramType.DOMAIN:
        name = "vcp"
    indices = operand.indices
    if (
        indices
        and indices[0].relative is None
        and kind not in BRACKETED
        and not (kind in _VERTEX_FIRST and len(indices) > 1)
    ):
        return f"{name}{indices[0].immediate}" + "".join(_index(index, program) for index in indices[1:])
    return name + "".join(_index(index, program) for index in indices)


def _index(index: Index, program: Program | None) -> str:
    if index.relative is None:
        return f"[{index.immediate}]"
    relative = format_operand(index.relative, program=program)
    return f"[{relative} + {index.immediate}]" if index.immediate or index.explicit_zero else f"[{relative}]"


def _suffix(operand: Operand, masked: bool) -> str:
    """Components as the position expects them; what it does not expect is written raw."""
    selection, selector = operand.selection, operand.selector
    if operand.components == 4:
        if selection is Selection.MASK:
            if selector == 0:
                return "" if BARE_COMPONENTS.get(operand.type) == (4, 0) else "._"
            if masked:
                return "." + mask_text(selector)
        elif not masked:
            return "." + (swizzle_text(selector) if selection is Selection.SWIZZLE else "xyzw"[selector])
    elif selection is Selection.MASK and selector == 0:
        bare = BARE_COMPONENTS.get(operand.type, (0, 0))[0]
        return "" if bare == operand.components else f".{operand.components}"
    return _raw_suffix(operand)


def _raw_suffix(operand: Operand) -> str:
    return f".{operand.components}:0x{operand.selection | operand.selector << 2:x}"


# --- instructions ---------------------------------------------------------------------------------------------


def format_instruction(instruction: Instruction, program: Program | None = None) -> str:
    """One instruction, without indentation."""
    opcode = instruction.opcode
    info = OPCODES[opcode]
    if opcode is Opcode.CUSTOMDATA:
        return _customdata(instruction.custom_class, instruction.data)
    text = info.mnemonic
    if opcode is Opcode.SYNC:
        text += "".join(f"_{word}" for flag, word in SYNC_FLAGS.items() if flag & instruction.sync_flags)
        if instruction.sync_flags is SyncFlags.NONE:
            text += "_none"
    if info.test:
        text += "_nz" if instruction.test_nonzero else "_z"
    if instruction.saturate:
        text += "_sat"
    if instruction.texel_offset is not None:
        text += "_aoffimmi"
    if instruction.resource_dimension is not None or instruction.resource_return_types is not None:
        text += "_indexable"
    if instruction.texel_offset is not None:
        text += "({},{},{})".format(*instruction.texel_offset)
    if instruction.resource_dimension is not None:
        stride = f", stride={instruction.resource_stride}" if instruction.resource_stride else ""
        text += f"({DIMENSIONS[instruction.resource_dimension]}{stride})"
    if instruction.resource_return_types is not None:
        text += _return_types(instruction.resource_return_types)
    if instruction.resinfo_return is not ResinfoReturn.FLOAT:
        text += "_uint" if instruction.resinfo_return is ResinfoReturn.UINT else "_rcpFloat"
    if instruction.precise_mask:
        text += " [precise]" if instruction.precise_mask == 15 else f" [precise({mask_text(instruction.precise_mask)})]"
    operands = []
    for i, operand in enumerate(instruction.operands):
        kind = info.kinds[i]
        # What a store names first is memory, with the mask of what it writes.
        masked = kind is OperandKind.DST or (i == 0 and kind in (OperandKind.UAV, OperandKind.UAV_OR_SHARED))
        operands.append(format_operand(operand, info.types[i], masked=masked, program=program))
    if opcode is Opcode.FCALL:
        operands[0] += f"[{instruction.function_index}]"
        operands[0] += " [long]" if instruction.long_length else ""
    operands += [f"pad(0x{word:x})" for word in instruction.padding]
    return f"{text} {', '.join(operands)}" if operands else text


def _return_types(types: ReturnTypes) -> str:
    return "(" + ",".join(RETURN_TYPES[type_] for type_ in types) + ")"


def _customdata(class_: CustomDataClass, data: bytes) -> str:
    words = struct.unpack(f"<{len(data) // 4}I", data)
    if class_ is CustomDataClass.IMMEDIATE_CONSTANT_BUFFER:
        rows = [
            "{ " + ", ".join(_number(word, ValueType.RAW) for word in words[i : i + 4]) + "}"
            for i in range(0, len(words), 4)
        ]
        return "dcl_immediateConstantBuffer { " + ",\n                              ".join(rows) + " }"
    return f"customdata {CUSTOM_DATA[class_]} {{ {', '.join(f'0x{word:08x}' for word in words)} }}"


# --- declarations ---------------------------------------------------------------------------------------------


def format_declaration(d: Declaration, program: Program) -> str:
    """One declaration."""
    opcode = d.opcode
    if opcode is Opcode.CUSTOMDATA:
        return _customdata(d.custom_class, d.data)
    name = DECLARATION_NAMES.get(opcode, OPCODES[opcode].mnemonic)
    if opcode in _NAMED:
        return f"{name} {_NAMED[opcode](d)}".rstrip() + (" [long]" if d.long_length else "")
    if opcode in _COUNTED:
        return f"{name} {d.count}"
    space = f", space={d.space}" if program.model == (5, 1) and opcode in _SPACED else ""
    return _OPERAND_FORMS.get(opcode, _plain)(name, d, program) + space


_COUNTED = frozenset({
    Opcode.DCL_TEMPS,
    Opcode.DCL_MAXOUT,
    Opcode.DCL_GS_INSTANCE_COUNT,
    Opcode.DCL_INPUT_CONTROL_POINT_COUNT,
    Opcode.DCL_OUTPUT_CONTROL_POINT_COUNT,
    Opcode.DCL_HS_FORK_PHASE_INSTANCE_COUNT,
    Opcode.DCL_HS_JOIN_PHASE_INSTANCE_COUNT,
})
_SPACED = frozenset({
    Opcode.DCL_CONSTANTBUFFER,
    Opcode.DCL_SAMPLER,
    Opcode.DCL_RESOURCE,
    Opcode.DCL_RESOURCE_RAW,
    Opcode.DCL_RESOURCE_STRUCTURED,
    Opcode.DCL_UAV_TYPED,
    Opcode.DCL_UAV_RAW,
    Opcode.DCL_UAV_STRUCTURED,
})


def _function_list(prefix: str, members: tuple[int, ...]) -> str:
    return "{" + ", ".join(f"{prefix}{member}" for member in members) + "}"


def _flags(flags: GlobalFlags) -> str:
    return " | ".join(word for flag, word in GLOBAL_FLAGS.items() if flag & flags)


_NAMED: dict[Opcode, Callable[[Declaration], str]] = {
    Opcode.DCL_GLOBALFLAGS: lambda d: _flags(d.flags),
    Opcode.DCL_THREAD_GROUP: lambda d: "{}, {}, {}".format(*d.thread_group),
    Opcode.DCL_INDEXABLETEMP: lambda d: f"x{d.register}[{d.count}], {d.components}",
    Opcode.DCL_INPUTPRIMITIVE: lambda d: PRIMITIVES[d.primitive],
    Opcode.DCL_OUTPUTTOPOLOGY: lambda d: TOPOLOGIES[d.topology],
    Opcode.DCL_TESSELLATOR_DOMAIN: lambda d: TESS_DOMAINS[d.tess_domain],
    Opcode.DCL_TESSELLATOR_PARTITIONING: lambda d: TESS_PARTITIONINGS[d.tess_partitioning],
    Opcode.DCL_TESSELLATOR_OUTPUT_PRIMITIVE: lambda d: TESS_OUTPUTS[d.tess_output],
    Opcode.DCL_HS_MAX_TESSFACTOR: lambda d: (
        f"l({format_float(float_bits(d.max_tess_factor))})"
    ),
    Opcode.DCL_FUNCTION_BODY: lambda d: f"fb{d.register}",
    Opcode.DCL_FUNCTION_TABLE: lambda d: f"ft{d.register} = {_function_list('fb', d.members)}",
}


def _operand(d: Declaration, program: Program) -> str:
    assert d.operand is not None
    operand = d.operand
    # A constant buffer is declared with all components, everything else with a mask or without components.
    if d.opcode is Opcode.DCL_CONSTANTBUFFER:
        usual = (operand.components, operand.selection, operand.selector) == (4, Selection.SWIZZLE, XYZW)
        suffix = "" if usual else _raw_suffix(operand)
    else:
        suffix = _suffix(operand, masked=True)
    indices = operand.indices
    if program.model == (5, 1) and d.opcode in _SPACED and len(indices) == 3:
        first, low, high = indices
        if first.relative is None and low.relative is None and high.relative is None:
            last = "*" if high.immediate == 0xFFFFFFFF else str(high.immediate)
            register = f"{REGISTERS[operand.type].upper()}{first.immediate}[{low.immediate}:{last}]"
            return _noted(operand, register + suffix)
    register = _register(operand, program)
    if d.opcode is Opcode.DCL_CONSTANTBUFFER and register.startswith("cb"):
        register = "CB" + register[2:]
    return _noted(operand, register + suffix)


def _noted(operand: Operand, text: str) -> str:
    """Add what an extended operand token says; modifiers mean nothing here but are kept."""
    bare = Operand(RegisterType.NULL, 0, Selection.MASK, 0, [], (), operand.modifier, operand.min_precision,
                   operand.nonuniform)
    return format_operand(bare).replace("null", text)


def _plain(name: str, d: Declaration, program: Program) -> str:
    return f"{name} {_operand(d, program)}"


def _constant_buffer(name: str, d: Declaration, program: Program) -> str:
    size = f"[{d.count}]" if program.model == (5, 1) else ""
    return f"{name} {_operand(d, program)}{size}, {'dynamicIndexed' if d.dynamic else 'immediateIndexed'}"


def _sampler(name: str, d: Declaration, program: Program) -> str:
    return f"{name} {_operand(d, program)}, {SAMPLER_MODES[d.sampler_mode]}"


def _uav_flags(flags: UavFlags) -> str:
    return "".join(f"_{word}" for flag, word in UAV_FLAGS.items() if flag & flags)


def _typed(name: str, d: Declaration, program: Program) -> str:
    assert d.return_types is not None
    name += f"_{DIMENSIONS[d.dimension]}{_uav_flags(d.uav_flags)}"
    if d.dimension.is_multisampled or d.sample_count:
        name += f"({d.sample_count})"
    return f"{name} {_return_types(d.return_types)} {_operand(d, program)}"


def _uav(name: str, d: Declaration, program: Program) -> str:
    return f"{name}{_uav_flags(d.uav_flags)} {_operand(d, program)}"


def _structured(name: str, d: Declaration, program: Program) -> str:
    return f"{name}{_uav_flags(d.uav_flags)} {_operand(d, program)}, {d.stride}"


def _named(name: str, d: Declaration, program: Program) -> str:
    return f"{name} {_operand(d, program)}, {SYSTEM_VALUES[d.system_value]}"


def _interpolated(name: str, d: Declaration, program: Program) -> str:
    text = f"{name} {INTERPOLATIONS[d.interpolation]}".rstrip() + f" {_operand(d, program)}"
    return text if d.opcode is Opcode.DCL_INPUT_PS else f"{text}, {SYSTEM_VALUES[d.system_value]}"


def _interface(name: str, d: Declaration, program: Program) -> str:
    name += "_dynamicindexed" if d.dynamic else ""
    text = f"{name} fp{d.register}[{d.array_length}][{d.call_sites}] = {_function_list('ft', d.members)}"
    return text + (" [long]" if d.long_length else "")


_OPERAND_FORMS: dict[Opcode, Callable[[str, Declaration, Program], str]] = {
    Opcode.DCL_CONSTANTBUFFER: _constant_buffer,
    Opcode.DCL_SAMPLER: _sampler,
    Opcode.DCL_RESOURCE: _typed,
    Opcode.DCL_RESOURCE_STRUCTURED: _structured,
    Opcode.DCL_UAV_TYPED: _typed,
    Opcode.DCL_UAV_RAW: _uav,
    Opcode.DCL_UAV_STRUCTURED: _structured,
    Opcode.DCL_TGSM_RAW: lambda name, d, program: f"{_plain(name, d, program)}, {d.count}",
    Opcode.DCL_TGSM_STRUCTURED: lambda name, d, program: f"{_plain(name, d, program)}, {d.stride}, {d.count}",
    Opcode.DCL_INPUT_SGV: _named,
    Opcode.DCL_INPUT_SIV: _named,
    Opcode.DCL_OUTPUT_SGV: _named,
    Opcode.DCL_OUTPUT_SIV: _named,
    Opcode.DCL_INPUT_PS: _interpolated,
    Opcode.DCL_INPUT_PS_SGV: _interpolated,
    Opcode.DCL_INPUT_PS_SIV: _interpolated,
    Opcode.DCL_INDEXRANGE: lambda name, d, program: f"{_plain(name, d, program)} {d.count}",
    Opcode.DCL_INTERFACE: _interface,
}
