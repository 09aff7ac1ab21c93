"""What a compiled shader binds and exchanges: constant buffers, resources, signatures, statistics."""

from __future__ import annotations

from dataclasses import dataclass, field

from wddm.dxbc.container import ShaderBlob
from wddm.dxbc.opcodes import Opcode
from wddm.dxbc.reflection import ConstantBuffer, ResourceBinding
from wddm.dxbc.signature import SignatureElement
from wddm.dxbc.statistics import FeatureFlags, Statistics

__all__ = ["Reflection", "reflect"]


@dataclass(slots=True)
class Reflection:
    """``constant_buffers`` and ``bindings`` as RDEF stores them (offsets and sizes in bytes)."""

    profile: str
    creator: str = ""
    constant_buffers: list[ConstantBuffer] = field(default_factory=list)
    bindings: list[ResourceBinding] = field(default_factory=list)
    inputs: list[SignatureElement] = field(default_factory=list)
    outputs: list[SignatureElement] = field(default_factory=list)
    patch_constants: list[SignatureElement] = field(default_factory=list)
    statistics: Statistics | None = None
    features: FeatureFlags = FeatureFlags.NONE
    thread_group: tuple[int, int, int] | None = None

    def buffer(self, name: str) -> ConstantBuffer:
        """The constant buffer of that name.  :raises KeyError: there is none."""
        for buffer in self.constant_buffers:
            if buffer.name == name:
                return buffer
        raise KeyError(name)

    def binding(self, name: str) -> ResourceBinding:
        """The binding of that name.  :raises KeyError: there is none."""
        for binding in self.bindings:
            if binding.name == name:
                return binding
        raise KeyError(name)


def reflect(blob: bytes) -> Reflection:
    """Read a container.  :raises DxbcError: it is broken."""
    shader = ShaderBlob.parse(blob)
    program = shader.program
    out = Reflection(program.profile, features=shader.features, statistics=shader.statistics)
    rdef = shader.reflection
    if rdef is not None:
        out.creator, out.constant_buffers, out.bindings = rdef.creator, rdef.buffers, rdef.bindings
    out.inputs = list(shader.input_signature.elements)
    out.outputs = list(shader.output_signature.elements)
    if shader.patch_constant_signature is not None:
        out.patch_constants = list(shader.patch_constant_signature.elements)
    for declaration in program.declarations:
        if declaration.opcode is Opcode.DCL_THREAD_GROUP:
            out.thread_group = declaration.thread_group
    return out
