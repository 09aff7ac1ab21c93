"""Signatures made from declarations, and from the short directives of assembly text.

Declarations carry no semantic names, so registers without a system value are named ``TEXCOORD`` + register number
(+ 32 for each further element in the same register), pixel shader outputs ``SV_Target`` + register number.  Two
stages that declare the same registers thus link.
"""

from __future__ import annotations

from .opcodes import Opcode, ProgramType, RegisterType, SystemValue
from .program import Declaration, Operand, Program
from .signature import (
    NO_REGISTER,
    ComponentType,
    D3DName,
    Signature,
    SignatureElement,
    container_system_value,
)
from .usage import InputUsage, input_usage, output_usage

__all__ = ["derive_signatures", "read_write_mask"]

_INPUTS = frozenset({
    Opcode.DCL_INPUT, Opcode.DCL_INPUT_SGV, Opcode.DCL_INPUT_SIV,
    Opcode.DCL_INPUT_PS, Opcode.DCL_INPUT_PS_SGV, Opcode.DCL_INPUT_PS_SIV,
})
_OUTPUTS = frozenset({Opcode.DCL_OUTPUT, Opcode.DCL_OUTPUT_SGV, Opcode.DCL_OUTPUT_SIV})

_FLOAT, _UINT = ComponentType.FLOAT32, ComponentType.UINT32
_NAMES: dict[SystemValue, tuple[str, ComponentType]] = {
    SystemValue.POSITION: ("SV_Position", _FLOAT),
    SystemValue.CLIP_DISTANCE: ("SV_ClipDistance", _FLOAT),
    SystemValue.CULL_DISTANCE: ("SV_CullDistance", _FLOAT),
    SystemValue.RENDER_TARGET_ARRAY_INDEX: ("SV_RenderTargetArrayIndex", _UINT),
    SystemValue.VIEWPORT_ARRAY_INDEX: ("SV_ViewportArrayIndex", _UINT),
    SystemValue.VERTEX_ID: ("SV_VertexID", _UINT),
    SystemValue.PRIMITIVE_ID: ("SV_PrimitiveID", _UINT),
    SystemValue.INSTANCE_ID: ("SV_InstanceID", _UINT),
    SystemValue.IS_FRONT_FACE: ("SV_IsFrontFace", _UINT),
    SystemValue.SAMPLE_INDEX: ("SV_SampleIndex", _UINT),
}
_FACTORS: dict[SystemValue, tuple[str, int]] = {
    SystemValue.FINAL_QUAD_U_EQ_0_EDGE_TESSFACTOR: ("SV_TessFactor", 0),
    SystemValue.FINAL_QUAD_V_EQ_0_EDGE_TESSFACTOR: ("SV_TessFactor", 1),
    SystemValue.FINAL_QUAD_U_EQ_1_EDGE_TESSFACTOR: ("SV_TessFactor", 2),
    SystemValue.FINAL_QUAD_V_EQ_1_EDGE_TESSFACTOR: ("SV_TessFactor", 3),
    SystemValue.FINAL_QUAD_U_INSIDE_TESSFACTOR: ("SV_InsideTessFactor", 0),
    SystemValue.FINAL_QUAD_V_INSIDE_TESSFACTOR: ("SV_InsideTessFactor", 1),
    SystemValue.FINAL_TRI_U_EQ_0_EDGE_TESSFACTOR: ("SV_TessFactor", 0),
    SystemValue.FINAL_TRI_V_EQ_0_EDGE_TESSFACTOR: ("SV_TessFactor", 1),
    SystemValue.FINAL_TRI_W_EQ_0_EDGE_TESSFACTOR: ("SV_TessFactor", 2),
    SystemValue.FINAL_TRI_INSIDE_TESSFACTOR: ("SV_InsideTessFactor", 0),
    SystemValue.FINAL_LINE_DENSITY_TESSFACTOR: ("SV_TessFactor", 0),
    SystemValue.FINAL_LINE_DETAIL_TESSFACTOR: ("SV_TessFactor", 1),
}
_REGISTERLESS: dict[RegisterType, tuple[str, ComponentType, D3DName]] = {
    RegisterType.INPUT_PRIMITIVEID: ("SV_PrimitiveID", _UINT, D3DName.PRIMITIVE_ID),
    RegisterType.OUTPUT_DEPTH: ("SV_Depth", _FLOAT, D3DName.UNDEFINED),
    RegisterType.OUTPUT_DEPTH_GREATER_EQUAL: ("SV_DepthGreaterEqual", _FLOAT, D3DName.UNDEFINED),
    RegisterType.OUTPUT_DEPTH_LESS_EQUAL: ("SV_DepthLessEqual", _FLOAT, D3DName.UNDEFINED),
    RegisterType.OUTPUT_COVERAGE_MASK: ("SV_Coverage", _UINT, D3DName.UNDEFINED),
    RegisterType.OUTPUT_STENCIL_REF: ("SV_StencilRef", _UINT, D3DName.UNDEFINED),
}


