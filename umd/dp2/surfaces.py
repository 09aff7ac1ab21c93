"""Surfaces by their small numbers, palettes, and the views through which the pipeline sees surfaces.

A surface is a resource of the device (see ``ddrawint``). Views are made when they are first needed and go with the surface.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from umd.dp2.errors import CommandError
from umd.resource import BIND, TYPE, Resource
from umd.view import View, texture
from wddm.ddi.d3d10umddi import (
    D3D10DDIARG_CREATERENDERTARGETVIEW,
    D3D10DDIARG_TEX_VIEW,
    D3D11DDIARG_CREATEDEPTHSTENCILVIEW,
)
from wddm.ddi.d3dhal import DDRAWIPAL_ALPHA
from wddm.ddi.ddrawint import D3DFORMAT, DD_SURFACE_LOCAL
from wddm.hw.descriptors import ViewDimension
from wddm.hw.formats import Format

if TYPE_CHECKING:
    from umd.device import Device

#: Handles of the driver's own objects, far from those that a runtime chooses.
handles: Final = count(1 << 48)
MAX_SURFACES: Final = 1 << 16
MAX_PALETTES: Final = 4096
_SRGB: Final = {
    Format.R8G8B8A8_UNORM: Format.R8G8B8A8_UNORM_SRGB,
    Format.B8G8R8A8_UNORM: Format.B8G8R8A8_UNORM_SRGB,
    Format.B8G8R8X8_UNORM: Format.B8G8R8X8_UNORM_SRGB,
}
_SWIZZLES: Final = {D3DFORMAT.L8: "xxxw", D3DFORMAT.L16: "xxxw", D3DFORMAT.A8L8: "xxxy"}


class Surface:
    """A surface that a context knows."""

    def __init__(self, local: DD_SURFACE_LOCAL, resource: Resource) -> None:
        self.handle = local.dwSurfaceHandle
        self.h_resource = local.hDrvResource
        self.resource = resource
        self.format = local.ddpfSurface
        self.subresource = local.dwSubresource
        self.mip, self.slice = resource.subresource(local.dwSubresource)
        self.palette = 0
        self.priority = 0
        self.lod = 0
        self.samplings: dict[bool, View] = {}
        self.targets: dict[int, int] = {}
        self.depth_view = 0

    @property
    def kind(self) -> int:
        """1, 2, 3 dimensions; 4 for a cube; 0 for a buffer."""
        r = self.resource
        if r.is_buffer:
            return 0
        return {TYPE.TEXTURE1D: 1, TYPE.TEXTURE3D: 3, TYPE.TEXTURECUBE: 4}.get(TYPE(r.dimension), 2)

    @property
    def size(self) -> tuple[int, int]:
        """Pixels of what is drawn to."""
        return max(1, self.resource.width >> self.mip), max(1, self.resource.height >> self.mip)

    @property
    def swizzle(self) -> str:
        """Where a sampled texel's components come from."""
        return _SWIZZLES.get(self.format, "xyzw")


