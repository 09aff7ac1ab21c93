"""The runtime as a server: a session for each client.

Models the part of Windows that lives in every Direct3D process; here one process serves all clients, each with its own driver
instance and its own kernel connection.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from wddm.wire.transport import Transport

from .session import Session

_log = logging.getLogger("runtime")


@dataclass(frozen=True, slots=True)
class RuntimeOptions:
    """``driver``: the user-mode driver "module:Entry"; None takes the one that the adapter names."""

    driver: str | None = None


class Runtime:
    """Serves clients; ``connect_kernel`` makes a new connection to the kernel for each."""

    def __init__(self, connect_kernel: Callable[[], Awaitable[Transport]], options: RuntimeOptions | None = None) -> None:
        self._connect_kernel = connect_kernel
        self.options = options or RuntimeOptions()

    async def session(self, transport: Transport) -> None:
        """One client, until it leaves."""
        session = Session(transport, self._connect_kernel, self.options.driver)
        try:
            await session.run()
        finally:
            if session.channel.protocol_error is not None:
                _log.warning("%s was disconnected: %s", session.name, session.channel.protocol_error)
