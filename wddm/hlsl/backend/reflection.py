"""The RDEF chunk: what the shader binds, by name."""

from __future__ import annotations

import struct

from wddm.dxbc.opcodes import ProgramType
from wddm.dxbc.reflection import (
    BaseType,
    BindingFlags,
    BufferKind,
    ConstantBuffer,
    InputType,
    Reflection,
    ResourceBinding,
    ResourceReturn,
    ShaderType,
    TypeClass,
    TypeMember,
    Variable,
    VariableFlags,
    ViewDimension,
)
from wddm.hlsl import layout, tree
from wddm.hlsl.lowering.convert import leaves
from wddm.hlsl.lowering.state import Binding
from wddm.hlsl.types import Array, Numeric, Struct, Type

from .registers import Usage

__all__ = ["make_reflection"]

_BASES = {
    "bool": BaseType.BOOL, "int": BaseType.INT, "uint": BaseType.UINT, "float": BaseType.FLOAT, "half": BaseType.FLOAT,
    "double": BaseType.DOUBLE, "min16float": BaseType.MIN16FLOAT, "min10float": BaseType.MIN10FLOAT,
    "min16int": BaseType.MIN16INT, "min12int": BaseType.MIN12INT, "min16uint": BaseType.MIN16UINT,
}  # fmt: skip
_RETURNS = {"f": ResourceReturn.FLOAT, "i": ResourceReturn.SINT, "u": ResourceReturn.UINT, "d": ResourceReturn.DOUBLE}
_ORDER = (InputType.SAMPLER, InputType.TEXTURE, InputType.UAV_RWTYPED, InputType.CBUFFER)
_NONE = 0xFFFFFFFF


