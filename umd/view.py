"""Views: shader resource, render target, depth stencil, unordered access; packed into hardware descriptors once, at creation.

A descriptor says which part of a resource is seen; where the resource lies is added when the view is emitted, so that renaming
and rotated identities need no new views.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

from umd.core import Core, Pending
from umd.errors import DeviceError
from umd.resource import Resource, ResourceFunctions
from umd.upload import Place
from wddm.ddi.d3d10umddi import (
    D3D10DDIARG_CREATERENDERTARGETVIEW,
    D3D10DDIRESOURCE_TYPE,
    D3D11_DDI_BUFFER_UAV_FLAG,
    D3D11_DDI_BUFFEREX_SRV_FLAG,
    D3D11DDIARG_CREATEDEPTHSTENCILVIEW,
    D3D11DDIARG_CREATESHADERRESOURCEVIEW,
    D3D11DDIARG_CREATEUNORDEREDACCESSVIEW,
)
from wddm.hw.descriptors import View as Descriptor
from wddm.hw.descriptors import ViewDimension, ViewFlag
from wddm.hw.formats import FORMATS, Format

TYPE = D3D10DDIRESOURCE_TYPE
ALL = 0xFFFFFFFF
_DATA = struct.Struct("<8I")
_DIMENSIONS = {
    TYPE.TEXTURE1D: ViewDimension.TEXTURE1D,
    TYPE.TEXTURE2D: ViewDimension.TEXTURE2D,
    TYPE.TEXTURE3D: ViewDimension.TEXTURE3D,
    TYPE.TEXTURECUBE: ViewDimension.TEXTURECUBE,
}


class View:
    """A view of a resource. ``data`` is its descriptor, 32 bytes."""

    __slots__ = ("counter", "data", "descriptor", "read_only", "resource")

    def __init__(self, resource: Resource, descriptor: Descriptor) -> None:
        self.resource = resource
        self.descriptor = descriptor
        self.data = pack(descriptor)
        self.counter: Place | None = None  #: hidden counter of an append or counter view
        self.read_only = 0  #: depth-stencil planes that are not written


def pack(descriptor: Descriptor) -> bytes:
    """The descriptor's bytes. Raises DeviceError when a number does not fit."""
    try:
        return _DATA.pack(*descriptor.pack())
    except struct.error as error:
        raise DeviceError.invalid(f"view that no descriptor can express: {error}") from None


def texture(r: Resource, dimension: ViewDimension, format: int, **part: int) -> Descriptor:
    """A descriptor of a texture; ``part`` names the mips and slices that are seen."""
    flags = ViewFlag.ARRAY if r.slices > (6 if dimension is ViewDimension.TEXTURECUBE else 1) else 0
    return Descriptor(
        dimension, format, r.width, r.height, r.depth, r.mips, r.slices, r.samples, flags=int(flags), **part
    )  # fmt: skip


def whole(r: Resource) -> Descriptor:
    """Everything of a texture, for copies."""
    dimension = ViewDimension.TEXTURE3D if r.dimension == TYPE.TEXTURE3D else ViewDimension.TEXTURE2D
    if r.dimension == TYPE.TEXTURE1D:
        dimension = ViewDimension.TEXTURE1D
    count = r.depth if dimension is ViewDimension.TEXTURE3D else r.slices
    return texture(r, dimension, r.format, mip_count=r.mips, slice_count=count)


def single(r: Resource, subresource: int, format: int | None = None) -> Descriptor:
    """One subresource of a texture, as a 2D surface."""
    mip, array_slice = r.subresource(subresource)
    return texture(
        r, ViewDimension.TEXTURE2D, r.format if format is None else format, first_mip=mip, first_slice=array_slice
    )


def _count(wanted: int, available: int) -> int:
    return available if wanted in (ALL, -1) else wanted


def _format(r: Resource, format: int) -> int:
    chosen = int(format) or r.format
    if chosen not in FORMATS:
        raise DeviceError.invalid(f"format {chosen} does not exist")
    return chosen


def typed_buffer(r: Resource, format: int, first: int, count: int) -> Descriptor:
    """Typed elements of a buffer."""
    size = FORMATS[Format(format)].bytes_per_block
    if not size:
        raise DeviceError.invalid(f"format {format} has no elements")
    return Descriptor(ViewDimension.BUFFER, format, count, first)


