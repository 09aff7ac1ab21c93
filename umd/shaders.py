"""Shader objects: translation at creation, hardware programs in a heap, class linkage, and stream output.

A shader has one program per way it is bound: with the class instances of its interfaces, and with the stream-output declaration
of a pass-through geometry shader (then the vertex or domain shader before it streams its own output).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np

from umd.command_buffer import HEAD_STRUCT, ZERO_DATA, packet
from umd.core import Bind, Core, Pending, key
from umd.errors import DeviceError
from umd.shader.translate import (
    STAGES,
    ClassInstance,
    ShaderError,
    SignatureElement,
    StreamElement,
    StreamOutput,
    attach_stream_output,
    translate,
)
from umd.upload import Later, Place
from wddm.ddi.d3d10umddi import (
    D3D10DDIARG_STAGE_IO_SIGNATURES,
    D3D11DDIARG_CREATEGEOMETRYSHADERWITHSTREAMOUTPUT,
    D3D11DDIARG_POINTERDATA,
    D3D11DDIARG_TESSELLATION_IO_SIGNATURES,
)
from wddm.dxbc.errors import DxbcError
from wddm.dxbc.opcodes import Opcode, TessDomain
from wddm.dxbc.program import Program
from wddm.dxbc.tokens import decode
from wddm.hw.isa import IsaError, ShaderProgram
from wddm.hw.isa_check import check
from wddm.hw.packets import Op, Stage

Variant = tuple[tuple[ClassInstance, ...], StreamOutput | None]


#: Vertices of one primitive of each topology.
_VERTICES = {1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 10: 4, 11: 4, 12: 6, 13: 6, **{32 + n: n for n in range(1, 33)}}
NO_RASTERIZED_STREAM = 0xFFFFFFFF


def fits(core: Core) -> bool:
    """Whether the bound stages, topology and targets can work together. The hardware would stop for good over a draw that cannot;
    Direct3D lets such a draw do nothing."""
    slots = core.slots
    vertex, hull, domain, geometry = (
        slots.get(key(Bind.SHADER, s)) for s in (Stage.VERTEX, Stage.HULL, Stage.DOMAIN, Stage.GEOMETRY)
    )
    seen = _VERTICES.get(core.topology, 0)
    if vertex is None or not seen or (hull is None) != (domain is None) or not core.samples_agree:
        return False
    if hull is not None and domain is not None:
        if core.topology != 32 + hull.shader.control_points or hull.shader.domain != domain.shader.domain:
            return False
        seen = {1: 1, 2: 2}.get(hull.shader.tessellated, 3)
    if geometry is not None and geometry.shader.program is not None:
        return geometry.shader.vertices in (0, seen)
    return hull is not None or core.topology < 33 or geometry is not None


class Shader:
    """A driver shader. ``program`` is None for a geometry shader that only declares stream output."""

    def __init__(self, stage: Stage, program: Program | None, signature: tuple[SignatureElement, ...]) -> None:
        self.stage = stage
        self.program = program
        self.signature = signature
        self.stream_output: StreamOutput | None = None
        self.translated: dict[tuple[ClassInstance, ...], ShaderProgram] = {}
        self.code: dict[Variant, tuple[Place, int]] = {}

    @property
    def vertices(self) -> int:
        """Vertices of a geometry shader's input primitive; 0 = not known."""
        declared = None if self.program is None else self.program.find(Opcode.DCL_INPUTPRIMITIVE)
        return 0 if declared is None else declared.primitive.vertices

    @property
    def tessellated(self) -> int:
        """What a hull shader's tessellator makes: 1 points, 2 lines, 3 and 4 triangles."""
        declared = None if self.program is None else self.program.find(Opcode.DCL_TESSELLATOR_OUTPUT_PRIMITIVE)
        return 3 if declared is None else int(declared.tess_output)

    @property
    def control_points(self) -> int:
        """Control points of the patches that a hull shader takes."""
        declared = None if self.program is None else self.program.find(Opcode.DCL_INPUT_CONTROL_POINT_COUNT)
        return 0 if declared is None else declared.count

    @property
    def domain(self) -> TessDomain:
        """What a hull shader has cut, or a domain shader takes points of."""
        declared = None if self.program is None else self.program.find(Opcode.DCL_TESSELLATOR_DOMAIN)
        return TessDomain.UNDEFINED if declared is None else declared.tess_domain

    @property
    def passes_through(self) -> bool:
        """Whether the stage before streams its own output."""
        return self.program is None and self.stream_output is not None

    def binary(self, instances: tuple[ClassInstance, ...], stream_output: StreamOutput | None) -> bytes:
        """The hardware program for one way of binding it. Raises ShaderError."""
        shader = self.translated.get(instances)
        if shader is None:
            assert self.program is not None
            shader = translate(
                self.program, instances=instances, signature=self.signature, stream_output=self.stream_output
            )
            try:
                check(shader)
            except IsaError as error:
                raise ShaderError(str(error)) from None
            self.translated[instances] = shader
        if stream_output is not None:
            shader = copy(shader)
            attach_stream_output(shader, stream_output)
            check(shader)
        return shader.to_bytes()


