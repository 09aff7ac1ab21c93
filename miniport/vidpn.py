"""A VidPN of the kernel, as this driver reads and fills it.

Models "_dxgk_vidpn_interface" and the interfaces of topologies and mode sets: whatever is acquired is released, modes and sets are
made by the kernel, filled, and handed back. What is read is copied, so that nothing is used after its release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from wddm.ddi.d3dkmddi import D3DDDI_MULTISAMPLINGMETHOD, DXGK_VIDPN_INTERFACE
from wddm.ddi.d3dkmdt import (
    D3DKMDT_GRAPHICS_RENDERING_FORMAT,
    D3DKMDT_MODE_PREFERENCE,
    D3DKMDT_VIDEO_SIGNAL_INFO,
    D3DKMDT_VIDPN_PRESENT_PATH,
    D3DKMDT_VIDPN_SOURCE_MODE_TYPE,
)
from wddm.ddi.status import NTSTATUS

#: DxgkCbQueryVidPnInterface: from a VidPN handle to its functions.
QueryInterface = Callable[[int], tuple[int, DXGK_VIDPN_INTERFACE | None]]


class VidPnError(Exception):
    """The kernel refused a call on a VidPN; ``status`` is its answer."""

    def __init__(self, status: int) -> None:
        super().__init__(f"VidPN call refused with {status:#x}")
        self.status = status


@dataclass(frozen=True, slots=True)
class SourceMode:
    """A pinned source mode: pixels, bytes, D3DDDIFORMAT. ``format`` is 0 for modes that are not of graphics."""

    width: int
    height: int
    stride: int
    format: int


@dataclass(frozen=True, slots=True)
class TargetMode:
    """A pinned target mode: active pixels and refresh rate in Hz."""

    width: int
    height: int
    numerator: int
    denominator: int


class VidPn:
    """One VidPN. Every method may raise VidPnError."""

    def __init__(self, query: QueryInterface, handle: int) -> None:
        self.handle = handle
        status, functions = query(handle)
        if status != NTSTATUS.STATUS_SUCCESS or functions is None:
            raise VidPnError(status)
        # Every function is there, or the interface is not one: None here would be a broken kernel.
        self._functions: Any = functions

    # ----- topology --------------------------------------------------------------------------------------------------------

    def _topology(self) -> tuple[int, Any]:
        topology, functions = _values(self._functions.pfnGetTopology(self.handle), 2)
        return topology, functions

    @contextmanager
    def paths(self) -> Iterator[list[D3DKMDT_VIDPN_PRESENT_PATH]]:
        """Its paths, while the block runs."""
        topology, functions = self._topology()
        found: list[D3DKMDT_VIDPN_PRESENT_PATH] = []
        try:
            _, path = functions.pfnAcquireFirstPathInfo(topology)
            while path is not None:
                found.append(path)
                _, path = functions.pfnAcquireNextPathInfo(topology, path)
            yield found
        finally:
            for path in found:
                functions.pfnReleasePathInfo(topology, path)

    def update_support(self, path: D3DKMDT_VIDPN_PRESENT_PATH) -> None:
        """Hand back a path whose support flags were set."""
        topology, functions = self._topology()
        _check(functions.pfnUpdatePathSupportInfo(topology, path))

    def add_path(self, source: int, target: int) -> None:
        """A path without transformation."""
        topology, functions = self._topology()
        (path,) = _values(functions.pfnCreateNewPathInfo(topology), 1)
        path.VidPnSourceId, path.VidPnTargetId = source, target
        _check(functions.pfnAddPath(topology, path))

    # ----- pinned modes ----------------------------------------------------------------------------------------------------

    def pinned_source(self, source: int) -> SourceMode | None:
        """The pinned mode of a source, if there is one."""
        mode_set, modes = _values(self._functions.pfnAcquireSourceModeSet(self.handle, source), 2)
        try:
            _, mode = modes.pfnAcquirePinnedModeInfo(mode_set)
            if mode is None:
                return None
            graphics = mode.Type is D3DKMDT_VIDPN_SOURCE_MODE_TYPE.GRAPHICS
            size, format = mode.Format.PrimSurfSize, int(mode.Format.PixelFormat) if graphics else 0
            found = SourceMode(size.cx, size.cy, mode.Format.Stride, format)
            modes.pfnReleaseModeInfo(mode_set, mode)
            return found
        finally:
            self._functions.pfnReleaseSourceModeSet(self.handle, mode_set)

    def pinned_target(self, target: int) -> TargetMode | None:
        """The pinned mode of a target, if there is one."""
        mode_set, modes = _values(self._functions.pfnAcquireTargetModeSet(self.handle, target), 2)
        try:
            _, mode = modes.pfnAcquirePinnedModeInfo(mode_set)
            if mode is None:
                return None
            size, rate = mode.VideoSignalInfo.ActiveSize, mode.VideoSignalInfo.VSyncFreq
            found = TargetMode(size.cx, size.cy, rate.Numerator, rate.Denominator)
            modes.pfnReleaseModeInfo(mode_set, mode)
            return found
        finally:
            self._functions.pfnReleaseTargetModeSet(self.handle, mode_set)

    # ----- new mode sets ---------------------------------------------------------------------------------------------------

    def assign_source_modes(
        self, source: int, formats: Sequence[D3DKMDT_GRAPHICS_RENDERING_FORMAT], *, pin: bool = False
    ) -> None:
        """Replace the mode set of a source; ``pin``: pin the first mode."""
        mode_set, modes = _values(self._functions.pfnCreateNewSourceModeSet(self.handle, source), 2)
        with self._released_unless_assigned(self._functions.pfnReleaseSourceModeSet, mode_set):
            for place, format in enumerate(formats):
                (mode,) = _values(modes.pfnCreateNewModeInfo(mode_set), 1)
                mode.Type, mode.Format = D3DKMDT_VIDPN_SOURCE_MODE_TYPE.GRAPHICS, format
                _check(modes.pfnAddMode(mode_set, mode))
                if pin and place == 0:
                    _check(modes.pfnPinMode(mode_set, mode.Id))
            _check(self._functions.pfnAssignSourceModeSet(self.handle, source, mode_set))

    def assign_target_modes(
        self, target: int, signals: Sequence[tuple[D3DKMDT_VIDEO_SIGNAL_INFO, D3DKMDT_MODE_PREFERENCE]], *, pin: bool = False
    ) -> None:
        """The same for a target."""
        mode_set, modes = _values(self._functions.pfnCreateNewTargetModeSet(self.handle, target), 2)
        with self._released_unless_assigned(self._functions.pfnReleaseTargetModeSet, mode_set):
            for place, (signal, preference) in enumerate(signals):
                (mode,) = _values(modes.pfnCreateNewModeInfo(mode_set), 1)
                mode.VideoSignalInfo, mode.Preference = signal, preference
                _check(modes.pfnAddMode(mode_set, mode))
                if pin and place == 0:
                    _check(modes.pfnPinMode(mode_set, mode.Id))
            _check(self._functions.pfnAssignTargetModeSet(self.handle, target, mode_set))

    @contextmanager
    def _released_unless_assigned(self, release: Callable[[int, int], int], mode_set: int) -> Iterator[None]:
        """A set that was made belongs to us until it is assigned."""
        try:
            yield
        except BaseException:
            release(self.handle, mode_set)
            raise

    def assign_multisampling(self, source: int) -> None:
        """A pinned source is scanned out with one sample and no other way."""
        _check(self._functions.pfnAssignMultisamplingMethodSet(self.handle, source, [D3DDDI_MULTISAMPLINGMETHOD(1, 1)]))


def _check(status: int) -> None:
    if status != NTSTATUS.STATUS_SUCCESS:
        raise VidPnError(status)


def _values(answer: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """The values behind a status of success."""
    status, *values = answer
    _check(status)
    assert len(values) == count
    return tuple(values)
