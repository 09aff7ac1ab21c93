"""ID3D11Device in the runtime: one driver device on one kernel device, the objects made on it, its fence, its removal.

Owns what create calls share: calling the driver in turn, taking its errors, the client's upload area, state objects by content.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from wddm.client.enums import FormatSupport, FormatSupport2
from wddm.ddi import d3d10umddi as dd
from wddm.ddi.dxgiformat import DXGI_FORMAT, FORMATS, TYPELESS_FAMILIES, FormatAbility
from wddm.ddi.status import HRESULT, hresult_name
from wddm.wire import api, thunk
from wddm.wire.memory import SharedMemory, SharedMemoryError
from wddm.wire.message import Descriptor

from .core_layer import CoreLayer
from .errors import ApiError, api_code, invalid_arg, require
from .objects import DeviceObject, ObjectTable
from .presenting import FrameQueue
from .resources import format_info
from .turn import Turn
from .umd_host import Adapter, DriverDevice

if TYPE_CHECKING:
    from .context import Context
    from .session import Session
    from .thunks import KernelDevice

_log = logging.getLogger("runtime")
_NOTHING: Final = np.zeros(0, np.uint8)

DEFAULT_FRAME_LATENCY: Final = 3


class UploadArea:
    """The client's memory that data comes up through. Whatever the client writes there meanwhile changes pixels, nothing else."""

    def __init__(self, memory: SharedMemory, size: int) -> None:
        self.memory = memory
        self.size = size
        self._taken = memory.array[:8].view(np.uint64)
        self._data = memory.array[api.UPLOAD_HEADER : api.UPLOAD_HEADER + size]

    def view(self, position: int, size: int) -> npt.NDArray[np.uint8]:
        """The bytes at a position. Raises E_INVALIDARG when they do not lie in one piece inside."""
        offset = position % self.size
        require(offset + size <= self.size, f"data: {size} bytes at position {position} leave the upload area of {self.size}")
        return self._data[offset : offset + size]

    def taken(self, position: int) -> None:
        """Everything before ``position`` may be overwritten."""
        self._taken[0] = position


