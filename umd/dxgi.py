"""The DXGI entries: present, blits, rotation of back buffers, residency, offer and reclaim.

Models the ``dxgiddi`` pages. Every entry takes one argument structure and returns an HRESULT (or an awaitable of one). A present
first submits what was recorded, then calls the DXGI callback exactly once, from inside the entry, with the runtime's context
pointer unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import isawaitable
from typing import Any

import numpy as np

from umd.callbacks import failed
from umd.command_buffer import packet
from umd.copy import CopyFunctions, copy_bytes, set_surface
from umd.core import Core
from umd.errors import DeviceError
from umd.memory import Allocation, Request
from umd.resource import Resource, ResourceFunctions
from umd.view import single
from wddm.ddi.d3dukmdt import D3DDDI_RESIDENCYSTATUS
from wddm.ddi.d3dumddi import (
    D3DDDICB_OFFERALLOCATIONS,
    D3DDDICB_QUERYRESIDENCY,
    D3DDDICB_RECLAIMALLOCATIONS,
    D3DDDICB_SETDISPLAYMODE,
    D3DDDICB_SETPRIORITY,
)
from wddm.ddi.dxgiddi import (
    DXGI_DDI_ARG_BLT,
    DXGI_DDI_ARG_BLT1,
    DXGI_DDI_ARG_BLT_FLAGS,
    DXGI_DDI_ARG_GET_GAMMA_CONTROL_CAPS,
    DXGI_DDI_ARG_OFFERRESOURCES,
    DXGI_DDI_ARG_PRESENT,
    DXGI_DDI_ARG_PRESENT1,
    DXGI_DDI_ARG_QUERYRESOURCERESIDENCY,
    DXGI_DDI_ARG_RECLAIMRESOURCES,
    DXGI_DDI_ARG_RESOLVESHAREDRESOURCE,
    DXGI_DDI_ARG_ROTATE_RESOURCE_IDENTITIES,
    DXGI_DDI_ARG_SETDISPLAYMODE,
    DXGI_DDI_ARG_SETRESOURCEPRIORITY,
    DXGI_DDI_BASE_CALLBACKS,
    DXGI_DDI_MODE_ROTATION,
    DXGI_DDI_RESIDENCY,
    DXGIDDICB_PRESENT,
)
from wddm.ddi.status import HRESULT
from wddm.hw.descriptors import View as Descriptor
from wddm.hw.descriptors import ViewDimension
from wddm.hw.driver import AllocationFlag, AllocationKind
from wddm.hw.formats import Format
from wddm.hw.layout import surface_layout
from wddm.hw.packets import Op

S_OK = int(HRESULT.S_OK)
FLAGS = DXGI_DDI_ARG_BLT_FLAGS
_RESIDENCY = {
    D3DDDI_RESIDENCYSTATUS.RESIDENTINGPUMEMORY: DXGI_DDI_RESIDENCY.FULLY_RESIDENT,
    D3DDDI_RESIDENCYSTATUS.RESIDENTINSHAREDMEMORY: DXGI_DDI_RESIDENCY.RESIDENT_IN_SHARED_MEMORY,
    D3DDDI_RESIDENCYSTATUS.NOTRESIDENT: DXGI_DDI_RESIDENCY.EVICTED_TO_DISK,
}
_TURNS = {
    DXGI_DDI_MODE_ROTATION.UNSPECIFIED: 0,
    DXGI_DDI_MODE_ROTATION.IDENTITY: 0,
    DXGI_DDI_MODE_ROTATION.ROTATE90: 1,
    DXGI_DDI_MODE_ROTATION.ROTATE180: 2,
    DXGI_DDI_MODE_ROTATION.ROTATE270: 3,
}
#: Entries of the head's gamma ramp.
GAMMA_POINTS = 256
#: Attempts at a primary whose private format the kernel wants converted.
MAX_MODE_ATTEMPTS = 4


class DxgiFunctions:
    """Entries of the DXGI tables, by their names without ``pfn``."""

    def __init__(
        self, core: Core, resources: ResourceFunctions, copies: CopyFunctions, callbacks: DXGI_DDI_BASE_CALLBACKS
    ) -> None:
        self.core = core
        self.resources = resources
        self.copies = copies
        self.callbacks = callbacks  # the table: the runtime may replace entries

    # --- present -------------------------------------------------------------------------------------------------------
    def Present(self, arg: DXGI_DDI_ARG_PRESENT) -> Any:
        source = self.resources.get(arg.hSurfaceToPresent)
        source.subresource(arg.SrcSubResourceIndex)
        return self._present(source, arg.hDstResource, arg.pDXGIContext)

    def Present1(self, arg: DXGI_DDI_ARG_PRESENT1) -> Any:
        if arg.SurfacesToPresent < 1 or arg.SurfacesToPresent > len(arg.phSurfacesToPresent):
            raise DeviceError.invalid(f"present of {arg.SurfacesToPresent} surfaces")
        sources = [self.resources.get(s.hSurface) for s in arg.phSurfacesToPresent[: arg.SurfacesToPresent]]
        # Of several surfaces only the last one is shown; a destination goes with a single one.
        destination = arg.hDstResource if arg.SurfacesToPresent == 1 else 0
        return self._present(sources[-1], destination, arg.pDXGIContext)

    def _present(self, source: Resource, h_destination: int, context: object) -> Any:
        destination = self.resources.get(h_destination).placed.handle if h_destination else 0
        pending = self.core.flush()
        call = DXGIDDICB_PRESENT(source.placed.handle, self.core.batch.h_context, destination, context)
        if pending is not None:
            return self._present_after(pending, call)
        return self._call_present(call)

    async def _present_after(self, pending: Any, call: DXGIDDICB_PRESENT) -> int:
        await pending
        hr = self._call_present(call)
        return int(await hr if isawaitable(hr) else hr)

    def _call_present(self, call: DXGIDDICB_PRESENT) -> Any:
        callback = self.callbacks.pfnPresentCb
        if callback is None:
            raise DeviceError(HRESULT.E_NOTIMPL, "the runtime has no pfnPresentCb")
        return callback(self.core.callbacks.h_rt_device, call)

    # --- display -------------------------------------------------------------------------------------------------------
    def GetGammaCaps(self, arg: DXGI_DDI_ARG_GET_GAMMA_CONTROL_CAPS) -> int:
        caps = arg.pGammaCapabilities
        caps.ScaleAndOffsetSupported = False
        caps.MinConvertedValue, caps.MaxConvertedValue = 0.0, 1.0
        caps.NumGammaControlPoints = GAMMA_POINTS
        caps.ControlPointPositions[:GAMMA_POINTS] = np.linspace(0.0, 1.0, GAMMA_POINTS, dtype=np.float32)
        return S_OK

    async def SetDisplayMode(self, arg: DXGI_DDI_ARG_SETDISPLAYMODE) -> int:
        r = self.resources.get(arg.hResource)
        r.subresource(arg.SubResourceIndex)
        call = D3DDDICB_SETDISPLAYMODE(r.placed.handle)
        hr = S_OK
        for _ in range(MAX_MODE_ATTEMPTS):
            answer = self.core.callbacks.start("pfnSetDisplayModeCb", call)
            hr = int(await answer if isawaitable(answer) else answer)
            if hr != HRESULT.D3DDDIERR_INCOMPATIBLEPRIVATEFORMAT:
                return hr
            # There is one format attribute, 0, and every primary has it: the primary is as wanted, ask again.
        return hr

    # --- memory --------------------------------------------------------------------------------------------------------
    def SetResourcePriority(self, arg: DXGI_DDI_ARG_SETRESOURCEPRIORITY) -> Any:
        handles = [a.handle for a in self.resources.get(arg.hResource).instances]
        if not handles:
            return S_OK  # its content is a slice of the driver's own memory
        call = D3DDDICB_SETPRIORITY([arg.Priority] * len(handles), NumAllocations=len(handles), HandleList=handles)
        return self.core.callbacks.start("pfnSetPriorityCb", call)

    async def QueryResourceResidency(self, arg: DXGI_DDI_ARG_QUERYRESOURCERESIDENCY) -> int:
        allocations = [self._rendered(h) for h in arg.pResources[: arg.Resources]]
        handles = [a.handle for a in allocations if a is not None]
        call = D3DDDICB_QUERYRESIDENCY(NumAllocations=len(handles), HandleList=handles)
        if handles:
            hr = self.core.callbacks.start("pfnQueryResidencyCb", call)
            hr = int(await hr if isawaitable(hr) else hr)
            if failed(hr):
                return hr
        states = iter(call.pResidencyStatus)
        found = [
            D3DDDI_RESIDENCYSTATUS.RESIDENTINSHAREDMEMORY if a is None else D3DDDI_RESIDENCYSTATUS(next(states))
            for a in allocations
        ]
        arg.pStatus[:] = [_RESIDENCY[s] for s in found]
        if D3DDDI_RESIDENCYSTATUS.NOTRESIDENT in found:
            return int(HRESULT.S_NOT_RESIDENT)
        if D3DDDI_RESIDENCYSTATUS.RESIDENTINSHAREDMEMORY in found:
            return int(HRESULT.S_RESIDENT_IN_SHARED_MEMORY)
        return S_OK

    def _rendered(self, h: int) -> Allocation | None:
        """The allocation that an application would draw with now."""
        r = self.resources.get(h)
        return None if r.renamed else r.allocation

    def _handles(self, resources: Sequence[int]) -> list[int]:
        return [a.handle for h in resources for a in self.resources.get(h).instances]

    def OfferResources(self, arg: DXGI_DDI_ARG_OFFERRESOURCES) -> Any:
        resources = [self.resources.get(h) for h in arg.pResources[: arg.Resources]]
        handles = self._handles(arg.pResources[: arg.Resources])
        if not handles:
            return S_OK
        # What is recorded with them must be on its way before their memory may be taken.
        serial = self.core.batch.serial
        pending = None
        if any(a.batch == serial for r in resources for a in r.instances):
            pending = self.core.flush()
        call = D3DDDICB_OFFERALLOCATIONS(len(handles), arg.Priority, HandleList=handles)
        if pending is not None:
            return self._offer_after(pending, call)
        return self.core.callbacks.start("pfnOfferAllocationsCb", call)

    OfferResources1 = OfferResources

    async def _offer_after(self, pending: Any, call: D3DDDICB_OFFERALLOCATIONS) -> int:
        await pending
        hr = self.core.callbacks.start("pfnOfferAllocationsCb", call)
        return int(await hr if isawaitable(hr) else hr)

    async def ReclaimResources(self, arg: DXGI_DDI_ARG_RECLAIMRESOURCES) -> int:
        counts = [len(self.resources.get(h).instances) for h in arg.pResources[: arg.Resources]]
        handles = self._handles(arg.pResources[: arg.Resources])
        lost: list[bool] = []
        if handles:
            lost = [False] * len(handles)
            call = D3DDDICB_RECLAIMALLOCATIONS(len(handles), HandleList=handles, pDiscarded=lost)
            hr = self.core.callbacks.start("pfnReclaimAllocationsCb", call)
            hr = int(await hr if isawaitable(hr) else hr)
            if failed(hr):
                return hr
            lost = call.pDiscarded if call.pDiscarded is not None else lost
        if arg.pDiscarded is not None:
            at = 0
            answers = []
            for count in counts:
                answers.append(any(lost[at : at + count]))
                at += count
            arg.pDiscarded[:] = answers
        return S_OK

    def ResolveSharedResource(self, arg: DXGI_DDI_ARG_RESOLVESHAREDRESOURCE) -> Any:
        allocation = self.resources.get(arg.hResource).allocation
        if allocation is None or allocation.batch != self.core.batch.serial:
            return S_OK
        pending = self.core.flush()
        return S_OK if pending is None else _ok_after(pending)

    # --- rotation ------------------------------------------------------------------------------------------------------
    def RotateResourceIdentities(self, arg: DXGI_DDI_ARG_ROTATE_RESOURCE_IDENTITIES) -> int:
        resources = [self.resources.get(h) for h in arg.pResources[: arg.Resources]]
        if any(r.layout is None or r.layout != resources[0].layout for r in resources):
            raise DeviceError.invalid("rotation between resources of different shape")
        states = [(r.allocation, r.offset, r.instances, r.primary) for r in resources]
        for r, (allocation, offset, instances, primary) in zip(resources, states[1:] + states[:1], strict=True):
            r.allocation, r.offset, r.instances, r.primary = allocation, offset, instances, primary
            # Views keep their resource; whatever is bound names the new allocation from here on.
            self.core.moved(r)
        return S_OK

    # --- blits ---------------------------------------------------------------------------------------------------------
    def Blt(self, arg: DXGI_DDI_ARG_BLT) -> Any:
        source = self.resources.get(arg.hSrcResource)
        assert source.layout is not None
        part = source.layout[source.subresource(arg.SrcSubresource)]
        return self._blt(arg, source, (0, 0, part.width, part.height))

    def Blt1(self, arg: DXGI_DDI_ARG_BLT1) -> Any:
        return self._blt(
            arg, self.resources.get(arg.hSrcResource), (arg.SrcLeft, arg.SrcTop, arg.SrcRight, arg.SrcBottom)
        )

    def _blt(self, arg: DXGI_DDI_ARG_BLT | DXGI_DDI_ARG_BLT1, source: Resource, box: tuple[int, int, int, int]) -> Any:
        target = self.resources.get(arg.hDstResource)
        turns = _TURNS[DXGI_DDI_MODE_ROTATION(int(arg.Rotate))]
        core = self.core
        if source.layout is None or target.layout is None:
            raise DeviceError.invalid("a blit is between 2D textures")
        if source.samples > 1 and target.samples == source.samples and not arg.Flags & ~FLAGS.Present and not turns:
            # Between equal multisampled surfaces a plain copy of the samples.
            goal = target.layout[target.subresource(arg.DstSubresource)]
            part = source.layout[source.subresource(arg.SrcSubresource)]
            if goal.size != part.size:
                raise DeviceError.invalid("a copy between multisampled surfaces of different size")
            pending = core.perform(lambda: copy_bytes(core, target, goal.offset, source, part.offset, part.size))
            return S_OK if pending is None else _ok_after(pending)
        rectangle = (arg.DstLeft, arg.DstTop, arg.DstRight, arg.DstBottom)
        if min(*rectangle, *box) < 0 or max(*rectangle, *box) > 0xFFFF:
            raise DeviceError.invalid(f"blit from {box} to {rectangle}")
        left, top, right, bottom = rectangle
        words = (
            left | top << 16,
            right | bottom << 16,
            box[0] | box[1] << 16,
            box[2] | box[3] << 16,
            turns,
        )
        if source.samples > 1:
            if target.samples > 1:
                raise DeviceError(HRESULT.DXGI_DDI_ERR_UNSUPPORTED, "a converting blit to a multisampled surface")
            return self._resolve_and_blt(arg, source, target, words)
        # DXGI blits between sRGB and plain formats copy stored values: both are seen without decoding.
        from_format, to_format = _stored_values(source.format, target.format)
        pending = core.perform(
            lambda: _record_blt(core, target, arg.DstSubresource, to_format, source, arg.SrcSubresource, from_format, words)
        )
        return S_OK if pending is None else _ok_after(pending)

    async def _resolve_and_blt(
        self, arg: DXGI_DDI_ARG_BLT | DXGI_DDI_ARG_BLT1, source: Resource, target: Resource, words: tuple[int, ...]
    ) -> int:
        """Resolve into a surface of the driver's own first: the destination must never show a half-done blit."""
        core = self.core
        assert source.layout is not None
        layout = surface_layout(Format(source.format), source.width, source.height)
        fields = (("format", source.format), ("width", source.width), ("height", source.height), ("depth", 1), ("mips", 1))
        flags = AllocationFlag.RENDER_TARGET
        request = Request(layout.size, AllocationKind.TEXTURE, flags, (*fields, ("slices", 1), ("samples", 1)))
        scratch, _ = await core.memory.allocate(request)
        between = Descriptor(ViewDimension.TEXTURE2D, source.format, source.width, source.height)
        flat = Resource(source.dimension, source.format, 0, 0, 0, 0, 0)
        flat.width, flat.height, flat.size, flat.layout, flat.allocation = (
            source.width, source.height, layout.size, layout, scratch,
        )  # fmt: skip
        from_format, to_format = _stored_values(source.format, target.format)

        def record() -> None:
            set_surface(core, 0, flat, between)
            set_surface(core, 1, source, single(source, arg.SrcSubresource))
            core.batch.add(packet(Op.RESOLVE, arg=source.format))
            _record_blt(core, target, arg.DstSubresource, to_format, flat, 0, from_format, words)

        pending = core.perform(record)
        if pending is not None:
            await pending
        core.memory.destroy(scratch)
        return S_OK


