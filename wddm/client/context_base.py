"""Recording: the list of commands, when a batch goes out, where data goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from wddm.ddi.status import HRESULT
from wddm.wire import api
from wddm.wire import api_commands as c
from wddm.wire.connection import unsendable
from wddm.wire.message import Struct

from .errors import D3DError
from .resources import Resource
from .upload import UPLOAD_FROM

if TYPE_CHECKING:
    from .device import Device

_R = TypeVar("_R", bound=Struct)

BATCH_COMMANDS: Final = 512  #: commands after which a batch goes out by itself
BATCH_BYTES: Final = 1 << 20  #: bytes of data inside commands after which it does


class ContextBase:
    """The recording end of an immediate context."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._commands: list[tuple[Any, ...]] = []
        self._bytes = 0
        self._fence_value = 0
        self._signalled = -1  #: messages that the device had sent by then
        self._staged = False  #: something was copied to where it may be mapped since the last signal
        self._usual_wait = 100.0  # microseconds, of late
        self._written: dict[tuple[int, int], npt.NDArray[np.uint8]] = {}
        self._helpers: dict[tuple[Any, ...], Resource] = {}

    # ----- batches ---------------------------------------------------------------------------------------------------------

    def _record(self, *command: Any) -> None:
        self._commands.append(command)
        if len(self._commands) >= BATCH_COMMANDS:
            self.device.run_sync(self.send)

    def _full(self) -> None:
        self.device.run_sync(self.send)

    def send(self, signal: int = 0) -> None:
        """Send what was recorded, without asking the driver to submit it."""
        commands, self._commands = self._commands, []
        self._bytes = 0
        doomed = self.device.doomed
        while doomed:
            commands.append((c.DESTROY, doomed.pop()))
        if commands or signal:
            try:
                self._execute(commands, signal)
            except (TypeError, ValueError, OverflowError):
                # Something that is no number or text at all was recorded: only its command is lost.
                self._execute(self._sendable(commands), signal)

    def _execute(self, commands: list[tuple[Any, ...]], signal: int) -> None:
        self.device.send(api.ExecuteCommands(device=self.device.id, commands=commands, signal=signal))

    def _sendable(self, commands: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        found = []
        for command in commands:
            why = unsendable(command)
            if why is None:
                found.append(command)
            else:
                self.device.note_error(D3DError.of(HRESULT.E_INVALIDARG, f"{c.COMMANDS[command[0]].name}: {why}"))
        return found

    async def _call(self, message: Struct, reply: type[_R]) -> _R:
        answer = await self.device.call(message, reply)
        self.device.raise_recorded()
        return answer

    def flush(self) -> None:
        """ID3D11DeviceContext::Flush: submit to the GPU what was recorded."""
        self._commands.append((c.FLUSH,))
        self.device.run_sync(self.send)

    def clear_state(self) -> None:
        """Unbind everything and take the default states."""
        self._record(c.CLEAR_STATE)

    def _place(self, data: npt.NDArray[Any]) -> Any:
        if data.nbytes < UPLOAD_FROM:
            place: Any = data.tobytes()
        else:
            place = self.device.place(data)
            if type(place) is tuple:
                return place
        size = len(place)
        if size > api.MAX_DATA:
            raise D3DError.of(HRESULT.E_INVALIDARG, f"data: {size} bytes, at most {api.MAX_DATA} travel in one piece")
        self._bytes += size
        if self._bytes > BATCH_BYTES:
            self._full()
            self._bytes = size
        return place
