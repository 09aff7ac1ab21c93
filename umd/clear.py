"""Clears of every kind of view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from umd.command_buffer import packet
from umd.copy import set_surface
from umd.core import Core, Pending
from umd.emit import slot_id
from umd.errors import DeviceError
from umd.view import View, ViewFunctions
from wddm.ddi.d3d10umddi import D3D11DDI_HANDLETYPE
from wddm.hw.descriptors import ViewDimension, float_bits
from wddm.hw.packets import ClearKind, Op


class ClearFunctions:
    """Entries that clear."""

    def __init__(self, core: Core, views: ViewFunctions) -> None:
        self.core = core
        self.views = views

    def _clear(self, view: View, data: tuple[int, ...], kind: int) -> Pending:
        core = self.core

        def record() -> None:
            set_surface(core, 0, view.resource, view.descriptor)
            core.batch.add(packet(Op.CLEAR_COLOR, arg=kind, data=data))

        return core.perform(record)

    def ClearRenderTargetView(self, hDevice: int, hView: int, ColorRGBA: Sequence[float]) -> Pending:
        view = self.views.render_targets.get(hView)
        if view is None:
            raise DeviceError.invalid(f"no render target view {hView:#x}")
        return self._clear(view, tuple(float_bits(c) for c in ColorRGBA), ClearKind.FLOAT)

    def ClearDepthStencilView(self, hDevice: int, hView: int, Flags: int, Depth: float, Stencil: int) -> Pending:
        view = self.views.depth_stencils.get(hView)
        if view is None:
            raise DeviceError.invalid(f"no depth stencil view {hView:#x}")
        core = self.core

        def record() -> None:
            set_surface(core, 0, view.resource, view.descriptor)
            core.batch.add(packet(Op.CLEAR_DEPTH_STENCIL, arg=int(Flags) & 3, data=(float_bits(Depth), Stencil & 0xFF)))

        return core.perform(record)

    def ClearUnorderedAccessViewUint(self, hDevice: int, hView: int, Values: Sequence[int]) -> Pending:
        view = self._unordered(hView)
        words = tuple(v & 0xFFFFFFFF for v in Values)
        descriptor = view.descriptor
        if descriptor.dimension not in (ViewDimension.RAW_BUFFER, ViewDimension.STRUCTURED_BUFFER):
            return self._clear(view, words, ClearKind.UINT)
        # Raw and structured views are filled dword by dword with the first value.
        r, core = view.resource, self.core
        unit = descriptor.stride or 4
        first = descriptor.height * unit
        size = min(descriptor.width * unit, r.size - first) & -4
        if size <= 0:
            return None
        data = packet(Op.FILL_BUFFER, extent=size, data=words[:1])
        return core.perform(
            lambda: core.batch.add_at(data, slot_id(Op.FILL_BUFFER, 0), r.placed, r.offset + first, True)
        )

    def ClearUnorderedAccessViewFloat(self, hDevice: int, hView: int, Values: Sequence[float]) -> Pending:
        view = self._unordered(hView)
        return self._clear(view, tuple(float_bits(v) for v in Values), ClearKind.FLOAT)

    def _unordered(self, hView: int) -> View:
        view = self.views.unordered.get(hView)
        if view is None:
            raise DeviceError.invalid(f"no unordered access view {hView:#x}")
        return view

    def ClearView(
        self, hDevice: int, HandleType: int, hView: int, Color: Sequence[float], pRects: Sequence[Any], NumRects: int
    ) -> Pending:
        """11.1: rectangles of a render target or of a typed unordered access view; without rectangles all of it."""
        if HandleType == D3D11DDI_HANDLETYPE.RENDERTARGETVIEW:
            view = self.views.render_targets.get(hView)
        else:
            view = self.views.unordered.get(hView)
        if view is None:
            raise DeviceError.invalid(f"no view {hView:#x} of kind {HandleType}")
        color = tuple(float_bits(c) for c in Color)
        if not NumRects:
            return self._clear(view, color, ClearKind.FLOAT)
        core, shown = self.core, view
        boxes = [
            tuple(max(0, v) for v in (r.left, r.top, r.right, r.bottom))
            for r in pRects[:NumRects]
            if r.right > max(0, r.left) and r.bottom > max(0, r.top)
        ]

        def record() -> None:
            set_surface(core, 0, shown.resource, shown.descriptor)
            for box in boxes:
                core.batch.add(packet(Op.CLEAR_COLOR, arg=ClearKind.RECTANGLE, data=(*color, *box)))

        return core.perform(record) if boxes else None

    def Discard(self, hDevice: int, HandleType: int, h: int, pRects: Sequence[Any], NumRects: int) -> None:
        """11.1: the content may become anything, so keeping it is right."""