class Device:
    """A device of a session."""

    def __init__(self, session: Session, adapter: Adapter, kernel: KernelDevice) -> None:
        self.session = session
        self.id = 0
        self.objects: ObjectTable = session.objects
        self.kernel = kernel
        self.core = CoreLayer(self)
        self.driver = DriverDevice(adapter, kernel, self.core)
        self.ddi: Any = self.driver.ddi
        self.dxgi: Any = self.driver.dxgi
        self.turn = Turn()
        self.states: dict[tuple[type[Any], Any], Any] = {}
        self.upload: UploadArea | None = None
        self.removed: tuple[int, str] | None = None
        self.frame_latency = DEFAULT_FRAME_LATENCY
        self.fence = 0  #: the kernel's handle of the fence that the client waits on
        self.frames = FrameQueue()
        self.context: Context
        self._unfinished: list[Awaitable[Any]] = []
        kernel.on_lost = self.lose

    # ----- the driver ------------------------------------------------------------------------------------------------------

    async def invoke(self, slot: str, *arguments: Any) -> int | None:
        """Call an entry to its end; returns what it reported through pfnSetErrorCb, None for success."""
        result = getattr(self.ddi, slot)(*arguments)
        if result is not None and isawaitable(result):
            await result
        return self.core.take()

    async def create(self, slot: str, *arguments: Any) -> None:
        """Call a create entry. Raises ApiError with what the driver reported."""
        self.raise_error(await self.invoke(slot, *arguments), slot.removeprefix("pfn"))
        self.check_removed()

    def raise_error(self, code: int | None, what: str) -> None:
        """Raise ApiError for a code that the driver reported."""
        if code is not None:
            raise ApiError(api_code(code), f"the driver's {what} reported {hresult_name(code)}")

    def tell(self, slot: str, *arguments: Any) -> None:
        """Call an entry that does not wait by its rules (destruction); should it, it is awaited before the next batch ends."""
        if self.removed is not None and not self.driver.created:
            return
        result = getattr(self.ddi, slot)(*arguments)
        if result is not None and isawaitable(result):
            self._unfinished.append(result)

    def later(self, work: Coroutine[Any, Any, Any]) -> None:
        """Await something before the next batch ends."""
        self._unfinished.append(work)

    async def finish(self) -> None:
        """Await what :meth:`tell` left."""
        while self._unfinished:
            await self._unfinished.pop()

    @property
    def unfinished(self) -> bool:
        """Whether :meth:`finish` has something to do."""
        return bool(self._unfinished)

    # ----- removal ---------------------------------------------------------------------------------------------------------

    def lose(self, code: int, sentence: str) -> None:
        """The device is gone, for the first reason given."""
        if self.removed is not None:
            return
        code = api_code(code)
        self.removed = (code, sentence)
        level = logging.DEBUG if self.session.ending else logging.WARNING
        _log.log(level, "device %d of %s is removed: %s: %s", self.id, self.session.name, hresult_name(code), sentence)
        self.session.notify(api.DeviceRemoved(device=self.id, code=code, name=hresult_name(code), sentence=sentence))
        self.context.abandon()
        self.frames.wake()

    def check_removed(self) -> None:
        """Raise DXGI_ERROR_DEVICE_REMOVED when the device is gone."""
        if self.removed is not None:
            code, sentence = self.removed
            raise ApiError(HRESULT.DXGI_ERROR_DEVICE_REMOVED, f"the device is lost: {hresult_name(code)}: {sentence}")

    def removed_reason(self) -> api.RemovedReason:
        """GetDeviceRemovedReason."""
        code, sentence = self.removed or (int(HRESULT.S_OK), "the device is there")
        return api.RemovedReason(code=code, name=hresult_name(code), sentence=sentence)

    # ----- objects ---------------------------------------------------------------------------------------------------------

    def publish(self, found: DeviceObject) -> int:
        """Give a client an id of an object."""
        id = self.objects.add(found.kind, found)
        found.refs += 1
        return id

    def unref(self, found: DeviceObject) -> None:
        """One holder less; without holders the object goes, when the pipeline does not hold it."""
        found.refs -= 1
        if found.refs == 0:
            self.context.retire(found)

    def get(self, id: int, cls: type[Any], name: str) -> Any:
        """An object of this device. Raises E_INVALIDARG."""
        found = self.objects.by_id.get(id)
        if not isinstance(found, cls):
            raise self.objects.refuse(id, cls, name)
        if found.device is not self:
            raise invalid_arg(f"{name}: {id} belongs to another device")
        return found

    # ----- data from the client --------------------------------------------------------------------------------------------

    def announce(self, m: api.AnnounceUpload) -> str | None:
        """Take the client's upload area; returns what is wrong with it."""
        try:
            memory = SharedMemory.open(m.memory.number, api.UPLOAD_HEADER + m.size)
        except SharedMemoryError as error:
            return str(error)
        memory.close()
        if self.upload is not None or m.size == 0:
            return "an upload area was announced before" if self.upload else "an upload area without room"
        self.upload = UploadArea(memory, m.size)
        return None

    def blob(self, blob: api.Blob) -> npt.NDArray[np.uint8]:
        """The memory of a blob. Raises E_INVALIDARG."""
        if blob.size:
            if self.upload is None:
                raise invalid_arg("data: no upload area was announced")
            return self.upload.view(blob.position, blob.size)
        return np.frombuffer(blob.data, np.uint8) if blob.data else _NOTHING

    def blob_taken(self, blob: api.Blob) -> None:
        """The driver has read a blob."""
        if blob.size and self.upload is not None:
            self.upload.taken(blob.position + blob.size)

    # ----- formats ---------------------------------------------------------------------------------------------------------

    def quality_levels(self, format: DXGI_FORMAT, count: int) -> int:
        """CheckMultisampleQualityLevels of the driver; one sample is always there for what can be rendered to."""
        info = FORMATS[format]
        renders = info.allows(FormatAbility.RENDER_TARGET) or info.allows(FormatAbility.DEPTH_STENCIL)
        if count == 1:
            return int(renders)
        if not 1 < count <= 32:
            return 0
        if not renders:
            if not info.typeless:
                return 0
            members = dd_family(format)
            return max((self.quality_levels(f, count) for f in members), default=0)
        return int(self.ddi.pfnCheckMultisampleQualityLevels(format, count) or 0)

    def format_support(self, value: int) -> api.FormatSupport:
        """CheckFormatSupport: what feature level 11_0 requires, and what the driver has of the optional."""
        info = format_info(value)
        told = int(self.ddi.pfnCheckFormatSupport(info.format) or 0)
        have = info.required
        optional = info.optional | info.dependent
        for bit, abilities in _DRIVER_TELLS:
            if told & bit:
                have |= optional & abilities
        if told & dd.D3D10_DDI_FORMAT_SUPPORT.NOT_SUPPORTED:
            have = FormatAbility(0)
        support, support2 = FormatSupport.NONE, FormatSupport2.NONE
        for ability, flag in _SUPPORT.items():
            if have & ability:
                support |= flag
        for ability, flag2 in _SUPPORT2.items():
            if have & ability:
                support2 |= flag2
        if support & FormatSupport.RENDER_TARGET or support & FormatSupport.DEPTH_STENCIL:
            if self.quality_levels(info.format, 4):
                support |= FormatSupport.MULTISAMPLE_RENDERTARGET
            else:
                support &= ~(FormatSupport.MULTISAMPLE_RENDERTARGET | FormatSupport.MULTISAMPLE_RESOLVE)
        return api.FormatSupport(support=int(support), support2=int(support2))

    # ----- start and end ---------------------------------------------------------------------------------------------------

    async def start(self, flags: int, level: dd.D3D11DDI_3DPIPELINELEVEL) -> None:
        """Create the driver's device, the fence and the default states. Raises ApiError."""
        from .context import Context

        self.context = Context(self)
        ddi_flags = dd.D3D10DDI_CREATEDEVICE_FLAGS.NONE
        if flags & 1:
            ddi_flags |= dd.D3D10DDI_CREATEDEVICE_FLAGS.SINGLETHREADED
        if flags & 0x40:
            ddi_flags |= dd.D3D10DDI_CREATEDEVICE_FLAGS.DEBUGGABLE
        await self.driver.create(ddi_flags, level)
        code, self.fence = await self.kernel.create_fence(keep=True)
        if code:
            raise ApiError(code, "the kernel gives no fence")
        await self.context.start()

    async def end(self) -> None:
        """DestroyDevice, then the kernel's device goes with the connection."""
        await self.finish()
        if self.driver.created:
            await self.driver.destroy()
        self.kernel.forget()

    def forget(self) -> None:
        """Give up what this end holds, without the driver."""
        unfinished, self._unfinished = self._unfinished, []
        for work in unfinished:
            close = getattr(work, "close", None)
            if close is not None:
                close()
        self.kernel.forget()

    async def on_turn(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Run a coroutine function when it is this device's turn."""
        result = self.turn.enter(call)
        return await result if isawaitable(result) else result

    def fence_page(self) -> thunk.SyncObjectCreated | None:
        """Where the client can look at the fence."""
        page = self.kernel.fences.get(self.fence)
        if page is None or page.memory is None or page.memory.descriptor < 0:
            return None
        return thunk.SyncObjectCreated(
            hSyncObject=self.fence, page=Descriptor(page.memory.descriptor), page_size=page.size, offset=page.offset
        )


def dd_family(format: DXGI_FORMAT) -> tuple[DXGI_FORMAT, ...]:
    """The typed members of a typeless format's family."""
    return TYPELESS_FAMILIES.get(format, ())


_A = FormatAbility
_S = FormatSupport
_D = dd.D3D10_DDI_FORMAT_SUPPORT
_SUPPORT: Final = {
    _A.BUFFER: _S.BUFFER,
    _A.IA_VERTEX_BUFFER: _S.IA_VERTEX_BUFFER,
    _A.IA_INDEX_BUFFER: _S.IA_INDEX_BUFFER,
    _A.STREAM_OUTPUT: _S.SO_BUFFER,
    _A.TEXTURE1D: _S.TEXTURE1D,
    _A.TEXTURE2D: _S.TEXTURE2D,
    _A.TEXTURE3D: _S.TEXTURE3D,
    _A.TEXTURECUBE: _S.TEXTURECUBE,
    _A.SHADER_LOAD: _S.SHADER_LOAD,
    _A.SHADER_SAMPLE: _S.SHADER_SAMPLE,
    _A.SHADER_SAMPLE_COMPARISON: _S.SHADER_SAMPLE_COMPARISON,
    _A.MIP: _S.MIP,
    _A.MIP_AUTOGEN: _S.MIP_AUTOGEN,
    _A.RENDER_TARGET: _S.RENDER_TARGET,
    _A.BLENDABLE: _S.BLENDABLE,
    _A.DEPTH_STENCIL: _S.DEPTH_STENCIL,
    _A.CPU_LOCKABLE: _S.CPU_LOCKABLE,
    _A.MULTISAMPLE_RESOLVE: _S.MULTISAMPLE_RESOLVE,
    _A.DISPLAY: _S.DISPLAY,
    _A.CAST_WITHIN_BIT_LAYOUT: _S.CAST_WITHIN_BIT_LAYOUT,
    _A.MULTISAMPLE_LOAD: _S.MULTISAMPLE_LOAD,
    _A.SHADER_GATHER: _S.SHADER_GATHER,
    _A.BACK_BUFFER_CAST: _S.BACK_BUFFER_CAST,
    _A.TYPED_UNORDERED_ACCESS_VIEW: _S.TYPED_UNORDERED_ACCESS_VIEW,
    _A.SHADER_GATHER_COMPARISON: _S.SHADER_GATHER_COMPARISON,
}
_SUPPORT2: Final = {
    _A.UAV_ATOMIC_ADD: FormatSupport2.UAV_ATOMIC_ADD,
    _A.UAV_ATOMIC_BITWISE_OPS: FormatSupport2.UAV_ATOMIC_BITWISE_OPS,
    _A.UAV_ATOMIC_COMPARE_STORE_OR_EXCHANGE: FormatSupport2.UAV_ATOMIC_COMPARE_STORE_OR_COMPARE_EXCHANGE,
    _A.UAV_ATOMIC_EXCHANGE: FormatSupport2.UAV_ATOMIC_EXCHANGE,
    _A.UAV_ATOMIC_SIGNED_MIN_OR_MAX: FormatSupport2.UAV_ATOMIC_SIGNED_MIN_OR_MAX,
    _A.UAV_ATOMIC_UNSIGNED_MIN_OR_MAX: FormatSupport2.UAV_ATOMIC_UNSIGNED_MIN_OR_MAX,
    _A.UAV_TYPED_LOAD: FormatSupport2.UAV_TYPED_LOAD,
    _A.UAV_TYPED_STORE: FormatSupport2.UAV_TYPED_STORE,
}
#: Which optional abilities each bit of the driver's answer stands for.
_DRIVER_TELLS: Final = (
    (_D.SHADER_SAMPLE, _A.SHADER_SAMPLE),
    (_D.RENDERTARGET, _A.RENDER_TARGET),
    (_D.BLENDABLE, _A.BLENDABLE),
    (_D.MULTISAMPLE_RENDERTARGET, _A.MULTISAMPLE_RENDERTARGET_4X | _A.MULTISAMPLE_RESOLVE),
    (_D.MULTISAMPLE_LOAD, _A.MULTISAMPLE_LOAD),
    (_D.VERTEX_BUFFER, _A.IA_VERTEX_BUFFER),
    (_D.BUFFER, _A.BUFFER),
    (_D.SHADER_GATHER, _A.SHADER_GATHER),
    (_D.UAV_WRITES, _A.TYPED_UNORDERED_ACCESS_VIEW | _A.UAV_TYPED_STORE),
    (_D.UAV_READS, _A.UAV_TYPED_LOAD),
)
