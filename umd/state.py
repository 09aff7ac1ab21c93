"""Fixed-function state objects, packed into packets once, at creation."""

from __future__ import annotations

import struct
from typing import Any

from umd.command_buffer import HEAD_STRUCT, packet
from umd.core import Bind, Core, key
from umd.errors import DeviceError
from wddm.ddi.d3d10umddi import (
    D3D10_1_DDI_BLEND_DESC,
    D3D10_DDI_DEPTH_STENCIL_DESC,
    D3D10_DDI_RASTERIZER_DESC,
    D3D10_DDI_SAMPLER_DESC,
    D3D10_DDI_VIEWPORT,
    D3D10DDIARG_CREATEELEMENTLAYOUT,
)
from wddm.hw.descriptors import (
    INPUT_ELEMENTS_PER_PACKET,
    BlendFlag,
    DepthStencil,
    InputElement,
    Rasterizer,
    Sampler,
    StencilFace,
    StencilOp,
    TargetBlend,
    float_bits,
)
from wddm.hw.formats import FORMATS, Format
from wddm.hw.packets import Op

FLOAT_MAX = 3.4028234663852886e38
KEEP = StencilFace(StencilOp.KEEP, StencilOp.KEEP, StencilOp.KEEP)
APPEND_ALIGNED = 0xFFFFFFFF
_BLEND, _BLEND_FACTOR = key(Bind.BLEND), key(Bind.BLEND_FACTOR)
_SET_BLEND_FACTOR = int(Op.SET_BLEND_FACTOR)
_PACK_BLEND_FACTOR = struct.Struct(f"{HEAD_STRUCT.format}4fI12x").pack


def blend_packet(desc: D3D10_1_DDI_BLEND_DESC) -> bytes:
    """SET_BLEND. Without independent blending the first target's state is everybody's."""
    targets = [desc.RenderTarget[i if desc.IndependentBlendEnable else 0] for i in range(8)]
    data = tuple(
        TargetBlend(
            bool(t.BlendEnable),
            int(t.SrcBlend),
            int(t.DestBlend),
            int(t.BlendOp),
            int(t.SrcBlendAlpha),
            int(t.DestBlendAlpha),
            int(t.BlendOpAlpha),
            int(t.RenderTargetWriteMask),
        ).pack()
        for t in targets
    )
    arg = int(BlendFlag.ALPHA_TO_COVERAGE) if desc.AlphaToCoverageEnable else 0
    first: Any = targets[0]
    if getattr(first, "LogicOpEnable", False):  # the 11.1 form of the structure
        arg |= int(BlendFlag.LOGIC_OP) | int(first.LogicOp) << 8
    return packet(Op.SET_BLEND, arg=arg, data=data)


def depth_stencil_data(desc: D3D10_DDI_DEPTH_STENCIL_DESC) -> tuple[int, ...]:
    """The data of SET_DEPTH_STENCIL_STATE with a reference of 0."""

    def face(f: Any, enabled: bool) -> StencilFace:
        if not enabled:
            return KEEP
        return StencilFace(int(f.StencilFailOp), int(f.StencilDepthFailOp), int(f.StencilPassOp), int(f.StencilFunc))

    return DepthStencil(
        bool(desc.DepthEnable),
        bool(desc.DepthWriteMask) and bool(desc.DepthEnable),
        int(desc.DepthFunc),
        bool(desc.StencilEnable),
        desc.StencilReadMask & 0xFF,
        desc.StencilWriteMask & 0xFF,
        face(desc.FrontFace, desc.FrontEnable),
        face(desc.BackFace, desc.BackEnable),
    ).pack()


def rasterizer_packet(desc: D3D10_DDI_RASTERIZER_DESC) -> bytes:
    """SET_RASTERIZER."""
    return packet(
        Op.SET_RASTERIZER,
        data=Rasterizer(
            int(desc.FillMode),
            int(desc.CullMode),
            bool(desc.FrontCounterClockwise),
            bool(desc.DepthClipEnable),
            bool(desc.ScissorEnable),
            bool(desc.MultisampleEnable),
            bool(desc.AntialiasedLineEnable),
            desc.DepthBias,
            desc.DepthBiasClamp,
            desc.SlopeScaledDepthBias,
        ).pack(),
    )


