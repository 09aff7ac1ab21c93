"""The declarations of a program."""

from __future__ import annotations

import struct

from wddm.dxbc.opcodes import (
    CustomDataClass,
    Dimension,
    GlobalFlags,
    Interpolation,
    Opcode,
    ProgramType,
    RegisterType,
    SamplerMode,
    Selection,
    SystemValue,
    UavFlags,
)
from wddm.dxbc.program import Declaration, Index, Operand
from wddm.hlsl import layout
from wddm.hlsl.lowering.stages import Phase, Shader
from wddm.hlsl.lowering.state import Binding
from wddm.hlsl.signature import Element

from .operands import return_types
from .registers import Usage

__all__ = ["Declarer"]

_SPECIAL_COMPONENTS = {
    RegisterType.INPUT_THREAD_ID: 4, RegisterType.INPUT_THREAD_GROUP_ID: 4, RegisterType.INPUT_THREAD_ID_IN_GROUP: 4,
    RegisterType.INPUT_DOMAIN_POINT: 4,
}  # fmt: skip


class Declarer:
    def __init__(self, shader: Shader, type_: ProgramType, usage: Usage, model: int) -> None:
        self.shader = shader
        self.type = type_
        self.usage = usage
        self.model = model

    # -- resources -----------------------------------------------------------------------------------------------

    def resources(self, bindings: list[Binding], slots: dict[int, int], flags: GlobalFlags,
                  icb: list[tuple[int, int, int, int]]) -> list[Declaration]:  # fmt: skip
        """Flags, buffers, samplers, textures, UAVs, shared memory."""
        out: list[Declaration] = []
        if flags:
            out.append(Declaration(Opcode.DCL_GLOBALFLAGS, flags=flags))
        if self.usage.icb:
            data = b"".join(struct.pack("<4I", *row) for row in icb)
            out.append(Declaration(Opcode.CUSTOMDATA, custom_class=CustomDataClass.IMMEDIATE_CONSTANT_BUFFER, data=data))
        for key, slot in sorted(slots.items(), key=lambda item: item[1]):
            _, last, dynamic = self.usage.buffers[key]
            operand = Operand(RegisterType.CONSTANT_BUFFER, 4, Selection.SWIZZLE, 0xE4, [Index(slot), Index(last + 1)])
            out.append(Declaration(Opcode.DCL_CONSTANTBUFFER, operand, dynamic=dynamic))
        for letter in "stu":
            for binding in sorted((b for b in bindings if b.letter == letter), key=lambda b: b.slot):
                for index in sorted(self.usage.elements[binding]):
                    out.append(self.binding(binding, binding.slot + index))
        for number, shared in enumerate(self.usage.shared):
            shared.number = number
            operand = Operand(RegisterType.THREAD_GROUP_SHARED_MEMORY, 0, Selection.MASK, 0, [Index(number)])
            out.append(Declaration(Opcode.DCL_TGSM_STRUCTURED, operand, stride=shared.stride * 4, count=shared.count))
        return out

    def binding(self, binding: Binding, number: int) -> Declaration:
        kind = binding.type.kind
        if binding.letter == "s":
            operand = Operand(RegisterType.SAMPLER, 0, Selection.MASK, 0, [Index(number)])
            mode = SamplerMode.COMPARISON if binding.comparison else SamplerMode.DEFAULT
            return Declaration(Opcode.DCL_SAMPLER, operand, sampler_mode=mode)
        writable = binding.letter == "u"
        register = RegisterType.UNORDERED_ACCESS_VIEW if writable else RegisterType.RESOURCE
        operand = Operand(register, 0, Selection.MASK, 0, [Index(number)])
        made: Declaration
        if kind.family == "raw":
            made = Declaration(Opcode.DCL_UAV_RAW if writable else Opcode.DCL_RESOURCE_RAW, operand)
        elif kind.family == "structured":
            element = binding.type.element
            assert element is not None
            stride = layout.size(element, "tight") * 4
            made = Declaration(Opcode.DCL_UAV_STRUCTURED if writable else Opcode.DCL_RESOURCE_STRUCTURED, operand, stride=stride)
        else:
            made = Declaration(Opcode.DCL_UAV_TYPED if writable else Opcode.DCL_RESOURCE, operand,
                               dimension=Dimension[kind.dimension], return_types=return_types(binding))  # fmt: skip
            if kind.multisampled:
                made.sample_count = binding.type.count
        if writable:
            if "globallycoherent" in binding.variable.modifiers:
                made.uav_flags |= UavFlags.GLOBALLY_COHERENT
            if binding.counter and not kind.counter:
                made.uav_flags |= UavFlags.HAS_COUNTER
        return made

    # -- inputs and outputs --------------------------------------------------------------------------------------

    def stage(self, read: dict[tuple[str, int], int], specials: dict[str, int]) -> list[Declaration]:
        """Inputs and outputs of everything but a hull shader.  ``read``: components read per (file, register)."""
        shader, out = self.shader, []
        if self.type is ProgramType.DOMAIN:
            out.append(Declaration(Opcode.DCL_INPUT_CONTROL_POINT_COUNT, count=shader.input_vertices))
            out.append(Declaration(Opcode.DCL_TESSELLATOR_DOMAIN, tess_domain=shader.domain))
        inputs = shader.inputs
        for element in inputs:
            if element.register_type is None:
                file = {ProgramType.DOMAIN: "INPUT_CONTROL_POINT"}.get(self.type, "INPUT")
                made = self.input(element, read.get((file, element.register), 0), file)
                if made is not None:
                    out.append(made)
        for element in shader.patch_constants:
            if element.register_type is None:
                made = self.input(element, read.get(("INPUT_PATCH_CONSTANT", element.register), 0), "INPUT_PATCH_CONSTANT")
                if made is not None:
                    out.append(made)
        out += self.specials(specials)
        if self.type is ProgramType.GEOMETRY:
            out.append(Declaration(Opcode.DCL_INPUTPRIMITIVE, primitive=shader.primitive))
            if shader.instances:
                out.append(Declaration(Opcode.DCL_GS_INSTANCE_COUNT, count=shader.instances))
            for number, topology in enumerate(shader.streams):
                if self.model >= 50:
                    stream = Operand(RegisterType.STREAM, 0, Selection.MASK, 0, [Index(number)])
                    out.append(Declaration(Opcode.DCL_STREAM, stream))
                if number == 0:  # several streams are all of points
                    out.append(Declaration(Opcode.DCL_OUTPUTTOPOLOGY, topology=topology))
                out += self.outputs([e for e in shader.outputs if e.stream == number])
            out.append(Declaration(Opcode.DCL_MAXOUT, count=shader.max_vertices))
        else:
            out += self.outputs(shader.outputs)
        if self.type is ProgramType.COMPUTE:
            out.append(Declaration(Opcode.DCL_THREAD_GROUP, thread_group=shader.thread_group))
        return out

    def specials(self, specials: dict[str, int]) -> list[Declaration]:
        out: list[Declaration] = []
        for name, mask in sorted(specials.items()):
            type_ = RegisterType[name]
            if _SPECIAL_COMPONENTS.get(type_) == 4:
                operand = Operand(type_, 4, Selection.MASK, mask, [])
            else:
                flattened = type_ is RegisterType.INPUT_THREAD_ID_IN_GROUP_FLATTENED
                operand = Operand(type_, 0 if flattened else 1, Selection.MASK, 0, [])
            out.append(Declaration(Opcode.DCL_INPUT, operand))
        return out

    def input(self, element: Element, read: int, file: str) -> Declaration | None:
        """Declaration of an input, of the components that are read; None when none is."""
        mask = element.mask & read
        if not mask and not (self.type is ProgramType.GEOMETRY and element.system_value):
            return None
        mask = mask or element.mask
        indices = [Index(element.register)]
        per_vertex = self.type in (ProgramType.GEOMETRY, ProgramType.HULL) and file == "INPUT"
        if per_vertex or file == "INPUT_CONTROL_POINT":
            indices.insert(0, Index(self.shader.input_vertices))
        operand = Operand(RegisterType[file], 4, Selection.MASK, mask, indices)
        value = element.token_value()
        if self.type is ProgramType.PIXEL:
            if element.interpolation is Interpolation.UNDEFINED:
                element.interpolation = Interpolation.LINEAR
            if value is SystemValue.UNDEFINED:
                return Declaration(Opcode.DCL_INPUT_PS, operand, interpolation=element.interpolation)
            generated = value in (SystemValue.PRIMITIVE_ID, SystemValue.IS_FRONT_FACE, SystemValue.SAMPLE_INDEX)
            opcode = Opcode.DCL_INPUT_PS_SGV if generated else Opcode.DCL_INPUT_PS_SIV
            return Declaration(opcode, operand, system_value=value, interpolation=element.interpolation)
        if value is SystemValue.UNDEFINED:
            return Declaration(Opcode.DCL_INPUT, operand)
        generated = value in (SystemValue.VERTEX_ID, SystemValue.INSTANCE_ID, SystemValue.PRIMITIVE_ID)
        return Declaration(Opcode.DCL_INPUT_SGV if generated else Opcode.DCL_INPUT_SIV, operand, system_value=value)

    def outputs(self, elements: list[Element]) -> list[Declaration]:
        out: list[Declaration] = []
        for element in elements:
            if element.register_type is not None:
                out.append(Declaration(Opcode.DCL_OUTPUT, Operand(element.register_type, 1, Selection.MASK, 0, [])))
                continue
            operand = Operand(RegisterType.OUTPUT, 4, Selection.MASK, element.mask, [Index(element.register)])
            value = element.token_value()
            if value is SystemValue.UNDEFINED:
                out.append(Declaration(Opcode.DCL_OUTPUT, operand))
            else:
                generated = value in (SystemValue.PRIMITIVE_ID, SystemValue.IS_FRONT_FACE)
                opcode = Opcode.DCL_OUTPUT_SGV if generated else Opcode.DCL_OUTPUT_SIV
                out.append(Declaration(opcode, operand, system_value=value))
        return out

    # -- hull ----------------------------------------------------------------------------------------------------

    def hull_globals(self) -> list[Declaration]:
        shader = self.shader
        out = [
            Declaration(Opcode.DCL_INPUT_CONTROL_POINT_COUNT, count=shader.input_vertices),
            Declaration(Opcode.DCL_OUTPUT_CONTROL_POINT_COUNT, count=shader.output_control_points),
            Declaration(Opcode.DCL_TESSELLATOR_DOMAIN, tess_domain=shader.domain),
            Declaration(Opcode.DCL_TESSELLATOR_PARTITIONING, tess_partitioning=shader.partitioning),
            Declaration(Opcode.DCL_TESSELLATOR_OUTPUT_PRIMITIVE, tess_output=shader.tess_output),
        ]
        if shader.max_tess_factor:
            out.append(Declaration(Opcode.DCL_HS_MAX_TESSFACTOR, max_tess_factor=shader.max_tess_factor))
        return out

    def hull_phase(self, phase: Phase, read: dict[tuple[str, int], int], specials: dict[str, int]) -> list[Declaration]:
        shader = self.shader
        out = self.specials(specials)
        if phase.kind == "control_point":
            for element in shader.inputs:
                made = self.input(element, read.get(("INPUT", element.register), 0), "INPUT")
                if made is not None:
                    out.append(made)
            return out + self.outputs(shader.outputs)
        for file, elements, count in (
            ("INPUT_CONTROL_POINT", shader.inputs, shader.input_vertices),
            ("OUTPUT_CONTROL_POINT", shader.outputs, shader.output_control_points),
        ):
            for element in elements:
                mask = element.mask & read.get((file, element.register), 0)
                if mask and element.register_type is None:
                    operand = Operand(RegisterType[file], 4, Selection.MASK, mask, [Index(count), Index(element.register)])
                    out.append(Declaration(Opcode.DCL_INPUT, operand))
        return out + self.outputs(shader.patch_constants)

    def temps(self, count: int) -> list[Declaration]:
        out: list[Declaration] = []
        if count:
            out.append(Declaration(Opcode.DCL_TEMPS, count=count))
        return out

    def arrays(self) -> list[Declaration]:
        out: list[Declaration] = []
        for number, array in enumerate(self.usage.arrays):
            array.number = number
            out.append(Declaration(Opcode.DCL_INDEXABLETEMP, register=number, count=array.registers, components=array.components))
        return out