_SET_SHADER = int(Op.SET_SHADER)
_GEOMETRY = key(Bind.SHADER, Stage.GEOMETRY)


class BoundShader:
    """A shader with the class instances that were bound with it."""

    __slots__ = ("instances", "shader")

    def __init__(self, shader: Shader, instances: tuple[ClassInstance, ...] = ()) -> None:
        self.shader = shader
        self.instances = instances


class ShaderFunctions:
    """Entries that create, destroy and set shaders."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.shaders: dict[int, Shader] = {}

    # --- sizes ---------------------------------------------------------------------------------------------------------
    def CalcPrivateShaderSize(self, hDevice: int, pCode: Any, pSignatures: Any) -> int:
        return 64

    CalcPrivateTessellationShaderSize = CalcPrivateShaderSize

    def CalcPrivateGeometryShaderWithStreamOutput(self, hDevice: int, arg: Any, pSignatures: Any) -> int:
        return 64

    # --- creation ------------------------------------------------------------------------------------------------------
    def _create(self, stage: Stage, pCode: Any, hShader: int, inputs: Sequence[Any], so: StreamOutput | None = None) -> Pending:
        signature = tuple(SignatureElement(e.Register, e.Mask, e.SystemValue) for e in inputs)
        program = None
        if pCode is not None:
            try:
                program = decode(np.ascontiguousarray(pCode, np.uint32).tobytes())
            except DxbcError as error:
                raise DeviceError.invalid(f"shader: {error}") from None
            if so is None and STAGES[program.type] is not stage:
                raise DeviceError.invalid(f"a {program.profile} program as a {stage.name.lower()} shader")
            if so is not None and STAGES[program.type] is not Stage.GEOMETRY:
                # The code of the stage before was given: it streams its own output.
                program = None
        shader = Shader(stage, program, signature)
        shader.stream_output = so
        if program is None:
            self.shaders[hShader] = shader
            return None
        if any(d.opcode.name == "DCL_INTERFACE" for d in program.declarations):
            self.shaders[hShader] = shader  # translated when its class instances are bound
            return None
        try:
            binary = shader.binary((), None)
        except ShaderError as error:
            raise DeviceError.invalid(f"shader: {error}") from None
        try:
            self._store(shader, ((), None), binary)
        except Later:
            return self._store_later(shader, ((), None), binary, hShader)
        self.shaders[hShader] = shader
        return None

    def _store(self, shader: Shader, variant: Variant, binary: bytes) -> None:
        """Put a program where the GPU reads it. Raises Later."""
        place = self.core.shader_heap.take(len(binary))
        place.view[: len(binary)] = binary
        shader.code[variant] = place, len(binary)

    async def _store_later(self, shader: Shader, variant: Variant, binary: bytes, hShader: int | None) -> None:
        await self.core.retry(lambda: self._store(shader, variant, binary))
        if hShader is not None:
            self.shaders[hShader] = shader

    def CreateVertexShader(
        self, hDevice: int, pCode: Any, hShader: int, hRT: int, pSignatures: D3D10DDIARG_STAGE_IO_SIGNATURES
    ) -> Pending:
        return self._create(Stage.VERTEX, pCode, hShader, pSignatures.pInputSignature)

    def CreatePixelShader(
        self, hDevice: int, pCode: Any, hShader: int, hRT: int, pSignatures: D3D10DDIARG_STAGE_IO_SIGNATURES
    ) -> Pending:
        return self._create(Stage.PIXEL, pCode, hShader, pSignatures.pInputSignature)

    def CreateGeometryShader(
        self, hDevice: int, pCode: Any, hShader: int, hRT: int, pSignatures: D3D10DDIARG_STAGE_IO_SIGNATURES
    ) -> Pending:
        return self._create(Stage.GEOMETRY, pCode, hShader, pSignatures.pInputSignature)

    def CreateHullShader(
        self, hDevice: int, pCode: Any, hShader: int, hRT: int, pSignatures: D3D11DDIARG_TESSELLATION_IO_SIGNATURES
    ) -> Pending:
        return self._create(Stage.HULL, pCode, hShader, pSignatures.pInputSignature)

    def CreateDomainShader(
        self, hDevice: int, pCode: Any, hShader: int, hRT: int, pSignatures: D3D11DDIARG_TESSELLATION_IO_SIGNATURES
    ) -> Pending:
        return self._create(Stage.DOMAIN, pCode, hShader, pSignatures.pInputSignature)

    def CreateComputeShader(self, hDevice: int, pCode: Any, hShader: int, hRT: int) -> Pending:
        return self._create(Stage.COMPUTE, pCode, hShader, ())

    def CreateGeometryShaderWithStreamOutput(
        self,
        hDevice: int,
        arg: D3D11DDIARG_CREATEGEOMETRYSHADERWITHSTREAMOUTPUT,
        hShader: int,
        hRT: int,
        pSignatures: D3D10DDIARG_STAGE_IO_SIGNATURES,
    ) -> Pending:
        elements = tuple(
            StreamElement(e.RegisterIndex, e.RegisterMask, e.OutputSlot, e.Stream) for e in arg.pOutputStreamDecl
        )
        so = StreamOutput(elements, tuple(arg.BufferStridesInBytes), arg.RasterizedStream)
        return self._create(Stage.GEOMETRY, arg.pShaderCode, hShader, pSignatures.pInputSignature, so)

    def DestroyShader(self, hDevice: int, hShader: int) -> None:
        shader = self.shaders.pop(hShader, None)
        if shader is None:
            return
        for stage in Stage:
            bound = self.core.slots.get(key(Bind.SHADER, stage))
            if bound is not None and bound.shader is shader:
                self.core.bind(key(Bind.SHADER, stage), None)
        self.changed()
        for place, _ in shader.code.values():
            self.core.shader_heap.give(place)

    def AssignDebugBinary(self, hDevice: int, hShader: int, uBinarySize: int, pBinary: bytes) -> None:
        """11.1: a binary for debuggers; this driver has none to show it to (AssignDebugBinarySupport is not set)."""

    # --- binding -------------------------------------------------------------------------------------------------------
    def setter(self, stage: Stage) -> Callable[[int, int], None]:
        """The SetShader entry of a stage."""

        def SetShader(hDevice: int, hShader: int) -> None:
            self._bind(stage, hShader, ())

        return SetShader

    def interface_setter(self, stage: Stage) -> Callable[..., None]:
        """The SetShaderWithIfaces entry of a stage."""

        def SetShaderWithIfaces(
            hDevice: int,
            hShader: int,
            NumClassInstances: int,
            pIfaces: Sequence[int],
            pPointerData: Sequence[D3D11DDIARG_POINTERDATA],
        ) -> None:
            instances = tuple(
                ClassInstance(table, p.uCBID, p.uCBOffset, p.uBaseTexID, p.uBaseSamplerID)
                for table, p in zip(pIfaces[:NumClassInstances], pPointerData[:NumClassInstances], strict=True)
            )
            self._bind(stage, hShader, instances)

        return SetShaderWithIfaces

    def _bind(self, stage: Stage, hShader: int, instances: tuple[ClassInstance, ...]) -> None:
        core = self.core
        shader = self.shaders.get(hShader)
        k = key(Bind.SHADER, stage)
        before = core.slots.get(k)
        if before is not None and before.shader is shader and before.instances == instances:
            return
        core.bind(k, None if shader is None else BoundShader(shader, instances))
        if stage is not Stage.PIXEL and stage is not Stage.COMPUTE:
            self.changed()
            # Who streams out, and thus the variant of every stage before, may have changed.
            for other in (Stage.VERTEX, Stage.DOMAIN, Stage.GEOMETRY):
                if key(Bind.SHADER, other) in core.slots:
                    core.dirty.add(key(Bind.SHADER, other))

    def changed(self) -> None:
        """Stages, topology or targets changed."""
        core = self.core
        core.drawable = fits(core)
        geometry = core.slots.get(key(Bind.SHADER, Stage.GEOMETRY))
        so = geometry.shader.stream_output if geometry is not None and geometry.shader.passes_through else None
        rasterizes = so is None or so.rasterized_stream != NO_RASTERIZED_STREAM
        if rasterizes != core.rasterizes:
            core.rasterizes = rasterizes
            core.dirty.add(key(Bind.VIEWPORTS))

    # --- emission ------------------------------------------------------------------------------------------------------
    def emit(self, core: Core, k: int, bound: BoundShader | None) -> None:
        """SET_SHADER of one stage. Raises Later when a variant has no program in memory yet."""
        slot = k & 0xFFFF
        if bound is None or bound.shader.program is None:
            core.batch.add(packet(Op.SET_SHADER, slot))
            return
        shader = bound.shader
        variant: Variant = (bound.instances, self._streamed(core, shader.stage))
        found = shader.code.get(variant)
        if found is None:
            try:
                binary = shader.binary(*variant)
            except (ShaderError, IsaError) as error:
                raise DeviceError.invalid(f"shader: {error}") from None
            self._store(shader, variant, binary)
            found = shader.code[variant]
        place, size = found
        data = HEAD_STRUCT.pack(_SET_SHADER, slot, size, 0, 0, 0, 0) + ZERO_DATA
        core.batch.add_at(data, _SET_SHADER << 12 | slot << 1, place.allocation, place.offset)

    @staticmethod
    def _streamed(core: Core, stage: Stage) -> StreamOutput | None:
        """The stream-output declaration that a shader of ``stage`` takes over from a pass-through geometry shader."""
        geometry = core.slots.get(_GEOMETRY)
        if geometry is None or not geometry.shader.passes_through or stage not in (Stage.VERTEX, Stage.DOMAIN):
            return None
        last = Stage.DOMAIN if key(Bind.SHADER, Stage.DOMAIN) in core.slots else Stage.VERTEX
        so: StreamOutput | None = geometry.shader.stream_output
        return so if stage is last else None
