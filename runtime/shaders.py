"""Shaders, input layouts, and how stages link.

Owns the checks that Direct3D makes before a driver sees code: the container with its checksum, the stage, the program itself, the
signatures; the matching of input elements to a vertex shader's input by semantic; the rules between one stage's output and the
next one's input. Models ID3D11Device::Create…Shader, CreateInputLayout and the debug layer's linkage messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from wddm.client.enums import ShaderStage
from wddm.ddi import d3d10umddi as dd
from wddm.ddi.dxgiformat import DXGI_FORMAT, FORMATS, ChannelType, FormatAbility
from wddm.dxbc.container import ShaderBlob
from wddm.dxbc.errors import DxbcError
from wddm.dxbc.opcodes import ProgramType
from wddm.dxbc.signature import NO_REGISTER, ComponentType, D3DName, Signature, SignatureElement
from wddm.dxbc.validate import validate
from wddm.wire import api

from .errors import invalid_arg, require
from .objects import DeviceObject, Kind
from .resources import format_info

if TYPE_CHECKING:
    from .device import Device

_PROGRAM: Final = {
    ShaderStage.VERTEX: ProgramType.VERTEX,
    ShaderStage.HULL: ProgramType.HULL,
    ShaderStage.DOMAIN: ProgramType.DOMAIN,
    ShaderStage.GEOMETRY: ProgramType.GEOMETRY,
    ShaderStage.PIXEL: ProgramType.PIXEL,
    ShaderStage.COMPUTE: ProgramType.COMPUTE,
}
_CREATE: Final = {
    ShaderStage.VERTEX: "pfnCreateVertexShader",
    ShaderStage.HULL: "pfnCreateHullShader",
    ShaderStage.DOMAIN: "pfnCreateDomainShader",
    ShaderStage.GEOMETRY: "pfnCreateGeometryShader",
    ShaderStage.PIXEL: "pfnCreatePixelShader",
    ShaderStage.COMPUTE: "pfnCreateComputeShader",
}
MAX_INPUT_ELEMENTS: Final = 32
MAX_INPUT_SLOTS: Final = 32
MAX_SO_ENTRIES: Final = 512
MAX_SO_STRIDE: Final = 2048
_GENERATED: Final = (D3DName.VERTEX_ID, D3DName.INSTANCE_ID, D3DName.PRIMITIVE_ID)


class Shader(DeviceObject):
    """A shader of ``stage``, with the signatures that linking needs."""

    __slots__ = ("inputs", "outputs", "patch_constants", "stage")
    kind = Kind.SHADER

    def __init__(self, device: Device, stage: ShaderStage, blob: ShaderBlob) -> None:
        super().__init__(device)
        self.stage = stage
        self.inputs = blob.input_signature
        self.outputs = blob.output_signature
        self.patch_constants = blob.patch_constant_signature

    def destroy(self) -> None:
        """DestroyShader."""
        self.device.tell("pfnDestroyShader", self.handle)


class InputLayout(DeviceObject):
    """ID3D11InputLayout: ``inputs`` is the signature it was made for."""

    __slots__ = ("inputs",)
    kind = Kind.INPUT_LAYOUT

    def __init__(self, device: Device, inputs: Signature) -> None:
        super().__init__(device)
        self.inputs = inputs

    def destroy(self) -> None:
        """DestroyElementLayout."""
        self.device.tell("pfnDestroyElementLayout", self.handle)


def parse_shader(bytecode: bytes, *stages: ShaderStage) -> tuple[ShaderBlob, ShaderStage]:
    """A container with a legal program of one of the stages. Raises E_INVALIDARG with what is wrong and where."""
    try:
        blob = ShaderBlob.parse(bytecode)
        program = blob.program
        validate(program)
    except DxbcError as error:
        raise invalid_arg(f"bytecode: {error}") from None
    for stage in stages:
        if program.type is _PROGRAM[stage]:
            break
    else:
        wanted = " or ".join(s.name.lower() for s in stages)
        raise invalid_arg(f"bytecode: it is a {program.type.name.lower()} shader, a {wanted} shader belongs there")
    require(program.major in (4, 5) and (program.major, program.minor) <= (5, 0), f"bytecode: shader model {program.major}.{program.minor} is not 4.0 to 5.0")  # noqa: E501
    return blob, stage


def entries(signature: Signature | None) -> list[dd.D3D10DDIARG_SIGNATURE_ENTRY]:
    """A signature as the driver gets it: without names."""
    return [
        dd.D3D10DDIARG_SIGNATURE_ENTRY(int(e.token_system_value), e.register, e.mask)
        for e in (signature.elements if signature is not None else ())
    ]


def code_of(blob: ShaderBlob) -> dd.ShaderCode:
    """The token stream as the driver gets it."""
    return np.frombuffer(blob.tokens, "<u4").copy()


def _signatures(blob: ShaderBlob, stage: ShaderStage) -> Any:
    inputs, outputs = entries(blob.input_signature), entries(blob.output_signature)
    if stage in (ShaderStage.HULL, ShaderStage.DOMAIN):
        patch = entries(blob.patch_constant_signature)
        return dd.D3D11DDIARG_TESSELLATION_IO_SIGNATURES(inputs, len(inputs), outputs, len(outputs), patch, len(patch))
    return dd.D3D10DDIARG_STAGE_IO_SIGNATURES(inputs, len(inputs), outputs, len(outputs))


async def create_shader(device: Device, m: api.CreateShader) -> Shader:
    """Check a shader and create it in the driver. Raises ApiError."""
    require(m.stage < len(ShaderStage), f"stage: {m.stage} is none")
    stage = ShaderStage(m.stage)
    if m.stream_output:
        return await _create_with_stream_output(device, m)
    require(not m.declarations and not m.strides, "declarations: only for geometry shaders with stream output")
    blob, _ = parse_shader(m.bytecode, stage)
    shader, code = Shader(device, stage, blob), code_of(blob)
    if stage is ShaderStage.COMPUTE:
        device.ddi.pfnCalcPrivateShaderSize(code, dd.D3D10DDIARG_STAGE_IO_SIGNATURES())
        await device.create(_CREATE[stage], code, shader.handle, shader.handle)
        return shader
    signatures = _signatures(blob, stage)
    if stage in (ShaderStage.HULL, ShaderStage.DOMAIN):
        device.ddi.pfnCalcPrivateTessellationShaderSize(code, signatures)
    else:
        device.ddi.pfnCalcPrivateShaderSize(code, signatures)
    await device.create(_CREATE[stage], code, shader.handle, shader.handle, signatures)
    return shader


# ----- stream output -------------------------------------------------------------------------------------------------------


async def _create_with_stream_output(device: Device, m: api.CreateShader) -> Shader:
    require(m.stage == ShaderStage.GEOMETRY, "stage: stream output belongs to the geometry stage")
    blob, stage = parse_shader(m.bytecode, ShaderStage.GEOMETRY, ShaderStage.VERTEX, ShaderStage.DOMAIN)
    declarations = stream_output_entries(m.declarations, blob.output_signature)
    rasterized = m.rasterized_stream
    require(rasterized < 4 or rasterized == dd.D3D11DDI_SO_NO_RASTERIZED_STREAM, f"rasterized_stream: {rasterized} is none")
    used = {d.OutputSlot for d in declarations}
    strides = list(m.strides)
    for slot, stride in enumerate(strides):
        require(stride <= MAX_SO_STRIDE and stride % 4 == 0, f"buffer_strides[{slot}]: {stride} is no multiple of 4 up to 2048")
    strides += [0] * (4 - len(strides))
    for slot in used:
        size = 4 * sum(bin(d.RegisterMask).count("1") for d in declarations if d.OutputSlot == slot)
        strides[slot] = strides[slot] or size
        require(size <= strides[slot], f"buffer_strides[{slot}]: {strides[slot]}, the declarations take {size} bytes")
    shader = Shader(device, ShaderStage.GEOMETRY, blob)
    passes_through = stage is not ShaderStage.GEOMETRY
    if passes_through:
        shader.inputs = blob.output_signature
    argument = dd.D3D11DDIARG_CREATEGEOMETRYSHADERWITHSTREAMOUTPUT(
        pShaderCode=None if passes_through else code_of(blob),
        pOutputStreamDecl=declarations,
        NumEntries=len(declarations),
        BufferStridesInBytes=strides,
        NumStrides=len(strides),
        RasterizedStream=rasterized,
    )
    inputs = entries(blob.output_signature if passes_through else blob.input_signature)
    outputs = entries(blob.output_signature)
    signatures = dd.D3D10DDIARG_STAGE_IO_SIGNATURES(inputs, len(inputs), outputs, len(outputs))
    device.ddi.pfnCalcPrivateGeometryShaderWithStreamOutput(argument, signatures)
    await device.create("pfnCreateGeometryShaderWithStreamOutput", argument, shader.handle, shader.handle, signatures)
    return shader


def stream_output_entries(
    declarations: Sequence[api.StreamOutputEntry], outputs: Signature
) -> list[dd.D3D11DDIARG_STREAM_OUTPUT_DECLARATION_ENTRY]:
    """Declarations by semantic as registers and masks. Raises E_INVALIDARG."""
    require(len(declarations) <= MAX_SO_ENTRIES, f"declarations: {len(declarations)}, at most {MAX_SO_ENTRIES} are allowed")
    found = []
    for number, entry in enumerate(declarations):
        where = f"declarations[{number}]"
        require(entry.stream < 4 and entry.slot < 4, f"{where}: stream {entry.stream}, slot {entry.slot} are not in 0..3")
        require(entry.count > 0, f"{where}: no components")
        if not entry.semantic:
            for at in range(0, entry.count, 4):
                mask = (1 << min(4, entry.count - at)) - 1
                found.append(dd.D3D11DDIARG_STREAM_OUTPUT_DECLARATION_ENTRY(entry.stream, entry.slot, 0xFFFF_FFFF, mask))
            continue
        element = outputs.find(entry.semantic, entry.index, entry.stream)
        if element is None:
            raise invalid_arg(f"{where}: the shader's stream {entry.stream} has no output {entry.semantic}{entry.index}")
        require(entry.start + entry.count <= 4, f"{where}: components {entry.start} to {entry.start + entry.count - 1}")
        first = (element.mask & -element.mask).bit_length() - 1  # components count from the element's own first
        mask = ((1 << entry.count) - 1) << (entry.start + first)
        require(
            mask & ~element.mask == 0, f"{where}: {entry.semantic}{entry.index} has {bin(element.mask).count('1')} components"
        )
        found.append(dd.D3D11DDIARG_STREAM_OUTPUT_DECLARATION_ENTRY(entry.stream, entry.slot, element.register, mask))
    return found


# ----- input layouts -------------------------------------------------------------------------------------------------------


async def create_input_layout(device: Device, m: api.CreateInputLayout) -> tuple[InputLayout, list[str]]:
    """Match elements to a vertex shader's inputs and create the layout. Also returns warnings. Raises ApiError."""
    if m.shader:
        shader = device.objects.get(m.shader, Shader, "shader")
        require(shader.device is device, "shader: it belongs to another device")
        require(shader.stage is ShaderStage.VERTEX, f"shader: it is a {shader.stage.name.lower()} shader, not a vertex shader")
        inputs = shader.inputs
    else:
        inputs = parse_shader(m.bytecode, ShaderStage.VERTEX)[0].input_signature
    elements, warnings = match_layout(m.elements, inputs)
    layout = InputLayout(device, inputs)
    argument = dd.D3D10DDIARG_CREATEELEMENTLAYOUT(elements, len(elements))
    device.ddi.pfnCalcPrivateElementLayoutSize(argument)
    await device.create("pfnCreateElementLayout", argument, layout.handle, layout.handle)
    return layout, warnings