class Surfaces:
    """The surfaces and palettes of one context."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._surfaces: dict[int, Surface] = {}
        self._palettes: dict[int, npt.NDArray[np.uint32]] = {}
        self._alpha: dict[int, bool] = {}
        self.changed = True  #: a palette or a surface changed since the last draw

    # --- surfaces ------------------------------------------------------------------------------------------------------
    def create(self, local: DD_SURFACE_LOCAL) -> None:
        """D3dCreateSurfaceEx. Raises CommandError."""
        if not local.dwSurfaceHandle:
            raise CommandError.params("surface handle 0 means no surface")
        resource = self._device.resources.resources.get(local.hDrvResource)
        if resource is None:
            raise CommandError.params(f"no resource {local.hDrvResource:#x}")
        if not 0 <= local.dwSubresource < resource.mips * resource.slices:
            raise CommandError.params(f"subresource {local.dwSubresource} of {resource.mips * resource.slices}")
        if len(self._surfaces) >= MAX_SURFACES:
            raise CommandError.params(f"{MAX_SURFACES} surfaces exist already")
        self.destroy(local.dwSurfaceHandle)
        self._surfaces[local.dwSurfaceHandle] = Surface(local, resource)

    def destroy(self, handle: int) -> None:
        """The surface is no more; its resource stays."""
        surface = self._surfaces.pop(handle, None)
        if surface is None:
            return
        for view in surface.targets.values():
            self._device.views.DestroyRenderTargetView(0, view)
        if surface.depth_view:
            self._device.views.DestroyDepthStencilView(0, surface.depth_view)
        self.changed = True

    def clear(self) -> None:
        """The context ends."""
        for handle in list(self._surfaces):
            self.destroy(handle)

    def get(self, handle: int, what: str = "surface") -> Surface:
        """The surface of a handle. Raises CommandError."""
        surface = self._surfaces.get(handle)
        if surface is None:
            raise CommandError.params(f"{what} {handle} does not exist")
        if self._device.resources.resources.get(surface.h_resource) is not surface.resource:
            raise CommandError.params(f"the memory of {what} {handle} is gone")
        return surface

    def texture(self, handle: int) -> Surface:
        """A surface that can be sampled. Raises CommandError."""
        surface = self.get(handle, "texture")
        if not surface.kind or not surface.resource.bind & BIND.SHADER_RESOURCE:
            raise CommandError.params(f"surface {handle} is no texture")
        return surface

    def buffer(self, handle: int, what: str) -> Resource:
        """A surface that is plain memory: vertices or indices. Raises CommandError."""
        surface = self.get(handle, what)
        if surface.kind:
            raise CommandError.params(f"{what} {handle} is a texture")
        return surface.resource

    # --- views ---------------------------------------------------------------------------------------------------------
    def sampling(self, surface: Surface, srgb: bool) -> View:
        """The view through which a stage samples."""
        view = surface.samplings.get(srgb)
        if view is None:
            r = surface.resource
            dimension = (ViewDimension.TEXTURE1D, ViewDimension.TEXTURE2D, ViewDimension.TEXTURE3D, ViewDimension.TEXTURECUBE)[
                surface.kind - 1
            ]
            format = int(_SRGB.get(Format(r.format), r.format)) if srgb else r.format
            slices = 6 if surface.kind == 4 else 1
            view = View(r, texture(r, dimension, format, mip_count=r.mips, slice_count=slices))
            surface.samplings[srgb] = view
        return view

    def target(self, handle: int, srgb: bool) -> tuple[Surface, int]:
        """A render target and the handle of its view. Raises CommandError."""
        surface = self.get(handle, "render target")
        r = surface.resource
        if surface.kind not in (1, 2, 4) or not r.bind & BIND.RENDER_TARGET:
            raise CommandError.params(f"surface {handle} is no render target")
        format = int(_SRGB.get(Format(r.format), r.format)) if srgb else r.format
        view = surface.targets.get(format)
        if view is None:
            view = surface.targets[format] = next(handles)
            arg = D3D10DDIARG_CREATERENDERTARGETVIEW(
                surface.h_resource, format, TYPE.TEXTURE2D, Tex2D=D3D10DDIARG_TEX_VIEW(surface.mip, surface.slice)  # type: ignore[arg-type]
            )
            self._device.views.CreateRenderTargetView(0, arg, view, 0)
        return surface, view

    def depth(self, handle: int) -> tuple[Surface, int]:
        """A depth buffer and the handle of its view. Raises CommandError."""
        surface = self.get(handle, "depth buffer")
        if surface.kind != 2 or not surface.resource.bind & BIND.DEPTH_STENCIL:
            raise CommandError.params(f"surface {handle} is no depth buffer")
        if not surface.depth_view:
            surface.depth_view = next(handles)
            arg = D3D11DDIARG_CREATEDEPTHSTENCILVIEW(
                surface.h_resource, surface.resource.format, TYPE.TEXTURE2D, Tex2D=D3D10DDIARG_TEX_VIEW(surface.mip, surface.slice)  # type: ignore[arg-type]
            )
            self._device.views.CreateDepthStencilView(0, arg, surface.depth_view, 0)
        return surface, surface.depth_view

    # --- palettes ------------------------------------------------------------------------------------------------------
    def set_palette(self, palette: int, flags: int, handle: int) -> None:
        """D3DDP2OP_SETPALETTE: the surface's texels are indices into the palette; 0 detaches. Raises CommandError."""
        surface = self.get(handle)
        if palette:
            self._entries(palette)
            self._alpha[palette] = bool(flags & DDRAWIPAL_ALPHA)
        surface.palette = palette
        self.changed = True

    def _entries(self, palette: int) -> npt.NDArray[np.uint32]:
        found = self._palettes.get(palette)
        if found is None:
            if len(self._palettes) >= MAX_PALETTES:
                raise CommandError.params(f"{MAX_PALETTES} palettes exist already")
            found = self._palettes[palette] = np.zeros(256, np.uint32)
        return found

    def update_palette(self, palette: int, start: int, entries: Any) -> None:
        """D3DDP2OP_UPDATEPALETTE. Raises CommandError."""
        if start + len(entries) > 256:
            raise CommandError.params(f"palette entries {start} to {start + len(entries)} of 256")
        self._entries(palette)[start : start + len(entries)] = entries
        self.changed = True

    def palette(self, number: int) -> bytes:
        """A constant buffer of 256 colours, four floats in 0..1 each."""
        words = self._entries(number)
        colors = np.stack([words >> shift & 255 for shift in (16, 8, 0, 24)], 1).astype(np.float32) / np.float32(255)
        if not self._alpha.get(number, False):
            colors[:, 3] = 1.0
        return colors.tobytes()
