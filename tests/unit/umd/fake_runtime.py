"""A runtime and a kernel that only write down what the driver does, and check its command buffers as the miniport would.

The GPU is a number: :meth:`FakeRuntime.complete` says how far it is. Every submission is checked with the miniport's own rules for
packets and patch locations against the allocations' real sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any

import numpy as np

from miniport.render import check_packets, check_patches
from umd.adapter import OpenAdapter10_2
from wddm.ddi import d3d10umddi as d3d
from wddm.ddi.d3dkmddi import DXGK_ALLOCATIONLIST_DTYPE
from wddm.ddi.d3dukmdt import D3DDDI_ALLOCATIONLIST_DTYPE, D3DDDI_PATCHLOCATIONLIST_DTYPE, D3DDDI_RESIDENCYSTATUS
from wddm.ddi.d3dumddi import D3DDDI_ADAPTERCALLBACKS, D3DDDI_DEVICECALLBACKS
from wddm.ddi.dxgiddi import DXGI1_2_DDI_BASE_FUNCTIONS, DXGI_DDI_BASE_ARGS, DXGI_DDI_BASE_CALLBACKS
from wddm.hw.driver import ADAPTER_PRIVATE, ALLOCATION_PRIVATE, AllocationFlag, private_record, read_private
from wddm.hw.packets import PACKET, Op
from wddm.hw.registers import INTERFACE_VERSION

H_RT_DEVICE, H_DEVICE, H_CORE_LAYER = 0x77, 0x1000, 0x99


@dataclass
class Submission:
    """What one pfnRenderCb carried."""

    packets: Any
    allocations: Any  #: D3DDDI_ALLOCATIONLIST rows
    patches: Any
    fence: int = 0

    @property
    def ops(self) -> list[Op]:
        return [Op(int(o)) for o in self.packets["op"]]

    def patched(self, packet: int, second: bool = False) -> tuple[int, int]:
        """(allocation handle, offset) of an address of a packet."""
        offset = packet * 64 + (24 if second else 8)
        row = self.patches[self.patches["PatchOffset"] == offset]
        assert len(row) == 1, f"packet {packet} has {len(row)} patches"
        return int(self.allocations["hAllocation"][row["AllocationIndex"][0]]), int(row["AllocationOffset"][0])


@dataclass
class FakeAllocation:
    size: int
    flags: AllocationFlag
    pages: Any
    private: Any
    h_resource: int = 0
    primary: bool = False


@dataclass
class FakeRuntime:
    command_bytes: int = 64 * 1024
    list_size: int = 256
    local_size: int = 64 << 20
    auto_complete: bool = False
    errors: list[int] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    submissions: list[Submission] = field(default_factory=list)
    allocations: dict[int, FakeAllocation] = field(default_factory=dict)
    freed: list[int] = field(default_factory=list)
    presents: list[Any] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    amortized: int = 0
    full_queue: bool = False
    render_result: int = 0
    fail_allocate: int = 0
    interface: int = d3d.DDI_VERSION.D3D11_0

    def __post_init__(self) -> None:
        self.fence = np.zeros(1, np.uint64)
        self.next_handle = 0x40
        self.command = np.zeros(self.command_bytes, np.uint8)
        self.allocation_list = np.zeros(self.list_size, D3DDDI_ALLOCATIONLIST_DTYPE)
        self.patch_list = np.zeros(self.list_size * 8, D3DDDI_PATCHLOCATIONLIST_DTYPE)
        self.f: Any = d3d.device_funcs_class(self.interface)()
        self.dxgi: Any = DXGI1_2_DDI_BASE_FUNCTIONS()
        self.handles = iter(range(0x100, 0x100000))

    # --- the kernel's side ---------------------------------------------------------------------------------------------
    async def allocate(self, h: int, arg: Any) -> int:
        assert h == H_RT_DEVICE
        if self.fail_allocate:
            return self.fail_allocate
        for info in arg.pAllocationInfo:
            record = read_private(ALLOCATION_PRIVATE, info.pPrivateDriverData)
            self.next_handle += 0x40
            info.hAllocation = self.next_handle
            size = int(record["size"])
            flags = AllocationFlag(int(record["flags"]))
            pages = np.zeros((size + 4095) & -4096, np.uint8)
            self.allocations[self.next_handle] = FakeAllocation(size, flags, pages, record, arg.hResource, bool(info.Flags))
        arg.hKMResource = 0xAAA if arg.hResource else 0
        self.log.append("allocate")
        return 0

    def deallocate(self, h: int, arg: Any) -> int:
        handles = list(arg.HandleList)
        if arg.hResource:
            handles += [k for k, a in self.allocations.items() if a.h_resource == arg.hResource]
        for handle in handles:
            del self.allocations[handle]
            self.freed.append(handle)
        self.log.append("deallocate")
        return 0

    async def lock(self, h: int, arg: Any) -> int:
        assert self.allocations[arg.hAllocation].flags & AllocationFlag.CPU_ACCESS
        arg.pData = self.allocations[arg.hAllocation].pages
        return 0

    async def create_context(self, h: int, arg: Any) -> int:
        arg.hContext = 0xC0
        arg.pCommandBuffer, arg.CommandBufferSize = self.command, self.command.nbytes
        arg.pAllocationList, arg.AllocationListSize = self.allocation_list, len(self.allocation_list)
        arg.pPatchLocationList, arg.PatchLocationListSize = self.patch_list, len(self.patch_list)
        return 0

    async def create_sync(self, h: int, arg: Any) -> int:
        arg.hSyncObject = 0x51
        view = self.fence.view()
        view.flags.writeable = False
        arg.Info.MonitoredFence.FenceValueCPUVirtualAddress = view
        return 0

    def render(self, h: int, arg: Any) -> Any:
        assert arg.hContext == 0xC0
        packets = self.command[: arg.CommandLength].copy().view(PACKET)
        allocations = self.allocation_list[: arg.NumAllocations].copy()
        patches = self.patch_list[: arg.NumPatchLocations].copy()
        self._check(packets, allocations, patches)
        self.submissions.append(Submission(packets, allocations, patches))
        self.command[:] = 0xEE  # what the driver wrote is not its own any more
        self.allocation_list["hAllocation"] = 0xEEEE
        arg.pNewCommandBuffer, arg.pNewAllocationList = self.command, self.allocation_list
        arg.pNewPatchLocationList = self.patch_list
        self.log.append("render")
        if self.full_queue:
            return self._later()
        return self.render_result

    async def _later(self) -> int:
        self.log.append("render waited")
        return self.render_result

    def _check(self, packets: Any, allocations: Any, patches: Any) -> None:
        assert allocations["hAllocation"][0] == 0, "element 0 is the NULL element"
        handles = allocations["hAllocation"].tolist()
        assert len(set(handles)) == len(handles), "an allocation is listed once"
        sizes = np.array([0] + [self.allocations[h].size for h in handles[1:]], np.uint64)
        listed = np.zeros(len(allocations), DXGK_ALLOCATIONLIST_DTYPE)
        listed["hDeviceSpecificAllocation"] = allocations["hAllocation"]
        listed["Value"] = allocations["Value"]
        op = check_packets(packets)
        check_patches(packets, op, patches, listed, sizes)

    def signal(self, h: int, arg: Any) -> int:
        self.submissions[-1].fence = arg.FenceValue
        if self.auto_complete:
            self.complete()
        return 0

    async def wait(self, h: int, arg: Any) -> int:
        self.waits.append(arg.FenceValueArray[0])
        assert any(s.fence >= arg.FenceValueArray[0] for s in self.submissions), "waits for what was never submitted"
        self.fence[0] = max(int(self.fence[0]), arg.FenceValueArray[0])
        return 0

    def complete(self, upto: int | None = None) -> None:
        """The GPU is done with everything that was submitted (or up to a fence value)."""
        last = max((s.fence for s in self.submissions), default=0)
        self.fence[0] = last if upto is None else upto

    async def query_adapter(self, h: int, arg: Any) -> int:
        data = private_record(
            ADAPTER_PRIVATE, interface_version=INTERFACE_VERSION, local_size=self.local_size, aperture_size=1 << 28, node_count=2
        )
        arg.pPrivateDriverData[:] = data
        return 0

    async def query_residency(self, h: int, arg: Any) -> int:
        arg.pResidencyStatus[:] = [D3DDDI_RESIDENCYSTATUS.RESIDENTINGPUMEMORY] * arg.NumAllocations
        return 0

    # --- start ---------------------------------------------------------------------------------------------------------
    async def start(self) -> FakeRuntime:
        """Open the adapter and make a device, as d3d11-ddi-init tells."""
        adapter_funcs = d3d.D3D10_2DDI_ADAPTERFUNCS()
        open_arg = d3d.D3D10DDIARG_OPENADAPTER(
            1, 0, 0, D3DDDI_ADAPTERCALLBACKS(pfnQueryAdapterInfoCb=self.query_adapter), pAdapterFuncs_2=adapter_funcs
        )
        assert await OpenAdapter10_2(open_arg) == 0
        self.adapter = adapter_funcs
        self.h_adapter = open_arg.hAdapter
        kt = D3DDDI_DEVICECALLBACKS(
            pfnAllocateCb=self.allocate,
            pfnDeallocateCb=self.deallocate,
            pfnLockCb=self.lock,
            pfnUnlockCb=lambda h, arg: 0,
            pfnCreateContextCb=self.create_context,
            pfnDestroyContextCb=self._ok("destroy context"),
            pfnCreateSynchronizationObject2Cb=self.create_sync,
            pfnDestroySynchronizationObjectCb=self._ok("destroy sync"),
            pfnRenderCb=self.render,
            pfnSignalSynchronizationObject2Cb=self.signal,
            pfnWaitForSynchronizationObjectFromCpuCb=self.wait,
            pfnSetPriorityCb=lambda h, arg: 0,
            pfnQueryResidencyCb=self.query_residency,
            pfnOfferAllocationsCb=lambda h, arg: self.log.append("offer") or 0,
            pfnReclaimAllocationsCb=self._ok("reclaim"),
            pfnSetDisplayModeCb=self._ok("set display mode"),
        )  # type: ignore[arg-type]
        core_layer = d3d.D3D11DDI_CORELAYER_DEVICECALLBACKS(
            pfnSetErrorCb=self._error, pfnPerformAmortizedProcessingCb=self._amortize
        )
        base = DXGI_DDI_BASE_ARGS(DXGI_DDI_BASE_CALLBACKS(pfnPresentCb=self._present), self.dxgi)
        arg = d3d.D3D10DDIARG_CREATEDEVICE(
            H_RT_DEVICE, self.interface, d3d.make_version(2), kt, self.f, H_DEVICE, base, H_CORE_LAYER, core_layer
        )
        hr: Any = adapter_funcs.pfnCreateDevice(self.h_adapter, arg)  # type: ignore[misc]
        assert (await hr if isawaitable(hr) else hr) == 0
        self.device = hr
        self.log.clear()
        return self

    def _ok(self, name: str) -> Any:
        async def call(h: int, arg: Any) -> int:
            self.log.append(name)
            return 0

        return call

    def _error(self, h: int, hr: int) -> None:
        assert h == H_CORE_LAYER
        self.errors.append(hr)

    def _amortize(self, h: int) -> None:
        self.amortized += 1

    def _present(self, h: int, arg: Any) -> int:
        assert h == H_RT_DEVICE
        self.log.append("present")
        self.presents.append(arg)
        return 0

    @property
    def error_text(self) -> str:
        """The driver's sentence about its last error."""
        adapter: Any = self.adapter.pfnGetCaps
        return str(adapter.__self__.devices[-1].core.error_text)

    # --- what a runtime does ---------------------------------------------------------------------------------------------
    async def call(self, name: str, *args: Any) -> Any:
        """Call an entry and await what is to be awaited."""
        result = getattr(self.f, name)(H_DEVICE, *args)
        return await result if isawaitable(result) else result

    async def call_dxgi(self, name: str, arg: Any) -> int:
        result = getattr(self.dxgi, name)(arg)
        return int(await result if isawaitable(result) else result)

    async def create(self, name: str, arg: Any, *more: Any) -> int:
        """Create an object and return its handle."""
        h = next(self.handles)
        await self.call(name, arg, h, h + 0x10000000, *more)
        return h

    async def buffer(self, size: int, bind: int, *, usage: int = 0, data: Any = None, map_flags: int = 0, **more: Any) -> int:
        initial = None if data is None else [d3d.D3D10_DDIARG_SUBRESOURCE_UP(data)]
        arg = d3d.D3D11DDIARG_CREATERESOURCE(
            [d3d.D3D10DDI_MIPINFO(size, 1, 1, size, 1, 1)],
            d3d.D3D10DDIRESOURCE_TYPE.BUFFER,
            0,  # type: ignore[arg-type]
            bind,  # type: ignore[arg-type]
            usage,  # type: ignore[arg-type]
            map_flags,  # type: ignore[arg-type]
            pInitialDataUP=initial,
            **more,
        )
        return await self.create("pfnCreateResource", arg)

    async def texture(
        self,
        width: int,
        height: int,
        format: int = 28,
        *,
        bind: int = 8,
        mips: int = 1,
        slices: int = 1,
        usage: int = 0,
        **more: Any,
    ) -> int:
        infos = [
            d3d.D3D10DDI_MIPINFO(max(1, width >> m), max(1, height >> m), 1, max(1, width >> m), max(1, height >> m), 1)
            for m in range(mips)
        ]
        arg = d3d.D3D11DDIARG_CREATERESOURCE(
            infos,
            d3d.D3D10DDIRESOURCE_TYPE.TEXTURE2D,
            format,  # type: ignore[arg-type]
            bind,  # type: ignore[arg-type]
            usage,  # type: ignore[arg-type]
            MipLevels=mips,
            ArraySize=slices,
            **more,
        )
        return await self.create("pfnCreateResource", arg)

    async def target(self, h: int, format: int = 28) -> int:
        arg = d3d.D3D10DDIARG_CREATERENDERTARGETVIEW(
            h, format, d3d.D3D10DDIRESOURCE_TYPE.TEXTURE2D, Tex2D=d3d.D3D10DDIARG_TEX_VIEW(0)  # type: ignore[arg-type]
        )
        return await self.create("pfnCreateRenderTargetView", arg)

    async def set_targets(self, *views: int, depth: int = 0) -> None:
        await self.call("pfnSetRenderTargets", list(views), len(views), 0, depth, [], [], 0, 0, 0, 0)

    async def create_shader(self, name: str, code: Any) -> int:
        return await self.create_with(name, code, d3d.D3D10DDIARG_STAGE_IO_SIGNATURES())

    async def create_with(self, name: str, code: Any, signatures: Any) -> int:
        h = next(self.handles)
        await self.call(name, code, h, h + 0x10000000, signatures)
        return h