def match_layout(
    elements: Sequence[api.InputElement], inputs: Signature
) -> tuple[list[dd.D3D10DDIARG_INPUT_ELEMENT_DESC], list[str]]:
    """Elements as the driver gets them: each with the shader's register, those that no input reads left out.

    Offsets that ask to append follow the element before of the same slot. Raises E_INVALIDARG; returns warnings too.
    """
    require(len(elements) <= MAX_INPUT_ELEMENTS, f"elements: {len(elements)}, at most {MAX_INPUT_ELEMENTS} are allowed")
    ends: dict[int, int] = {}
    by_semantic: dict[tuple[str, int], tuple[api.InputElement, int]] = {}
    slot_class: dict[int, tuple[bool, int]] = {}
    for number, e in enumerate(elements):
        where = f"elements[{number}]"
        info = format_info(e.format, f"{where} format")
        require(
            info.allows(FormatAbility.IA_VERTEX_BUFFER), f"{where}: {info.format.name} cannot be read from a vertex buffer"
        )
        require(bool(e.semantic), f"{where}: no semantic name")
        require(e.slot < MAX_INPUT_SLOTS, f"{where}: slot {e.slot} is not in 0..{MAX_INPUT_SLOTS - 1}")
        require(e.per_instance or e.step_rate == 0, f"{where}: a step rate for per-vertex data")
        alignment = min(4, info.bytes)
        offset = e.offset
        if offset == dd.D3D10_DDI_APPEND_ALIGNED_ELEMENT:
            offset = -(-ends.get(e.slot, 0) // alignment) * alignment
        require(offset % alignment == 0, f"{where}: offset {offset} is no multiple of {alignment}")
        require(offset + info.bytes <= 2048, f"{where}: offset {offset} is beyond 2048 bytes")
        ends[e.slot] = offset + info.bytes
        before = slot_class.setdefault(e.slot, (e.per_instance, 0))
        require(before[0] == e.per_instance, f"{where}: slot {e.slot} has per-vertex and per-instance elements")
        name = (e.semantic.upper(), e.index)
        require(name not in by_semantic, f"{where}: {e.semantic}{e.index} is there twice")
        by_semantic[name] = (e, offset)
    found, warnings = [], []
    for element in inputs.elements:
        if element.system_value in _GENERATED:
            continue
        match = by_semantic.get((element.semantic_name.upper(), element.semantic_index))
        if match is None:
            raise invalid_arg(f"elements: nothing for the shader's input {element.semantic}")
        e, offset = match
        if not _same_kind(e.format, element.component_type):
            warnings.append(
                f"{element.semantic}: format {DXGI_FORMAT(e.format).name} for a shader input of type {element.component_type.name}"
            )
        found.append(
            dd.D3D10DDIARG_INPUT_ELEMENT_DESC(
                InputSlot=e.slot,
                AlignedByteOffset=offset,
                Format=DXGI_FORMAT(e.format),
                InputSlotClass=dd.D3D10_DDI_INPUT_CLASSIFICATION(int(e.per_instance)),
                InstanceDataStepRate=e.step_rate,
                InputRegister=element.register,
            )
        )
    return found, warnings


def _same_kind(format: int, component: ComponentType) -> bool:
    kind = FORMATS[DXGI_FORMAT(format)].channels[0].type
    if kind is ChannelType.UINT:
        return component is ComponentType.UINT32
    if kind is ChannelType.SINT:
        return component is ComponentType.SINT32
    return component is ComponentType.FLOAT32


# ----- linkage -------------------------------------------------------------------------------------------------------------


def link_faults(outputs: Signature, inputs: Signature, what: str) -> list[str]:
    """Why the inputs of a stage do not fit the outputs of the one before: missing semantics, other registers or components."""
    faults = []
    for element in inputs.elements:
        if _made_between(element):
            continue
        source = next(
            (
                o
                for o in outputs.elements
                if o.semantic_index == element.semantic_index
                and o.stream == 0
                and o.semantic_name.upper() == element.semantic_name.upper()
            ),
            None,
        )
        if source is None:
            faults.append(f"{what}: input {element.semantic} is not written by the stage before")
        elif source.register != element.register and NO_REGISTER not in (source.register, element.register):
            faults.append(
                f"{what}: input {element.semantic} is in register {element.register}, the stage before writes it to "
                f"{source.register}"
            )
        elif element.mask & ~source.mask:
            faults.append(f"{what}: input {element.semantic} has components that the stage before does not write")
    return faults


def _made_between(element: SignatureElement) -> bool:
    """Inputs that the pipeline itself makes."""
    return element.system_value in (
        D3DName.IS_FRONT_FACE,
        D3DName.SAMPLE_INDEX,
        D3DName.PRIMITIVE_ID,
        D3DName.POSITION,
        D3DName.RENDER_TARGET_ARRAY_INDEX,
        D3DName.VIEWPORT_ARRAY_INDEX,
        D3DName.COVERAGE,
        D3DName.VERTEX_ID,
        D3DName.INSTANCE_ID,
    )
