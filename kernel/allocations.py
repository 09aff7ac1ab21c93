"""Creation, opening and destruction of allocations and resources.

Checks what user mode asked and what the miniport answered, keeps handles and objects in step, and undoes what it did when something
fails. Handles are void at once; memory goes when nothing uses it any more. Models D3DKMTCreateAllocation, OpenResource and
DestroyAllocation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from wddm.ddi import d3dkmddi as ddi
from wddm.ddi.d3dukmdt import (
    D3DDDI_ALLOCATIONINFO_FLAGS,
    segment_preference_choices,
)
from wddm.ddi.status import NTSTATUS
from wddm.wire import thunk
from wddm.wire.channel import CallError

from .adapter import Adapter
from .errors import BugCheckCode, BugCheckError, refusal, status_of
from .objects import (
    Device,
    ExecutionState,
    InstanceHandle,
    OpenAllocation,
    OpenResource,
)
from .vidmm.allocation import Allocation, AllocationInfo, Resource
from .vidmm.segment import PAGE_SIZE, align_up

_OK: Final = NTSTATUS.STATUS_SUCCESS
_MAX_ALLOCATION: Final = 1 << 36


def check_active(adapter: Adapter, device: Device) -> None:
    """Raises CallError (STATUS_DEVICE_REMOVED or STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE) for a lost device."""
    adapter.check_running()
    if device.cause is None:
        return
    lost = device.cause.state in (ExecutionState.RESET, ExecutionState.HUNG, ExecutionState.STOPPED)
    status = NTSTATUS.STATUS_DEVICE_REMOVED if lost else NTSTATUS.STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE
    raise refusal(status, f"the device is lost: {device.cause.sentence}")


class Allocations:
    """Allocations and resources of one adapter."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.host = adapter.host
        #: Shared resources by the creator's handle.
        self.shared: dict[int, Resource] = {}

    def create_allocations(self, device: Device, message: thunk.CreateAllocation) -> thunk.AllocationsCreated:
        """D3DKMTCreateAllocation: all or nothing. Raises CallError."""
        check_active(self.adapter, device)
        if not message.allocations:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, "no allocation is asked for")
        if message.shared and not message.create_resource:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, "only resources can be shared")
        if message.create_resource and message.hResource:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, "create_resource together with an existing hResource")
        existing: OpenResource | None = None
        if message.hResource:
            existing = device.process.table.get(message.hResource, OpenResource, "hResource")
            if existing.device is not device:
                raise refusal(NTSTATUS.STATUS_INVALID_HANDLE, f"hResource {message.hResource:#x} belongs to another device")
        infos, kmd = self._ask_miniport(device, message, existing)
        hResource, resource = 0, existing
        try:
            for info in infos:
                self.adapter.vidmm.check_choices(info)
            if message.create_resource:
                resource = OpenResource(device, Resource(kmd.hResource, bytes(message.private), shared=message.shared))
                hResource = resource.handle = device.process.table.add(resource)
            handles, privates = self._open(device, infos, resource, create=True, private=bytes(message.private))
        except CallError:
            if hResource:
                device.process.table.remove(hResource)
            self._destroy_at_miniport([i.hAllocation for i in infos], kmd.hResource if message.create_resource else 0)
            raise
        if resource is not None:
            resource.resource.infos += infos
        if message.create_resource and resource is not None:
            resource.resource.opens = 1
            device.resources.append(resource)
            if message.shared:
                self.shared[hResource] = resource.resource
        return thunk.AllocationsCreated(
            hResource=hResource or message.hResource, handles=handles, privates=[bytes(p) for p in privates]
        )

    def _ask_miniport(
        self, device: Device, message: thunk.CreateAllocation, existing: OpenResource | None
    ) -> tuple[list[AllocationInfo], ddi.DXGKARG_CREATEALLOCATION]:
        asked = [
            ddi.DXGK_ALLOCATIONINFO(pPrivateDriverData=bytearray(a.private), PrivateDriverDataSize=len(a.private))
            for a in message.allocations
        ]
        in_resource = message.create_resource or existing is not None
        arguments = ddi.DXGKARG_CREATEALLOCATION(
            asked,
            len(asked),
            pPrivateDriverData=message.private or None,
            PrivateDriverDataSize=len(message.private),
            hResource=existing.resource.hResource if existing is not None else 0,
            Flags=ddi.DXGK_CREATEALLOCATIONFLAGS.Resource if in_resource else ddi.DXGK_CREATEALLOCATIONFLAGS.NONE,
        )
        for index, a in enumerate(message.allocations):
            primary = a.flags & D3DDDI_ALLOCATIONINFO_FLAGS.Primary
            if a.flags & ~int(D3DDDI_ALLOCATIONINFO_FLAGS.Primary):
                raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"allocation {index}: flags {a.flags:#x} are not supported")
            if primary:
                self.adapter.display.source(a.VidPnSourceId)
            elif a.VidPnSourceId:
                raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"allocation {index}: VidPnSourceId without the Primary flag")
        status = self.host.call("DxgkDdiCreateAllocation", self.host.hAdapter, arguments)
        if status != _OK:
            raise refusal(status, self.adapter.explain(f"the miniport created no allocation: {status_of(status).sentence}"))
        infos = [
            self._check_info(device, asked_for, answer, shared=message.shared)
            for asked_for, answer in zip(message.allocations, asked, strict=True)
        ]
        return infos, arguments

    def _check_info(
        self, device: Device, asked: thunk.AllocationInfo, answer: ddi.DXGK_ALLOCATIONINFO, *, shared: bool
    ) -> AllocationInfo:
        """What the miniport answered, or a bug check when no miniport may answer so."""
        segments = self.adapter.vidmm.segments
        supported = answer.SupportedWriteSegmentSet
        choices: dict[int, bool] = {}
        for number, from_end in segment_preference_choices(answer.PreferredSegment):
            if not supported >> (number - 1) & 1:
                raise BugCheckError(
                    BugCheckCode.VIDEO_MEMORY_MANAGEMENT_INTERNAL, 0xD, f"segment {number} is preferred but not supported"
                )
            if number in segments:
                choices.setdefault(number, from_end)
        from_end = bool(answer.Flags & ddi.DXGK_ALLOCATIONINFOFLAGS.FromEndOfSegment)
        rest = [n for n in segments if supported >> (n - 1) & 1 and n not in choices]
        for number in sorted(rest, key=lambda n: segments[n].aperture):
            choices[number] = from_end
        alignment = max(PAGE_SIZE, answer.Alignment)
        primary = bool(asked.flags & D3DDDI_ALLOCATIONINFO_FLAGS.Primary)
        if not choices or not 0 < answer.Size < _MAX_ALLOCATION or alignment % PAGE_SIZE or not answer.AllocationPriority:
            raise BugCheckError(
                BugCheckCode.VIDEO_MEMORY_MANAGEMENT_INTERNAL,
                0xD,
                f"DxgkDdiCreateAllocation answered size {answer.Size}, alignment {answer.Alignment}, segments {supported:#x},"
                f" priority {answer.AllocationPriority:#x}",
            )
        return AllocationInfo(
            answer.hAllocation,
            align_up(answer.Size, PAGE_SIZE),
            alignment,
            tuple(choices.items()),
            answer.Flags,
            answer.AllocationPriority,
            bytes(answer.pPrivateDriverData or b""),
            hDevice=0 if primary else device.hKmd,
            max_renaming=answer.MaximumRenamingListLength,
            primary=primary,
            VidPnSourceId=asked.VidPnSourceId,
            shared=shared,
        )

    def _open(
        self, device: Device, infos: Sequence[AllocationInfo], resource: OpenResource | None, *, create: bool, private: bytes
    ) -> tuple[list[int], list[bytes]]:
        """DxgkDdiOpenAllocation for a device: handles, and private data as the miniport left it. Raises CallError."""
        table = device.process.table
        instances: list[InstanceHandle] = []
        try:
            for info in infos:
                opened = OpenAllocation(device, info, 0, resource)
                allocation = info.shared_instance or self.adapter.vidmm.add(info)
                instance = InstanceHandle(opened, allocation)
                instance.handle = table.add(instance)
                opened.instances.append(instance)
                instances.append(instance)
            asked = [
                ddi.DXGK_OPENALLOCATIONINFO(i.handle, bytearray(i.opened.info.private), len(i.opened.info.private))
                for i in instances
            ]
            self.adapter.opening = {i.handle: i.opened.info for i in instances}
            flags = ddi.DXGK_OPENALLOCATIONFLAGS.Create if create else ddi.DXGK_OPENALLOCATIONFLAGS.NONE
            arguments = ddi.DXGKARG_OPENALLOCATION(asked, len(asked), private or None, len(private), flags)
            status = self.host.call("DxgkDdiOpenAllocation", device.hKmd, arguments)
            self.adapter.opening = {}
            if status != _OK:
                raise refusal(status, f"the miniport did not open the allocations: {status_of(status).sentence}")
        except CallError:
            for instance in instances:
                table.remove(instance.handle)
                if instance.opened.info.shared_instance is None:
                    self.adapter.vidmm.destroy(instance.allocation)
            raise
        for instance, answer in zip(instances, asked, strict=True):
            instance.opened.hDeviceSpecific = answer.hDeviceSpecificAllocation
            if instance.opened.info.shared:
                instance.opened.info.shared_instance = instance.allocation
            device.allocations.append(instance.opened)
            if resource is not None:
                resource.allocations.append(instance.opened)
        return [i.handle for i in instances], [bytes(a.pPrivateDriverData or b"") for a in asked]

    def open_resource(self, device: Device, hGlobalShare: int) -> thunk.SharedOpened:
        """D3DKMTOpenResource. Raises CallError."""
        check_active(self.adapter, device)
        resource = self.shared.get(hGlobalShare)
        if resource is None:
            raise refusal(NTSTATUS.STATUS_INVALID_HANDLE, f"hGlobalShare {hGlobalShare:#x} names no shared resource")
        opened = OpenResource(device, resource, creator=False)
        opened.handle = device.process.table.add(opened)
        try:
            handles, privates = self._open(device, resource.infos, opened, create=False, private=resource.private)
        except CallError:
            device.process.table.remove(opened.handle)
            raise
        resource.opens += 1
        device.resources.append(opened)
        return thunk.SharedOpened(hResource=opened.handle, private=resource.private, handles=handles, privates=privates)

    # ----- destruction -------------------------------------------------------------------------------------------------------

    def destroy_resource(self, opened: OpenResource) -> None:
        """The resource and its allocations, as far as this device is concerned."""
        opened.device.process.table.remove(opened.handle)
        opened.device.resources.remove(opened)
        resource = opened.resource
        resource.opens -= 1
        if resource.opens == 0:
            for handle in [h for h, r in self.shared.items() if r is resource]:
                del self.shared[handle]
        self.destroy_opened(list(opened.allocations), resource if resource.opens == 0 else None)

    def destroy_opened(self, opened: list[OpenAllocation], resource: Resource | None = None) -> None:
        """Handles are void at once; memory and the miniport's objects go when nothing uses them any more."""
        gone: list[Allocation] = []
        for one in opened:
            one.destroyed = True
            one.device.allocations.remove(one)
            if one.resource is not None:
                one.resource.allocations.remove(one)
            for instance in one.instances:
                one.device.process.table.remove(instance.handle)
                instance.allocation.locks -= instance.locks
                instance.locks = 0
                gone.append(instance.allocation)

        def finish() -> None:
            by_device: dict[int, list[int]] = {}
            for one in opened:
                by_device.setdefault(one.device.hKmd, []).append(one.hDeviceSpecific)
            for hDevice, handles in by_device.items():
                arguments = ddi.DXGKARG_CLOSEALLOCATION(handles, len(handles))
                self.host.call("DxgkDdiCloseAllocation", hDevice, arguments)
            # A shared allocation lives until the last device has closed its resource.
            last = [one.info for one in opened if not one.info.shared]
            leaving = [i.allocation for one in opened if not one.info.shared for i in one.instances]
            if resource is not None:
                shared = [info for info in resource.infos if info.shared]
                last += shared
                leaving += [info.shared_instance for info in shared if info.shared_instance is not None]
            for allocation in leaving:
                self.adapter.vidmm.destroy(allocation)
            if last or resource is not None:
                self._destroy_at_miniport(
                    [info.hAllocation for info in last], resource.hResource if resource is not None else 0
                )

        self.adapter.dying.append((gone, finish))

    def _destroy_at_miniport(self, handles: list[int], hResource: int) -> None:
        flags = ddi.DXGK_DESTROYALLOCATIONFLAGS
        arguments = ddi.DXGKARG_DESTROYALLOCATION(
            handles, len(handles), hResource, flags.DestroyResource if hResource else flags.NONE
        )
        self.host.call("DxgkDdiDestroyAllocation", self.host.hAdapter, arguments)