def _record_blt(
    core: Core,
    target: Resource,
    target_subresource: int,
    to_format: int,
    source: Resource,
    source_subresource: int,
    from_format: int,
    words: tuple[int, ...],
) -> None:
    set_surface(core, 0, target, single(target, target_subresource, to_format))
    set_surface(core, 1, source, single(source, source_subresource, from_format))
    core.batch.add(packet(Op.BLT, data=words))


_PLAIN = {
    Format.R8G8B8A8_UNORM_SRGB: Format.R8G8B8A8_UNORM,
    Format.B8G8R8A8_UNORM_SRGB: Format.B8G8R8A8_UNORM,
    Format.B8G8R8X8_UNORM_SRGB: Format.B8G8R8X8_UNORM,
}
_ENCODED = {plain: srgb for srgb, plain in _PLAIN.items()}


def _stored_values(source: int, target: int) -> tuple[int, int]:
    """Formats to read and write with. Between integer formats stored values pass unchanged; between a float and an integer format
    the integer side is gamma encoded (linear float data)."""
    source_float = source == Format.R16G16B16A16_FLOAT
    target_float = target == Format.R16G16B16A16_FLOAT
    if source_float == target_float:
        return int(_PLAIN.get(Format(source), source)), int(_PLAIN.get(Format(target), target))
    return int(_ENCODED.get(Format(source), source)), int(_ENCODED.get(Format(target), target))


async def _ok_after(pending: Any) -> int:
    await pending
    return S_OK