def read_write_mask(usage: InputUsage, type: RegisterType, register: int, mask: int, *, output: bool) -> int:
    """The second mask of a signature element: components read, or for outputs those never written."""
    touched = usage.get((type, register), 0) | usage.get((type, None), 0)
    return 0xF ^ (touched & mask) if output else touched & mask


def derive_signatures(program: Program) -> tuple[Signature, Signature, Signature | None]:
    """Input, output and (hull and domain shaders) patch-constant signature from the declarations."""
    inputs, outputs, patch = _Builder(program, False), _Builder(program, True), _Builder(program, True, patch=True)
    if program.type is ProgramType.DOMAIN:
        patch = _Builder(program, False, patch=True)
    control_points = False
    for phase, declarations, _ in program.bodies():
        patched = phase is not None and phase.kind is not Opcode.HS_CONTROL_POINT_PHASE
        control_points |= phase is not None and not patched
        stream = 0
        for d in declarations:
            if d.opcode is Opcode.DCL_STREAM:
                stream = d.slot
            elif d.opcode in _INPUTS and d.operand is not None:
                if d.operand.type is RegisterType.INPUT_PATCH_CONSTANT:
                    if program.type is ProgramType.DOMAIN:
                        patch.add(d, d.operand)
                elif d.operand.type in (
                    RegisterType.INPUT, RegisterType.INPUT_CONTROL_POINT, RegisterType.INPUT_PRIMITIVEID
                ):
                    inputs.add(d, d.operand)
            elif d.opcode in _OUTPUTS and d.operand is not None:
                (patch if patched else outputs).add(d, d.operand, stream)
    output = Signature(outputs.elements)
    if program.type is ProgramType.HULL and not control_points:
        # Without a control-point phase the input control points pass through.
        output = Signature([
            SignatureElement(
                e.semantic_name, e.semantic_index, e.system_value, e.component_type, e.register, e.mask, 0xF ^ e.mask
            )
            for e in inputs.elements
            if e.register != NO_REGISTER
        ])
    has_patch = program.type in (ProgramType.HULL, ProgramType.DOMAIN)
    return Signature(inputs.elements), output, Signature(patch.elements) if has_patch else None


class _Builder:
    """Collects the elements of one signature."""

    def __init__(self, program: Program, output: bool, *, patch: bool = False) -> None:
        self.pixel_output = output and program.type is ProgramType.PIXEL
        self.output = output
        self.usage = output_usage(program, patch_constant=patch) if output else input_usage(program)
        self.elements: list[SignatureElement] = []
        self.taken: set[tuple[int, str, int]] = set()
        self.places: set[tuple[int, int, int]] = set()

    def add(self, d: Declaration, operand: Operand, stream: int = 0) -> None:
        type_ = operand.type
        if type_ in _REGISTERLESS:
            name, component, value = _REGISTERLESS[type_]
            if (stream, name, 0) not in self.taken:
                self.taken.add((stream, name, 0))
                rw = read_write_mask(self.usage, type_, 0, 1, output=self.output)
                self.elements.append(SignatureElement(name, 0, value, component, NO_REGISTER, 1, rw, stream))
            return
        register = operand.indices[-1].immediate if operand.indices else 0
        mask = operand.mask
        # Several phases may declare the same register.
        if register > 31 or (stream, register, mask) in self.places:
            return
        self.places.add((stream, register, mask))
        name, index, component = self.name(d.system_value, register, stream)
        rw = read_write_mask(self.usage, type_, register, mask, output=self.output)
        value = container_system_value(d.system_value)
        self.elements.append(
            SignatureElement(name, index, value, component, register, mask, rw, stream, operand.min_precision)
        )

    def name(self, value: SystemValue, register: int, stream: int) -> tuple[str, int, ComponentType]:
        if value in _FACTORS:
            return (*_FACTORS[value], _FLOAT)
        name, component = _NAMES.get(value, ("SV_Target" if self.pixel_output else "TEXCOORD", _FLOAT))
        index, step = (0, 1) if value in _NAMES else (register, 32)
        while (stream, name, index) in self.taken:
            index += step
        self.taken.add((stream, name, index))
        return name, index, component
