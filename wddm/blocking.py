"""The client API without async, for scripts and notebooks.

The same objects: ``connect`` and ``launch`` are plain context managers, what is awaited in :mod:`wddm.client` is a plain call here.
Every class is made from its async one: coroutine functions run in a trio loop in a thread of its own, everything else is the
object's own method, so that recording a command costs nothing more.

    with wddm.blocking.launch() as gpu:
        device = gpu.create_device()
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from typing import Any, Final, Self

import trio

from wddm.client.context import ImmediateContext as AsyncContext
from wddm.client.device import Device as AsyncDevice
from wddm.client.dp2 import Dp2Context as AsyncDp2Context
from wddm.client.gpu import Gpu as AsyncGpu
from wddm.client.gpu import connect as async_connect
from wddm.client.swap_chain import SwapChain as AsyncSwapChain

__all__ = ["Device", "Dp2Context", "Gpu", "ImmediateContext", "SwapChain", "connect", "launch"]


class Portal:
    """A trio loop in a thread. ``enter`` holds an async context manager open in it."""

    def __init__(self) -> None:
        self._token: trio.lowlevel.TrioToken
        self._stop: trio.Event
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._main, name="wddm.blocking", daemon=True)

    def _main(self) -> None:
        try:
            trio.run(self._serve)
        except BaseException as error:
            self._failure = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._stop = trio.Event()
        await self._hold()

    async def _hold(self) -> None:
        async with self._manager as self._value:
            self._ready.set()
            await self._stop.wait()

    def enter(self, manager: AbstractAsyncContextManager[Any]) -> Any:
        """Start the loop and enter ``manager`` in it; returns its value, raises what entering raises."""
        self._manager = manager
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise _single(self._failure)
        return self._value

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a coroutine function in the loop."""
        return trio.from_thread.run(function, *arguments, trio_token=self._token)

    def run_sync(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a plain function in the loop's thread, which may be this one."""
        if threading.get_ident() == self._thread.ident:
            return function(*arguments)
        return trio.from_thread.run_sync(function, *arguments, trio_token=self._token)

    def close(self) -> None:
        """Leave the context manager and end the loop; raises what leaving raises."""
        if self._thread.is_alive():
            with suppress(trio.RunFinishedError):  # it ended by itself: the failure below tells why
                self.run_sync(self._stop.set)
            self._thread.join()
        if self._failure is not None:
            raise _single(self._failure)


def _single(error: BaseException) -> BaseException:
    """A group of one is that one."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


class _Blocking:
    """Base of the generated classes: an async object and the portal to its loop."""

    def __init__(self, wrapped: Any, portal: Portal) -> None:
        self._wrapped = wrapped
        self._portal = portal
        for name in self._direct:
            setattr(self, name, getattr(wrapped, name))

    _direct: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _wrap(getattr(self._wrapped, name), self._portal)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        (self.close if hasattr(type(self), "close") else self.release)()

    def __repr__(self) -> str:
        return f"<blocking {self._wrapped!r}>"


def _blocking_method(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(self: _Blocking, *arguments: Any, **keywords: Any) -> Any:
        plain = [_unwrap(a) for a in arguments]
        bound = functools.partial(function, self._wrapped, *plain, **{k: _unwrap(v) for k, v in keywords.items()})
        return _wrap(self._portal.run(bound), self._portal)

    return call


def _generate(async_class: type[Any]) -> type[_Blocking]:
    """The blocking class of an async one."""
    members: dict[str, Any] = {"__doc__": async_class.__doc__, "__module__": __name__}
    direct = []
    for name, member in inspect.getmembers(async_class):
        if name.startswith("_"):
            continue
        if inspect.iscoroutinefunction(member):
            members[name] = _blocking_method(member)
        elif inspect.isfunction(member):
            direct.append(name)
    members["_direct"] = tuple(direct)
    return type(async_class.__name__, (_Blocking,), members)


Gpu: Any = _generate(AsyncGpu)
Device: Any = _generate(AsyncDevice)
ImmediateContext: Any = _generate(AsyncContext)
SwapChain: Any = _generate(AsyncSwapChain)
Dp2Context: Any = _generate(AsyncDp2Context)
_CLASSES: Final[dict[type[Any], Any]] = {
    AsyncGpu: Gpu,
    AsyncDevice: Device,
    AsyncContext: ImmediateContext,
    AsyncSwapChain: SwapChain,
    AsyncDp2Context: Dp2Context,
}


def _wrap(value: Any, portal: Portal) -> Any:
    """The blocking object of an async one, always the same; other values as they are."""
    cls = _CLASSES.get(type(value))
    if cls is None:
        return value
    found = portal.__dict__.setdefault("wrappers", {}).get(id(value))
    if found is None:
        found = portal.__dict__["wrappers"][id(value)] = cls(value, portal)
    return found


def _unwrap(value: Any) -> Any:
    return value._wrapped if isinstance(value, _Blocking) else value


@contextmanager
def _opened(manager: AbstractAsyncContextManager[Any]) -> Iterator[Any]:
    portal = Portal()
    gpu = portal.enter(manager)
    gpu._session.run_sync = portal.run_sync
    try:
        yield _wrap(gpu, portal)
    finally:
        portal.close()


def connect(address: Any) -> Any:
    """As :func:`wddm.client.connect`: ``with wddm.blocking.connect("unix:…") as gpu``."""
    return _opened(async_connect(address))


def launch(**settings: Any) -> Any:
    """As :func:`wddm.launch`: ``with wddm.blocking.launch() as gpu``."""
    from wddm.stack import launch as async_launch

    return _opened(async_launch(**settings))
