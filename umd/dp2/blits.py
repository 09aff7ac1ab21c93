"""Commands that move or fill memory: texture, volume, buffer and surface blits, colour fills, mip generation, clears."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from umd.core import settle
from umd.dp2.errors import CommandError
from umd.dp2.formats import fvf_format
from umd.dp2.output import color, viewport_of
from umd.dp2.parser import Command
from umd.dp2.primitives import Primitives, Topology
from umd.dp2.renderer import MAX_TARGETS, Renderer, Source
from umd.dp2.state import RS, TSS, Key, Kind, State, bits
from umd.dp2.surfaces import Surface, Surfaces, handles
from umd.dp2.transient import small
from wddm.ddi.d3d10umddi import D3D10_DDI_BOX, D3D11DDI_HANDLETYPE
from wddm.ddi.d3dhal import D3DBLENDOP, D3DCLEAR, D3DCMPFUNC, D3DCULL, D3DFILLMODE, D3DFVF, D3DHAL_TSS_MAXSTAGES, D3DSTENCILOP
from wddm.ddi.d3dukmdt import RECT
from wddm.ddi.dxgiddi import DXGI_DDI_ARG_BLT1

if TYPE_CHECKING:
    from umd.device import Device

Rectangle = tuple[int, int, int, int]


def rectangle(record: Any) -> Rectangle:
    """(left, top, right, bottom) of a RECTL."""
    return int(record["left"]), int(record["top"]), int(record["right"]), int(record["bottom"])


def clip(box: Rectangle, to: Rectangle) -> Rectangle | None:
    """What two rectangles share, None when that is nothing."""
    left, top, right, bottom = max(box[0], to[0]), max(box[1], to[1]), min(box[2], to[2]), min(box[3], to[3])
    return (left, top, right, bottom) if right > left and bottom > top else None


class Blits:
    """The blits of one context."""

    def __init__(self, device: Device, state: State, surfaces: Surfaces, renderer: Renderer) -> None:
        self._device = device
        self._state = state
        self._surfaces = surfaces
        self._renderer = renderer

    def _texture(self, handle: int) -> Surface:
        surface = self._surfaces.get(handle)
        if not surface.kind:
            raise CommandError.params(f"surface {handle} is a buffer")
        return surface

    def _whole(self, handle: int) -> Surface:
        """A texture by its top level."""
        surface = self._texture(handle)
        if surface.subresource:
            raise CommandError.params(f"surface {handle} is one level of a texture, its top level belongs there")
        return surface

    # --- copies --------------------------------------------------------------------------------------------------------
    async def texblt(self, e: Any) -> None:
        """All mips that both have, from a rectangle of the top one. Without a destination the source is merely wanted soon."""
        source = self._whole(int(e["dwDDSrcSurface"]))
        if not e["dwDDDestSurface"]:
            return
        target = self._whole(int(e["dwDDDestSurface"]))
        one, other = target.resource, source.resource
        if one.format != other.format:
            raise CommandError.params("a texture blit between unlike formats")
        if target.kind == 3 or source.kind == 3:
            raise CommandError.params("a texture blit of a volume")
        x, y = int(e["pDest"]["x"]), int(e["pDest"]["y"])
        left, top, right, bottom = rectangle(e["rSrc"])
        # The destination's top level may be one of the source's lower ones.
        sizes = [(max(1, other.width >> m), max(1, other.height >> m)) for m in range(other.mips)]
        skip = sizes.index((one.width, one.height)) if (one.width, one.height) in sizes else 0
        for _ in range(skip):
            left, top, right, bottom = left // 2, top // 2, (right + 1) // 2, (bottom + 1) // 2
            x, y = x // 2, y // 2
        for level in range(min(one.mips, other.mips - skip)):
            for face in range(min(one.slices, other.slices)):
                await self._copy(target, level + face * one.mips, (x, y, 0), source, skip + level + face * other.mips,
                                 (left, top, max(left + 1, right), max(top + 1, bottom)))  # fmt: skip
            left, top, right, bottom = left // 2, top // 2, (right + 1) // 2, (bottom + 1) // 2
            x, y = x // 2, y // 2

    async def _copy(
        self, target: Surface, subresource: int, at: tuple[int, int, int], source: Surface, source_subresource: int,
        box: Rectangle, depth: tuple[int, int] = (0, 1),
    ) -> None:  # fmt: skip
        """One box without conversion. Raises CommandError when it does not lie in both."""
        width, height, deep = box[2] - box[0], box[3] - box[1], depth[1] - depth[0]
        for surface, index, place in ((source, source_subresource, (*box[:2], depth[0])), (target, subresource, at)):
            r = surface.resource
            assert r.layout is not None
            part = r.layout[r.subresource(index)]
            ends = (place[0] + width, place[1] + height, place[2] + deep)
            room = (part.width, part.height, part.depth)
            if min(place) < 0 or min(width, height, deep) <= 0 or any(e > r for e, r in zip(ends, room, strict=True)):
                raise CommandError.params(f"box {place} to {ends} of a surface of {room}")
        await settle(
            self._device.copies.ResourceCopyRegion(
                0, target.h_resource, subresource, *at, source.h_resource, source_subresource,
                D3D10_DDI_BOX(box[0], box[1], depth[0], box[2], box[3], depth[1]),
            )
        )  # fmt: skip

    async def volumeblt(self, e: Any) -> None:
        """A box of a volume, all mips."""
        target, source = self._whole(int(e["dwDDDestSurface"])), self._whole(int(e["dwDDSrcSurface"]))
        if target.resource.format != source.resource.format:
            raise CommandError.params("a volume blit between unlike formats")
        low = [int(e["srcBox"][n]) for n in ("Left", "Top", "Front")]
        high = [int(e["srcBox"][n]) for n in ("Right", "Bottom", "Back")]
        at = [int(e[n]) for n in ("dwDestX", "dwDestY", "dwDestZ")]
        for level in range(min(target.resource.mips, source.resource.mips)):
            end = [max(a + 1, b) for a, b in zip(low, high, strict=True)]
            box = (low[0], low[1], end[0], end[1])
            await self._copy(target, level, (at[0], at[1], at[2]), source, level, box, (low[2], end[2]))
            low, high, at = [a // 2 for a in low], [(b + 1) // 2 for b in high], [a // 2 for a in at]

    async def bufferblt(self, e: Any) -> None:
        """Bytes of a buffer."""
        handles_ = int(e["dwDDDestSurface"]), int(e["dwDDSrcSurface"])
        target, source = (self._surfaces.buffer(h, "buffer") for h in handles_)
        first, size, at = int(e["rSrc"]["Offset"]), int(e["rSrc"]["Size"]), int(e["dwOffset"])
        if first + size > source.size or at + size > target.size:
            raise CommandError.params(f"{size} bytes from {first} of {source.size} to {at} of {target.size}")
        if size:
            h_target, h_source = (self._surfaces.get(h).h_resource for h in handles_)
            await settle(
                self._device.copies.ResourceCopyRegion(
                    0, h_target, 0, at, 0, 0, h_source, 0, D3D10_DDI_BOX(first, 0, 0, first + size, 1, 1)
                )
            )

    async def blt(self, e: Any) -> None:
        """A rectangle to a rectangle, stretched and converted when they differ.

        DEVIATES: stretching filters linearly whatever Flags say.
        """
        target, source = self._texture(int(e["dwDest"])), self._texture(int(e["dwSource"]))
        one, other = int(e["dwDestMipLevel"]), int(e["dwSourceMipLevel"])
        if target.mip + one >= target.resource.mips or source.mip + other >= source.resource.mips:
            raise CommandError.params(f"mip {other} of {source.resource.mips} to mip {one} of {target.resource.mips}")
        one, other = target.subresource + one, source.subresource + other
        to, box = rectangle(e["rDest"]), rectangle(e["rSource"])
        same = to[2] - to[0] == box[2] - box[0] and to[3] - to[1] == box[3] - box[1]
        if same and target.resource.format == source.resource.format:
            await self._copy(target, one, (to[0], to[1], 0), source, other, box)
            return
        for surface, level, place in ((target, one, to), (source, other, box)):
            mip = surface.resource.subresource(level)[0]
            width, height = max(1, surface.resource.width >> mip), max(1, surface.resource.height >> mip)
            if clip(place, (0, 0, width, height)) != place:
                raise CommandError.params(f"rectangle {place} of a surface of {width} x {height}")
        if target is source and one == other:
            raise CommandError.params("a stretch within one surface")
        arg = DXGI_DDI_ARG_BLT1(0, target.h_resource, source.h_resource, *to, *box, one, other)
        hr = int(await settle(self._device.dxgi.Blt1(arg)))
        if hr & 0x8000_0000:
            raise CommandError(hr, "the blit failed")

    async def surfaceblt(self, e: Any) -> None:
        """As :meth:`blt`, without stretching or converting."""
        target, source = self._texture(int(e["dwDest"])), self._texture(int(e["dwSource"]))
        to, box = rectangle(e["rDest"]), rectangle(e["rSource"])
        if target.resource.format != source.resource.format or (to[2] - to[0], to[3] - to[1]) != (box[2] - box[0], box[3] - box[1]):
            raise CommandError.params("a surface blit neither stretches nor converts")
        await self.blt(e)

    async def generate_mips(self, e: Any) -> None:
        """Every lower mip from the one above."""
        surface = self._surfaces.texture(int(e["hSurface"]))
        view = next(handles)
        self._device.views.shader_resources[view] = self._surfaces.sampling(surface, False)
        try:
            await settle(self._device.copies.GenMips(0, view))
        finally:
            del self._device.views.shader_resources[view]

    # --- fills ---------------------------------------------------------------------------------------------------------
    async def colorfill(self, e: Any) -> None:
        """An ARGB colour over a rectangle."""
        surface, view = self._surfaces.target(int(e["dwSurface"]), False)
        box = clip(rectangle(e["rRect"]), (0, 0, *surface.size))
        if box is not None:
            await self._fill(view, int(e["Color"]), [box])

    async def _fill(self, view: int, argb: int, boxes: list[Rectangle]) -> None:
        rects = [RECT(*b) for b in boxes]
        kind = D3D11DDI_HANDLETYPE.RENDERTARGETVIEW
        await settle(self._device.clears.ClearView(0, kind, view, color(argb), rects, len(rects)))

    async def clear(self, command: Command) -> None:
        """CLEAR: targets, depth, stencil, in rectangles; write masks do not matter. Raises CommandError."""
        once = command.once
        flags = int(once["dwFlags"])
        given = [rectangle(once["Rects"][0]), *(rectangle(r) for r in command.each)] if command.count else []
        await self._renderer.bind_targets()
        width, height = self._renderer.size
        whole = (0, 0, width, height)
        x, y, w, h = viewport_of(self._state, (width, height))
        bounds = clip((x, y, x + w, y + h), whole) if flags & D3DCLEAR.COMPUTERECTS else whole
        if bounds is None:
            return
        if flags & D3DCLEAR.COMPUTERECTS and not command.count:
            given = [bounds]
        boxes = [box for r in given if (box := clip(r, bounds)) is not None]
        if not boxes:
            return
        if flags & D3DCLEAR.TARGET:
            srgb = bool(self._state.render(RS.SRGBWRITEENABLE))
            for index in range(MAX_TARGETS):
                handle = self._state.get(Kind.TARGET, index)
                if handle:
                    await self._fill(self._surfaces.target(handle, srgb)[1], int(once["dwFillColor"]), boxes)
        depth = self._state.get(Kind.DEPTH)
        planes = (1 if flags & D3DCLEAR.ZBUFFER else 0) | (2 if flags & D3DCLEAR.STENCIL else 0)
        if not planes or not depth:
            return
        value, stencil = float(once["dvFillDepth"]), int(once["dwFillStencil"])
        value = min(1.0, max(0.0, value)) if value == value else 0.0
        if whole in boxes:
            view = self._surfaces.depth(depth)[1]
            await settle(self._device.clears.ClearDepthStencilView(0, view, planes, value, stencil))
        else:
            await self._draw_depth(boxes, planes, value, stencil)

    async def _draw_depth(self, boxes: list[Rectangle], planes: int, value: float, stencil: int) -> None:
        """The hardware clears depth whole; rectangles are drawn, with a state of their own."""
        state = self._state
        always, replace = int(D3DCMPFUNC.ALWAYS), int(D3DSTENCILOP.REPLACE)
        forced = {
            RS.ZENABLE: 1, RS.ZFUNC: always, RS.ZWRITEENABLE: planes & 1, RS.STENCILENABLE: planes >> 1, RS.STENCILFUNC: always,
            RS.STENCILFAIL: replace, RS.STENCILZFAIL: replace, RS.STENCILPASS: replace, RS.STENCILREF: stencil,
            RS.STENCILWRITEMASK: 0xFF, RS.TWOSIDEDSTENCILMODE: 0, RS.COLORWRITEENABLE: 0, RS.COLORWRITEENABLE1: 0,
            RS.COLORWRITEENABLE2: 0, RS.COLORWRITEENABLE3: 0, RS.CULLMODE: int(D3DCULL.NONE), RS.FILLMODE: int(D3DFILLMODE.SOLID),
            RS.ALPHATESTENABLE: 0, RS.FOGENABLE: 0, RS.SCISSORTESTENABLE: 0, RS.ZBIAS: 0, RS.DEPTHBIAS: 0,
            RS.SLOPESCALEDEPTHBIAS: 0, RS.BLENDOP: int(D3DBLENDOP.ADD), RS.MULTISAMPLEMASK: 0xFFFFFFFF, RS.ALPHABLENDENABLE: 0,
            RS.POINTSIZE: bits(1.0),
        }  # fmt: skip
        values: dict[Key, Any] = {
            **{(Kind.RENDERSTATE, int(code), 0): v for code, v in forced.items()},
            **{(Kind.STAGE, s, int(TSS.TEXTUREMAP)): 0 for s in range(D3DHAL_TSS_MAXSTAGES)},
            (Kind.PIXEL_SHADER, 0, 0): 0, (Kind.VERTEX_FUNCTION, 0, 0): 0, (Kind.VIEWPORT, 0, 0): None,
        }  # fmt: skip
        corners = [
            (x - 0.5, y - 0.5, value, 1.0)
            for left, top, right, bottom in boxes
            for x, y in ((left, top), (right, top), (left, bottom), (left, bottom), (right, top), (right, bottom))
        ]
        source = Source(small(np.array(corners, "<f4").tobytes()), 16, 0)
        with state.replaced(values):
            await self._renderer.draw(fvf_format(D3DFVF.XYZRHW), {0: source}, Primitives(Topology.TRIANGLES, 0, len(corners)))
