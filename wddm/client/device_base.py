"""What every part of a device uses: its link to the runtime, its fence page, its way up for data, the errors it was told."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from wddm.ddi.status import HRESULT
from wddm.wire import api
from wddm.wire.memory import SharedMemory
from wddm.wire.message import Descriptor, Struct

from .enums import FeatureLevel
from .errors import D3DError
from .pixels import texels
from .upload import UPLOAD_FROM, UploadRing

if TYPE_CHECKING:
    from .context import ImmediateContext
    from .session import Session

_log = logging.getLogger("wddm.client")
_R = TypeVar("_R", bound=Struct)

UPLOAD_SIZE: Final = 32 << 20  #: bytes of a device's upload area

#: A numpy array, or bytes.
Data = npt.NDArray[Any] | bytes | bytearray | memoryview


def invalid(sentence: str) -> D3DError:
    """E_INVALIDARG."""
    return D3DError.of(HRESULT.E_INVALIDARG, sentence)


def as_array(data: Data) -> npt.NDArray[Any]:
    """Data as an array of known element size. Raises D3DError for what is no data."""
    try:
        if not isinstance(data, np.ndarray):
            return np.frombuffer(data, np.uint8)
        if not data.dtype.hasobject:
            return data
        kind = "an array of objects"
    except (TypeError, ValueError, BufferError):
        kind = type(data).__name__
    raise invalid(f"data: {kind} where a numpy array or bytes belong")


def pitches(format: int, width: int, height: int, depth: int = 1) -> tuple[int, int]:
    """Bytes of a row and of a slice, packed. Raises D3DError for a format without a memory layout."""
    try:
        form = texels(format)
    except ValueError as error:
        raise invalid(f"format: {error}") from None
    row = form.row_bytes(width)
    return row, row * form.rows(height)


class DeviceBase:
    """A device's id and its link. Owns no objects."""

    immediate_context: ImmediateContext

    def __init__(self, session: Session, created: api.DeviceCreated) -> None:
        self._session = session
        self.id = created.device
        self.feature_level = FeatureLevel(created.feature_level)
        self.driver = created.driver
        self.removed: D3DError | None = None
        self.sent = 0  #: messages so far that may make work: all but waits
        #: Ids whose objects nobody holds any more, destroyed with the next batch.
        self.doomed: list[int] = []
        self._errors: list[D3DError] = []
        self._ring: UploadRing | None = None
        self._memories: dict[int, SharedMemory] = {}
        self.fence_page: npt.NDArray[np.uint64] | None = None
        self._fence_memory: SharedMemory | None = None
        if created.fence is not None:
            memory = SharedMemory.open(created.fence.number, created.fence_size, read_only=True)
            self._fence_memory = memory
            self.fence_page = memory.array[created.fence_offset : created.fence_offset + 8].view(np.uint64)
        self.spins = session.spins
        self.passes_descriptors = session.passes_descriptors

    # ----- messages --------------------------------------------------------------------------------------------------------

    async def call(self, message: Struct, reply: type[_R]) -> _R:
        """Send what was recorded, ask, wait. Raises D3DError; DXGI_ERROR_DEVICE_REMOVED from every call once it is lost."""
        if self.removed is not None:
            raise D3DError(*self._removed_error())
        self.immediate_context.send()
        self.sent += type(message) is not api.WaitFence
        try:
            return await self._session.request(message, reply)
        except D3DError as error:
            if self._session.lost is not None:
                self.removed = error
            raise

    def send(self, message: Struct) -> None:
        """Notify the runtime."""
        if self.removed is None:
            self.sent += 1
            self._session.notify(message)

    def run_sync(self, function: Any) -> None:
        """Run ``function`` where the link may be used."""
        self._session.run_sync(function)

    def _removed_error(self) -> tuple[int, str, str]:
        assert self.removed is not None
        lost = HRESULT.DXGI_ERROR_DEVICE_REMOVED
        return int(lost), lost.name, f"the device is lost: {self.removed.name}: {self.removed.sentence}"

    def report(self, message: api.ErrorReported) -> None:
        """A recorded command failed: told by the next awaited call of the context."""
        text = f"{message.command}: {message.sentence}"
        if message.warning:
            _log.warning("%s: %s", message.name, text)
        else:
            self.note_error(D3DError(message.code, message.name, text))

    def note_error(self, error: D3DError) -> None:
        """Keep the error of a recorded command for the next awaited call of the context."""
        if len(self._errors) < 64:
            self._errors.append(error)

    def raise_recorded(self) -> None:
        """Raise the first error of the commands recorded before, with the others as notes."""
        if self._errors:
            errors, self._errors = self._errors, []
            for error in errors[1:]:
                errors[0].add_note(str(error))
            raise errors[0]

    def blob(self, data: npt.NDArray[Any]) -> api.Blob:
        """Data for a creation message."""
        place = self.place(data)
        if isinstance(place, bytes):
            if len(place) > api.MAX_DATA:
                raise invalid(f"{len(place)} bytes of data in one piece, at most {api.MAX_DATA} can travel on this link")
            return api.Blob(data=place)
        return api.Blob(position=place[0], size=place[1])

    def place(self, data: npt.NDArray[Any]) -> bytes | tuple[int, int]:
        """Data for a command: a place in the upload area, or the bytes themselves."""
        size = data.nbytes
        if size >= UPLOAD_FROM and self._session.passes_descriptors:
            ring = self._ring
            if ring is None:
                ring = self._ring = UploadRing(UPLOAD_SIZE)
                message = api.AnnounceUpload(
                    device=self.id, memory=Descriptor(ring.memory.descriptor), size=ring.size
                )
                self.run_sync(lambda: self.send(message))
            place = ring.put(data)
            if place is not None:
                return place
        return data.tobytes()

    def memory(self, mapped: api.Mapped) -> npt.NDArray[np.uint8]:
        """The pages of a mapped resource."""
        memory = self._memories.get(mapped.memory_id)
        if memory is None:
            if mapped.memory is None:
                raise D3DError.of(HRESULT.E_FAIL, f"memory {mapped.memory_id} never came")
            memory = SharedMemory.open(mapped.memory.number, mapped.memory_size)
            memory.close()
            self._memories[mapped.memory_id] = memory
        elif mapped.memory is not None:
            os.close(mapped.memory.number)
        return memory.array[mapped.offset : mapped.offset + mapped.size]

    def forget_memory(self, memory_id: int) -> None:
        """The pages are gone."""
        self._memories.pop(memory_id, None)

    def forget(self) -> None:
        """Give up everything that this end holds."""
        if self._ring is not None:
            self._ring.close()
        if self._fence_memory is not None:
            self._fence_memory.close()
        self._memories.clear()