def clamp_float(value: float) -> float:
    """Into the range of a float32."""
    return max(-FLOAT_MAX, min(FLOAT_MAX, value))


def sampler_data(desc: D3D10_DDI_SAMPLER_DESC) -> tuple[int, ...]:
    """The data of SET_SAMPLER."""
    filter = int(desc.Filter)
    r, g, b, a = desc.BorderColor
    anisotropic = bool(filter & 0x40)
    return Sampler(
        filter >> 4 & 1,
        filter >> 2 & 1,
        filter & 1,
        anisotropic,
        bool(filter & 0x80),
        int(desc.AddressU),
        int(desc.AddressV),
        int(desc.AddressW),
        int(desc.ComparisonFunc),
        max(1, min(16, desc.MaxAnisotropy)) if anisotropic else 1,
        desc.MipLODBias,
        clamp_float(desc.MinLOD),
        clamp_float(desc.MaxLOD),
        (r, g, b, a),
    ).pack()


def layout_packets(arg: D3D10DDIARG_CREATEELEMENTLAYOUT) -> tuple[bytes, ...]:
    """The SET_INPUT_LAYOUT packets of an element layout. Raises DeviceError for more than a descriptor can say."""
    elements: list[int] = []
    total = len(arg.pVertexElements)
    ends: dict[int, int] = {}
    for e in arg.pVertexElements:
        info = FORMATS.get(Format(int(e.Format))) if int(e.Format) in FORMATS else None
        if info is None or not info.bytes_per_block:
            raise DeviceError.invalid(f"vertex element of format {int(e.Format)}")
        offset = e.AlignedByteOffset
        if offset == APPEND_ALIGNED:
            size = min(4, info.bytes_per_block)
            offset = (ends.get(e.InputSlot, 0) + size - 1) & -size
        ends[e.InputSlot] = offset + info.bytes_per_block
        if not 0 <= offset <= 0xFFFF or not 0 <= e.InputSlot < 32 or not 0 <= e.InputRegister < 32:
            raise DeviceError.invalid(f"vertex element at offset {offset} of slot {e.InputSlot}")
        elements += InputElement(
            e.InputRegister,
            e.InputSlot,
            int(e.Format),
            offset,
            bool(int(e.InputSlotClass)),
            min(e.InstanceDataStepRate, 0xFFFF),
        ).pack()
    per_packet = 2 * INPUT_ELEMENTS_PER_PACKET
    return tuple(
        packet(Op.SET_INPUT_LAYOUT, at // 2, arg=total, data=tuple(elements[at : at + per_packet]))
        for at in range(0, len(elements), per_packet)
    )


DEFAULT_BLEND = blend_packet(D3D10_1_DDI_BLEND_DESC())
DEFAULT_DEPTH_STENCIL = depth_stencil_data(D3D10_DDI_DEPTH_STENCIL_DESC())
DEFAULT_RASTERIZER = rasterizer_packet(D3D10_DDI_RASTERIZER_DESC())
DEFAULT_SAMPLER = sampler_data(D3D10_DDI_SAMPLER_DESC())


class StateFunctions:
    """Entries that create, destroy and set state objects."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.blends: dict[int, bytes] = {}
        self.depth_stencils: dict[int, tuple[int, ...]] = {}
        self.rasterizers: dict[int, bytes] = {}
        self.samplers: dict[int, bytes] = {}
        self.layouts: dict[int, tuple[bytes, ...]] = {}

    def CalcPrivateBlendStateSize(self, hDevice: int, arg: Any) -> int:
        return 64

    CalcPrivateDepthStencilStateSize = CalcPrivateBlendStateSize
    CalcPrivateRasterizerStateSize = CalcPrivateBlendStateSize
    CalcPrivateSamplerSize = CalcPrivateBlendStateSize
    CalcPrivateElementLayoutSize = CalcPrivateBlendStateSize

    # --- creation ------------------------------------------------------------------------------------------------------
    def CreateBlendState(self, hDevice: int, desc: D3D10_1_DDI_BLEND_DESC, h: int, hRT: int) -> None:
        self.blends[h] = blend_packet(desc)

    def CreateDepthStencilState(self, hDevice: int, desc: D3D10_DDI_DEPTH_STENCIL_DESC, h: int, hRT: int) -> None:
        self.depth_stencils[h] = depth_stencil_data(desc)

    def CreateRasterizerState(self, hDevice: int, desc: D3D10_DDI_RASTERIZER_DESC, h: int, hRT: int) -> None:
        self.rasterizers[h] = rasterizer_packet(desc)

    def CreateSampler(self, hDevice: int, desc: D3D10_DDI_SAMPLER_DESC, h: int, hRT: int) -> None:
        self.samplers[h] = packet(0, data=sampler_data(desc))[32:]

    def CreateElementLayout(self, hDevice: int, arg: D3D10DDIARG_CREATEELEMENTLAYOUT, h: int, hRT: int) -> None:
        self.layouts[h] = layout_packets(arg)

    def DestroyBlendState(self, hDevice: int, h: int) -> None:
        self.blends.pop(h, None)

    def DestroyDepthStencilState(self, hDevice: int, h: int) -> None:
        self.depth_stencils.pop(h, None)

    def DestroyRasterizerState(self, hDevice: int, h: int) -> None:
        self.rasterizers.pop(h, None)

    def DestroySampler(self, hDevice: int, h: int) -> None:
        self.samplers.pop(h, None)

    def DestroyElementLayout(self, hDevice: int, h: int) -> None:
        self.layouts.pop(h, None)

    # --- binding -------------------------------------------------------------------------------------------------------
    def SetBlendState(self, hDevice: int, h: int, BlendFactor: Any, SampleMask: int) -> None:
        bind = self.core.bind_packets
        bind(_BLEND, self.blends.get(h, DEFAULT_BLEND))
        bind(_BLEND_FACTOR, _PACK_BLEND_FACTOR(_SET_BLEND_FACTOR, 0, 0, 0, 0, 0, 0, *BlendFactor, SampleMask & 0xFFFFFFFF))

    def SetDepthStencilState(self, hDevice: int, h: int, StencilRef: int) -> None:
        data = self.depth_stencils.get(h, DEFAULT_DEPTH_STENCIL)
        data = (*data[:3], StencilRef & 0xFF, *data[4:])
        self.core.bind_packets(key(Bind.DEPTH_STENCIL_STATE), packet(Op.SET_DEPTH_STENCIL_STATE, data=data))

    def SetRasterizerState(self, hDevice: int, h: int) -> None:
        self.core.bind_packets(key(Bind.RASTERIZER), self.rasterizers.get(h, DEFAULT_RASTERIZER))

    def IaSetInputLayout(self, hDevice: int, h: int) -> None:
        self.core.bind(key(Bind.LAYOUT), self.layouts.get(h))

    def IaSetTopology(self, hDevice: int, Topology: int) -> None:
        self.core.bind_packets(key(Bind.TOPOLOGY), packet(Op.SET_TOPOLOGY, arg=int(Topology)))
        if Topology != self.core.topology:
            self.core.topology = int(Topology)
            self.core.stages_changed()

    def SetViewports(self, hDevice: int, NumViewports: int, ClearViewports: int, viewports: Any) -> None:
        count = min(NumViewports, len(viewports))
        packets = tuple(_viewport(slot, count, viewports[slot]) for slot in range(count))
        self.core.bind_packets(key(Bind.VIEWPORTS), packets or (packet(Op.SET_VIEWPORT, arg=0),))

    def SetScissorRects(self, hDevice: int, NumScissorRects: int, ClearScissorRects: int, rects: Any) -> None:
        count = min(NumScissorRects, len(rects))
        packets = tuple(
            packet(
                Op.SET_SCISSOR,
                slot,
                arg=count,
                data=tuple(v & 0xFFFFFFFF for v in (r.left, r.top, r.right, r.bottom)),
            )
            for slot, r in enumerate(rects[:count])
        )
        self.core.bind_packets(key(Bind.SCISSORS), packets or (packet(Op.SET_SCISSOR, arg=0),))

    def SetTextFilterSize(self, hDevice: int, Width: int, Height: int) -> None:
        """The 1-bit text filter exists for Direct3D 10 only; no format of this adapter uses it."""


def _viewport(slot: int, count: int, v: D3D10_DDI_VIEWPORT) -> bytes:
    values = (v.TopLeftX, v.TopLeftY, v.Width, v.Height, v.MinDepth, v.MaxDepth)
    return packet(Op.SET_VIEWPORT, slot, arg=count, data=tuple(float_bits(f) for f in values))
