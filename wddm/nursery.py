"""A nursery for context managers: what the body raises comes out as it is, not in a group."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import trio


@asynccontextmanager
async def body_nursery(closing: Callable[[], Awaitable[None]] | None = None) -> AsyncIterator[trio.Nursery]:
    """``async with body_nursery() as nursery``: after the body ``closing`` is awaited (shielded) and the tasks are cancelled.

    For a resource that needs tasks behind it: its user expects the exception of the body, not an ExceptionGroup around it. What
    the tasks themselves raise stays a group.
    """
    raised: BaseException | None = None
    async with trio.open_nursery() as nursery:
        try:
            yield nursery
        except BaseException as error:  # raised again below, cancellation included
            raised = error
        if closing is not None:
            with trio.CancelScope(shield=True):
                await closing()
        nursery.cancel_scope.cancel()
    if raised is not None:
        try:
            raise raised
        finally:
            del raised  # no cycle through this frame