class ViewFunctions:
    """Entries that create and destroy views."""

    def __init__(self, core: Core, resources: ResourceFunctions) -> None:
        self.core = core
        self.resources = resources
        self.shader_resources: dict[int, View] = {}
        self.render_targets: dict[int, View] = {}
        self.depth_stencils: dict[int, View] = {}
        self.unordered: dict[int, View] = {}

    # --- sizes ---------------------------------------------------------------------------------------------------------
    def CalcPrivateShaderResourceViewSize(self, hDevice: int, arg: Any) -> int:
        return 64

    CalcPrivateRenderTargetViewSize = CalcPrivateShaderResourceViewSize
    CalcPrivateDepthStencilViewSize = CalcPrivateShaderResourceViewSize
    CalcPrivateUnorderedAccessViewSize = CalcPrivateShaderResourceViewSize

    # --- shader resources ----------------------------------------------------------------------------------------------
    def CreateShaderResourceView(
        self, hDevice: int, arg: D3D11DDIARG_CREATESHADERRESOURCEVIEW, hView: int, hRTView: int
    ) -> None:
        r = self.resources.get(arg.hDrvResource)
        view = View(r, self._shader_resource(r, arg))
        self.shader_resources[hView] = view
        if not r.is_buffer:
            r.views.append(view)

    def _shader_resource(self, r: Resource, arg: D3D11DDIARG_CREATESHADERRESOURCEVIEW) -> Descriptor:
        dimension = arg.ResourceDimension
        if r.is_buffer:
            if arg.BufferEx is not None:
                ex = arg.BufferEx
                if ex.Flags & D3D11_DDI_BUFFEREX_SRV_FLAG.RAW:
                    return Descriptor(ViewDimension.RAW_BUFFER, Format.R32_TYPELESS, ex.NumElements, ex.FirstElement)
                first, count = ex.FirstElement, ex.NumElements
            elif arg.Buffer is not None:
                first, count = arg.Buffer.FirstElement, arg.Buffer.NumElements
            else:
                raise DeviceError.invalid("buffer view without a range")
            if not int(arg.Format):
                return Descriptor(ViewDimension.STRUCTURED_BUFFER, 0, count, first, stride=r.stride)
            return typed_buffer(r, int(arg.Format), first, count)
        format = _format(r, arg.Format)
        tex = arg.Tex1D or arg.Tex2D or arg.Tex3D or arg.TexCube
        if tex is None or dimension not in _DIMENSIONS:
            raise DeviceError.invalid(f"shader resource view of dimension {int(dimension)}")
        mips = _count(tex.MipLevels, r.mips - tex.MostDetailedMip)
        hw = _DIMENSIONS[TYPE(int(dimension))]
        first, count = 0, r.slices
        if arg.TexCube is not None and dimension == TYPE.TEXTURECUBE:
            first = arg.TexCube.First2DArrayFace
            count = _count(arg.TexCube.NumCubes, (r.slices - first) // 6) * 6
        elif dimension in (TYPE.TEXTURE1D, TYPE.TEXTURE2D):
            part = arg.Tex1D if dimension == TYPE.TEXTURE1D else arg.Tex2D
            assert part is not None
            first, count = part.FirstArraySlice, _count(part.ArraySize, r.slices - part.FirstArraySlice)
        return replace(
            texture(r, hw, format, first_mip=tex.MostDetailedMip, mip_count=mips, first_slice=first, slice_count=count),
            min_lod=r.min_lod,
        )

    def DestroyShaderResourceView(self, hDevice: int, hView: int) -> None:
        view = self.shader_resources.pop(hView, None)
        if view is not None:
            self._unbind(view)
            if view in view.resource.views:
                view.resource.views.remove(view)

    def _unbind(self, view: View) -> None:
        """A view that is destroyed is bound nowhere."""
        core = self.core
        for k in [k for k in view.resource.keys if core.slots.get(k) is view]:
            core.bind(k, None)

    def SetResourceMinLOD(self, hDevice: int, hResource: int, MinLOD: float) -> None:
        r = self.resources.get(hResource)
        r.min_lod = MinLOD
        for view in r.views:
            view.descriptor = replace(view.descriptor, min_lod=MinLOD)
            view.data = pack(view.descriptor)
        self.core.moved(r)

    # --- render targets ------------------------------------------------------------------------------------------------
    def CreateRenderTargetView(
        self, hDevice: int, arg: D3D10DDIARG_CREATERENDERTARGETVIEW, hView: int, hRTView: int
    ) -> None:
        r = self.resources.get(arg.hDrvResource)
        self.render_targets[hView] = View(r, self._target(r, arg, arg.Format))

    def _target(self, r: Resource, arg: Any, format: int) -> Descriptor:
        """A descriptor of one mip and some slices."""
        chosen = _format(r, format)
        dimension = TYPE(int(arg.ResourceDimension))
        if dimension is TYPE.TEXTURE3D:
            if arg.Tex3D is None:
                raise DeviceError.invalid("view of a 3D texture without its part")
            depth = max(1, r.depth >> arg.Tex3D.MipSlice)
            count = _count(arg.Tex3D.WSize, depth - arg.Tex3D.FirstW)
            return texture(
                r, ViewDimension.TEXTURE3D, chosen, first_mip=arg.Tex3D.MipSlice, first_slice=arg.Tex3D.FirstW, slice_count=count
            )
        part = arg.Tex1D or arg.Tex2D or getattr(arg, "TexCube", None)
        if r.is_buffer:
            if arg.Buffer is None:
                raise DeviceError.invalid("buffer view without a range")
            return typed_buffer(r, chosen, arg.Buffer.FirstElement, arg.Buffer.NumElements)
        if part is None:
            raise DeviceError.invalid(f"view of dimension {dimension.name} without its part")
        # Rendered to, a cube is an array of 2D slices.
        hw = ViewDimension.TEXTURE1D if dimension is TYPE.TEXTURE1D else ViewDimension.TEXTURE2D
        count = _count(part.ArraySize, r.slices - part.FirstArraySlice)
        return texture(r, hw, chosen, first_mip=part.MipSlice, first_slice=part.FirstArraySlice, slice_count=count)

    def DestroyRenderTargetView(self, hDevice: int, hView: int) -> None:
        self.render_targets.pop(hView, None)

    # --- depth stencil -------------------------------------------------------------------------------------------------
    def CreateDepthStencilView(
        self, hDevice: int, arg: D3D11DDIARG_CREATEDEPTHSTENCILVIEW, hView: int, hRTView: int
    ) -> None:
        r = self.resources.get(arg.hDrvResource)
        view = View(r, self._target(r, _WithoutBuffer(arg), arg.Format))
        view.read_only = int(arg.Flags) & 3
        self.depth_stencils[hView] = view

    def DestroyDepthStencilView(self, hDevice: int, hView: int) -> None:
        view = self.depth_stencils.pop(hView, None)
        if view is not None:
            self._unbind(view)

    # --- unordered access ----------------------------------------------------------------------------------------------
    def CreateUnorderedAccessView(
        self, hDevice: int, arg: D3D11DDIARG_CREATEUNORDEREDACCESSVIEW, hView: int, hRTView: int
    ) -> Pending:
        r = self.resources.get(arg.hDrvResource)
        if not r.is_buffer:
            self.unordered[hView] = View(r, self._target(r, arg, arg.Format))
            return None
        part = arg.Buffer
        if part is None:
            raise DeviceError.invalid("buffer view without a range")
        if part.Flags & D3D11_DDI_BUFFER_UAV_FLAG.RAW:
            descriptor = Descriptor(ViewDimension.RAW_BUFFER, Format.R32_TYPELESS, part.NumElements, part.FirstElement)
        elif int(arg.Format):
            descriptor = typed_buffer(r, int(arg.Format), part.FirstElement, part.NumElements)
        else:
            descriptor = Descriptor(
                ViewDimension.STRUCTURED_BUFFER, 0, part.NumElements, part.FirstElement, stride=r.stride
            )
        if part.Flags & (D3D11_DDI_BUFFER_UAV_FLAG.APPEND | D3D11_DDI_BUFFER_UAV_FLAG.COUNTER):
            return self._counted(hView, View(r, replace(descriptor, flags=int(ViewFlag.COUNTER))))
        self.unordered[hView] = View(r, descriptor)
        return None

    async def _counted(self, hView: int, view: View) -> None:
        view.counter = await self.core.retry(lambda: self.core.counter_heap.take(4))
        self.unordered[hView] = view

    def DestroyUnorderedAccessView(self, hDevice: int, hView: int) -> None:
        view = self.unordered.pop(hView, None)
        if view is not None:
            self._unbind(view)
            if view.counter is not None:
                self.core.counter_heap.give(view.counter)


class _WithoutBuffer:
    """A depth-stencil argument with the members that it has not."""

    def __init__(self, arg: D3D11DDIARG_CREATEDEPTHSTENCILVIEW) -> None:
        self.ResourceDimension = arg.ResourceDimension
        self.Tex1D, self.Tex2D, self.TexCube = arg.Tex1D, arg.Tex2D, arg.TexCube
        self.Tex3D = self.Buffer = None