def make_reflection(
    type_: ProgramType, model: int, unit: tree.Unit, params: tree.ConstantBuffer, bindings: list[Binding],
    slots: dict[int, int], usage: Usage, creator: str, flags: int,
) -> Reflection:  # fmt: skip
    """Samplers, textures, UAVs, then constant buffers, each with its registers; every used buffer with its variables."""
    out = Reflection(type_, model // 10, model % 10, flags=flags, creator=creator)
    for letter in "stu":
        for binding in sorted((b for b in bindings if b.letter == letter), key=lambda b: b.slot):
            if binding.dimension == "tbuffer":
                continue
            out.bindings.append(_binding(binding, usage))
    for buffer in [*unit.buffers, params]:
        tbuffer = next((b for b in bindings if b.dimension == "tbuffer" and b.name == buffer.name), None)
        if tbuffer is not None:
            out.bindings.append(ResourceBinding(buffer.name, InputType.TBUFFER, ResourceReturn.NONE, ViewDimension.UNKNOWN, 0,
                                                tbuffer.slot, 1, BindingFlags.NONE))  # fmt: skip
        elif id(buffer) in slots:
            flag = BindingFlags.USERPACKED if buffer.slot is not None else BindingFlags.NONE
            out.bindings.append(ResourceBinding(buffer.name, InputType.CBUFFER, bind_point=slots[id(buffer)], flags=flag))
        else:
            continue
        out.buffers.append(_buffer(buffer, usage, whole=tbuffer is not None))
    for binding in bindings:
        element = binding.type.element
        if binding.type.kind.family == "structured" and element is not None:
            size = layout.size(element, "tight") * 4
            variable = Variable("$Element", 0, size, _type(element, "tight"), VariableFlags.USED)
            out.buffers.append(ConstantBuffer(binding.name, [variable], size, kind=BufferKind.RESOURCE_BIND_INFO))
    return out


def _binding(binding: Binding, usage: Usage) -> ResourceBinding:
    kind = binding.type.kind
    count = binding.count if binding.count > 1 else 1
    if binding.letter == "s":
        flag = BindingFlags.COMPARISON_SAMPLER if binding.comparison else BindingFlags.NONE
        return ResourceBinding(binding.name, InputType.SAMPLER, bind_point=binding.slot, bind_count=count, flags=flag)
    writable = binding.letter == "u"
    if kind.family == "raw":
        input_type = InputType.UAV_RWBYTEADDRESS if writable else InputType.BYTEADDRESS
        return ResourceBinding(binding.name, input_type, ResourceReturn.MIXED, ViewDimension.BUFFER, 0, binding.slot, count)
    element = binding.type.element
    if kind.family == "structured":
        assert element is not None
        input_type = InputType.STRUCTURED
        if writable:
            input_type = {
                "append": InputType.UAV_APPEND_STRUCTURED, "consume": InputType.UAV_CONSUME_STRUCTURED,
            }.get(kind.counter, InputType.UAV_RWSTRUCTURED_WITH_COUNTER if binding.counter else InputType.UAV_RWSTRUCTURED)
        stride = layout.size(element, "tight") * 4
        return ResourceBinding(binding.name, input_type, ResourceReturn.MIXED, ViewDimension.BUFFER, stride, binding.slot, count)
    assert isinstance(element, Numeric)
    returns = {"unorm": ResourceReturn.UNORM, "snorm": ResourceReturn.SNORM}.get(binding.type.norm, _RETURNS[element.kind])
    flags = BindingFlags((element.count - 1) << 2)
    samples = binding.type.count if kind.multisampled else _NONE
    input_type = InputType.UAV_RWTYPED if writable else InputType.TEXTURE
    return ResourceBinding(binding.name, input_type, returns, ViewDimension[kind.dimension], samples, binding.slot, count, flags)


def _buffer(buffer: tree.ConstantBuffer, usage: Usage, *, whole: bool) -> ConstantBuffer:
    kind = BufferKind.TBUFFER if buffer.kind == "tbuffer" else BufferKind.CBUFFER
    used = usage.dwords.get(id(buffer), set())
    variables: list[Variable] = []
    for variable in buffer.variables:
        size = layout.size(variable.type, "cbuffer")
        touched = whole or any(d in used for d in range(variable.offset, variable.offset + size))
        default = _default(variable) if variable.constant is not None else None
        variables.append(
            Variable(variable.name, variable.offset * 4, size * 4, _type(variable.type, "cbuffer"),
                     VariableFlags.USED if touched else VariableFlags.NONE, default)
        )  # fmt: skip
    return ConstantBuffer(buffer.name, variables, layout.align(buffer.size, 4) * 4, kind=kind)


def _default(variable: tree.Variable) -> bytes:
    """The initial value laid out as in the buffer; true is 1 there."""
    assert variable.constant is not None
    dwords = [0] * layout.size(variable.type, "cbuffer")
    kinds = [leaf.kind for leaf in leaves(variable.type) for _ in range(leaf.count * (2 if leaf.kind == "d" else 1))]
    for offset, bits, kind in zip(layout.offsets(variable.type, "cbuffer"), variable.constant, kinds, strict=True):
        dwords[offset] = min(bits, 1) if kind == "b" else bits
    return struct.pack(f"<{len(dwords)}I", *dwords)


def _type(type_: Type, scheme: str) -> ShaderType:
    elements = 0
    while isinstance(type_, Array):
        elements = (elements or 1) * type_.size
        type_ = type_.element
    if isinstance(type_, Struct):
        members = [
            TypeMember(f.name, _type(f.type, scheme), layout.field_offset(type_, f.name, scheme) * 4) for f in type_.fields
        ]
        return ShaderType(TypeClass.STRUCT, BaseType.VOID, 1, sum(len(leaves(f.type)) and _columns(f.type) for f in type_.fields),
                          elements, members, type_.name)  # fmt: skip
    assert isinstance(type_, Numeric)
    base = _BASES[type_.base]
    class_ = {"scalar": TypeClass.SCALAR, "vector": TypeClass.VECTOR}.get(
        type_.shape, TypeClass.MATRIX_ROWS if type_.row_major else TypeClass.MATRIX_COLUMNS
    )
    return ShaderType(class_, base, type_.rows, type_.columns, elements, [], type_.name)


def _columns(type_: Type) -> int:
    return sum(leaf.count for leaf in leaves(type_))
