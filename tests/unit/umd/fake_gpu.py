"""The fake runtime with a GPU behind it: submissions are patched and executed at once on the reference engine.

All allocations lie in local memory, where processor and GPU see the same bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.unit.umd.fake_runtime import H_RT_DEVICE, FakeAllocation, FakeRuntime
from vgpu.command_processor import Execution
from vgpu.engine import PipelineState, StopWord
from vgpu.engine.reference import ReferenceEngine
from vgpu.memory import Memory
from wddm.ddi import d3d10umddi as d3d
from wddm.dxbc.assembler import assemble_program
from wddm.dxbc.tokens import encode
from wddm.hw.driver import ALLOCATION_PRIVATE, AllocationFlag, read_private
from wddm.hw.memory import LOCAL_BASE
from wddm.hw.registers import Node

B = d3d.D3D10_DDI_RESOURCE_BIND_FLAG
STAGING = d3d.D3D10_DDI_RESOURCE_USAGE.STAGING


def tokens(text: str) -> Any:
    """The token stream of an assembly listing."""
    return np.frombuffer(encode(assemble_program(text)), np.uint32)


class FakeGpu(FakeRuntime):
    """A runtime whose kernel places and executes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.memory = Memory(48 << 20, 1 << 20, 0)
        self.engine = ReferenceEngine(self.memory, StopWord())
        self.address: dict[int, int] = {}
        self.next_address = LOCAL_BASE + 4096

    async def allocate(self, h: int, arg: Any) -> int:
        assert h == H_RT_DEVICE
        for info in arg.pAllocationInfo:
            record = read_private(ALLOCATION_PRIVATE, info.pPrivateDriverData)
            self.next_handle += 0x40
            info.hAllocation = self.next_handle
            size = int(record["size"])
            room = (size + 4095) & -4096
            self.address[self.next_handle] = self.next_address
            pages = self.memory.view(self.next_address, room, write=True)
            self.next_address += room
            flags = AllocationFlag(int(record["flags"]))
            self.allocations[self.next_handle] = FakeAllocation(size, flags, pages, record, arg.hResource)
        return 0

    def render(self, h: int, arg: Any) -> Any:
        result = super().render(h, arg)
        sub = self.submissions[-1]
        words = sub.packets.view(np.uint64)
        for patch in sub.patches:
            handle = int(sub.allocations["hAllocation"][patch["AllocationIndex"]])
            words[int(patch["PatchOffset"]) // 8] = self.address[handle] + int(patch["AllocationOffset"])
        execution = Execution(self.memory, self.engine, Node.GRAPHICS, PipelineState(), sub.packets.tobytes(), False)
        for _ in execution.run():
            pass
        self.engine.flush(execution.state)
        return result

    def signal(self, h: int, arg: Any) -> int:
        super().signal(h, arg)
        self.complete()
        return 0

    # --- reading back --------------------------------------------------------------------------------------------------
    async def read_buffer(self, h: int, size: int) -> Any:
        """The bytes of a buffer."""
        staging = await self.buffer(size, 0, usage=STAGING, map_flags=2)
        await self.call("pfnResourceCopyRegion", staging, 0, 0, 0, 0, h, 0, d3d.D3D10_DDI_BOX(0, 0, 0, size, 1, 1))
        return (await self.map_read(staging)).copy()

    async def read_texture(self, h: int, width: int, height: int, size: int = 4, **more: Any) -> Any:
        """The texels of mip 0, (height, width, bytes)."""
        staging = await self.texture(width, height, bind=0, usage=STAGING, MapFlags=2, **more)
        await self.call("pfnResourceCopy", staging, h)
        out = d3d.D3D10DDI_MAPPED_SUBRESOURCE()
        await self.call("pfnStagingResourceMap", staging, 0, d3d.D3D10_DDI_MAP.READ, 0, out)
        assert out.pData is not None
        rows = out.pData[: out.RowPitch * height].reshape(height, out.RowPitch)
        return rows[:, : width * size].reshape(height, width, size).copy()

    async def map_read(self, h: int) -> Any:
        out = d3d.D3D10DDI_MAPPED_SUBRESOURCE()
        await self.call("pfnStagingResourceMap", h, 0, d3d.D3D10_DDI_MAP.READ, 0, out)
        return out.pData

    # --- compute ---------------------------------------------------------------------------------------------------------
    async def raw_output(self, size: int) -> tuple[int, int]:
        """A buffer and its raw unordered access view."""
        h = await self.buffer(size, B.UNORDERED_ACCESS, MiscFlags=0x20)
        part = d3d.D3D11DDIARG_BUFFER_UNORDEREDACCESSVIEW(0, size // 4, d3d.D3D11_DDI_BUFFER_UAV_FLAG.RAW)
        arg = d3d.D3D11DDIARG_CREATEUNORDEREDACCESSVIEW(
            h, 39, d3d.D3D10DDIRESOURCE_TYPE.BUFFER, Buffer=part  # type: ignore[arg-type]
        )
        return h, await self.create("pfnCreateUnorderedAccessView", arg)

    async def compute(self, body: str, *, size: int = 64, constants: Any = None, groups: int = 1, declarations: str = "") -> Any:
        """Run a compute shader whose u0 is a raw buffer; returns its dwords."""
        listing = f"cs_5_0\n{declarations}\ndcl_uav_raw u0\n{body}\nret\n"
        shader = next(self.handles)
        await self.call("pfnCreateComputeShader", tokens(listing), shader, shader + 0x10000000)
        assert self.errors == [], self.error_text
        await self.call("pfnCsSetShader", shader)
        if constants is not None:
            cb = await self.buffer(constants.nbytes, B.CONSTANT_BUFFER, data=constants)
            await self.call("pfnCsSetConstantBuffers", 0, 1, [cb])
        buffer, view = await self.raw_output(size)
        await self.call("pfnCsSetUnorderedAccessViews", 0, 1, [view], [0xFFFFFFFF])
        await self.call("pfnDispatch", groups, 1, 1)
        return (await self.read_buffer(buffer, size)).view(np.uint32)
