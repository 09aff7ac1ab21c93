"""The display half: modes of the virtual monitor, and what the heads scan out.

Models the VidPN pages ("dxgkddi_issupportedvidpn", "dxgkddi_enumvidpncofuncmodality", "dxgkddi_commitvidpn",
"dxgkddi_setvidpnsourceaddress", "dxgkddi_updateactivevidpnpresentpath"). Source n, target n and head n belong together: a head
cannot drive another's target, and a topology that asks for it (clone view) is not supported. The monitor shows any mode up to the
head's greatest size; listed are its own and the usual ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from miniport.allocation import SCANOUT_BY_DDI_FORMAT, Allocation
from miniport.hardware import Registers
from wddm.ddi.d3dkmddi import (
    DXGK_SETVIDPNSOURCEADDRESS_FLAGS,
    DXGK_VIDPN_INTERFACE,
    DXGKARG_COMMITVIDPN,
    DXGKARG_ENUMVIDPNCOFUNCMODALITY,
    DXGKARG_ISSUPPORTEDVIDPN,
    DXGKARG_RECOMMENDFUNCTIONALVIDPN,
    DXGKARG_SETVIDPNSOURCEADDRESS,
    DXGKARG_SETVIDPNSOURCEVISIBILITY,
    DXGKARG_UPDATEACTIVEVIDPNPRESENTPATH,
)
from wddm.ddi.d3dkmdt import (
    D3DDDI_GAMMARAMP_TYPE,
    D3DKMDT_2DREGION,
    D3DKMDT_ENUMCOFUNCMODALITY_PIVOT_TYPE,
    D3DKMDT_GRAPHICS_RENDERING_FORMAT,
    D3DKMDT_MODE_PREFERENCE,
    D3DKMDT_VIDEO_SIGNAL_INFO,
    D3DKMDT_VIDPN_PRESENT_PATH,
    D3DKMDT_VIDPN_PRESENT_PATH_ROTATION,
    D3DKMDT_VIDPN_PRESENT_PATH_ROTATION_SUPPORT,
    D3DKMDT_VIDPN_PRESENT_PATH_SCALING,
    D3DKMDT_VIDPN_PRESENT_PATH_SCALING_SUPPORT,
    D3DKMDT_VIDPN_SOURCE_MODE,
    D3DKMDT_VIDPN_SOURCE_MODE_TYPE,
    D3DKMDT_VIDPN_TARGET_MODE,
)
from wddm.ddi.d3dukmdt import D3DDDI_ID_ALL, D3DDDI_RATIONAL, D3DDDIFORMAT
from wddm.ddi.status import NTSTATUS
from wddm.hw.formats import FORMATS, Format
from wddm.hw.memory import align_up
from wddm.hw.registers import Flip, HeadControl, HeadRegister

#: Width and height of the modes that are listed beside the monitor's own.
USUAL_SIZES: Final = (
    (640, 360),
    (640, 480),
    (800, 600),
    (1024, 768),
    (1280, 720),
    (1280, 1024),
    (1920, 1080),
    (2560, 1440),
    (3840, 2160),
)
OK: Final = NTSTATUS.STATUS_SUCCESS
#: DxgkCbQueryVidPnInterface: from a VidPN handle to its functions.
QueryInterface = Callable[[int], tuple[int, DXGK_VIDPN_INTERFACE | None]]


def _must(function: Callable[..., Any] | None) -> Callable[..., Any]:
    """A function that the interface has to have."""
    assert function is not None
    return function


class Display:
    """All heads."""

    def __init__(self, registers: Registers, heads: int, query_interface: QueryInterface) -> None:
        self._registers = registers
        self.heads = heads
        self._query = query_interface
        self._control = [HeadControl(0)] * heads

    # ----- modes -----------------------------------------------------------------------------------------------------------

    def native_size(self, head: int) -> tuple[int, int]:
        """The monitor's preferred mode, pixels."""
        return self._read(head, HeadRegister.NATIVE_WIDTH), self._read(head, HeadRegister.NATIVE_HEIGHT)

    def max_size(self, head: int) -> tuple[int, int]:
        """The largest mode."""
        return self._read(head, HeadRegister.MAX_WIDTH), self._read(head, HeadRegister.MAX_HEIGHT)

    def refresh(self, head: int) -> D3DDDI_RATIONAL:
        """Refresh rate in Hz."""
        return D3DDDI_RATIONAL(
            self._read(head, HeadRegister.REFRESH_NUMERATOR), max(1, self._read(head, HeadRegister.REFRESH_DENOMINATOR))
        )

    def sizes(self, head: int) -> list[tuple[int, int]]:
        """Listed sizes, the preferred one first."""
        native, (width, height) = self.native_size(head), self.max_size(head)
        return [native, *(s for s in USUAL_SIZES if s != native and s[0] <= width and s[1] <= height)]

    def is_supported(self, arguments: DXGKARG_ISSUPPORTEDVIDPN) -> NTSTATUS:
        """DxgkDdiIsSupportedVidPn: the empty VidPN is; others when every path is n to n and every pinned mode fits its head."""
        arguments.IsVidPnSupported = arguments.hDesiredVidPn == 0 or all(
            self._path_supported(arguments.hDesiredVidPn, path) for path in self._paths(arguments.hDesiredVidPn)
        )
        return OK

    def _path_supported(self, vidpn: int, path: D3DKMDT_VIDPN_PRESENT_PATH) -> bool:
        head = path.VidPnSourceId
        if head >= self.heads or path.VidPnTargetId != head:
            return False
        transformation = path.ContentTransformation
        unpinned = (D3DKMDT_VIDPN_PRESENT_PATH_SCALING.UNPINNED, D3DKMDT_VIDPN_PRESENT_PATH_SCALING.NOTSPECIFIED)
        if transformation.Scaling not in (D3DKMDT_VIDPN_PRESENT_PATH_SCALING.IDENTITY, *unpinned):
            return False
        free = (D3DKMDT_VIDPN_PRESENT_PATH_ROTATION.UNPINNED, D3DKMDT_VIDPN_PRESENT_PATH_ROTATION.NOTSPECIFIED)
        if transformation.Rotation not in (D3DKMDT_VIDPN_PRESENT_PATH_ROTATION.IDENTITY, *free):
            return False
        source, target = self._pinned_source(vidpn, head), self._pinned_target(vidpn, head)
        if source is not None and not self._source_mode_fits(head, source):
            return False
        if source is not None and target is not None:
            # No scaler: what is scanned out is what the signal carries.
            size, active = source.Format.PrimSurfSize, target.VideoSignalInfo.ActiveSize
            return (size.cx, size.cy) == (active.cx, active.cy)
        return True

    def _source_mode_fits(self, head: int, mode: D3DKMDT_VIDPN_SOURCE_MODE) -> bool:
        width, height = self.max_size(head)
        size = mode.Format.PrimSurfSize
        return 0 < size.cx <= width and 0 < size.cy <= height and mode.Format.PixelFormat in SCANOUT_BY_DDI_FORMAT

    def enumerate(self, arguments: DXGKARG_ENUMVIDPNCOFUNCMODALITY) -> NTSTATUS:
        """DxgkDdiEnumVidPnCofuncModality: fill every unpinned mode set but the pivot's."""
        vidpn = arguments.hConstrainingVidPn
        pivot, kinds = arguments.EnumPivotType, D3DKMDT_ENUMCOFUNCMODALITY_PIVOT_TYPE
        for path in self._paths(vidpn):
            head = path.VidPnSourceId
            if head >= self.heads or path.VidPnTargetId != head:
                return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY
            source, target = self._pinned_source(vidpn, head), self._pinned_target(vidpn, head)
            if source is None and not (pivot == kinds.VIDPNSOURCE and arguments.VidPnSourceId == head):
                sizes = self.sizes(head) if target is None else [_region(target.VideoSignalInfo.ActiveSize)]
                self._assign_source_modes(vidpn, head, sizes)
            if target is None and not (pivot == kinds.VIDPNTARGET and arguments.VidPnTargetId == head):
                sizes = self.sizes(head) if source is None else [_region(source.Format.PrimSurfSize)]
                self._assign_target_modes(vidpn, head, sizes)
            transformation = path.ContentTransformation
            if pivot != kinds.SCALING:
                transformation.ScalingSupport = D3DKMDT_VIDPN_PRESENT_PATH_SCALING_SUPPORT.Identity
            if pivot != kinds.ROTATION:
                transformation.RotationSupport = D3DKMDT_VIDPN_PRESENT_PATH_ROTATION_SUPPORT.Identity
            topology, functions = self._topology(vidpn)
            _must(functions.pfnUpdatePathSupportInfo)(topology, path)
        return OK

    def recommend(self, arguments: DXGKARG_RECOMMENDFUNCTIONALVIDPN) -> NTSTATUS:
        """DxgkDdiRecommendFunctionalVidPn: each head with its monitor's own mode."""
        vidpn = arguments.hRecommendedFunctionalVidPn
        topology, functions = self._topology(vidpn)
        for head in range(self.heads):
            status, path = _must(functions.pfnCreateNewPathInfo)(topology)
            if status != OK or path is None:
                return NTSTATUS.STATUS_NO_MEMORY
            path.VidPnSourceId = path.VidPnTargetId = head
            _must(functions.pfnAddPath)(topology, path)
            for assign in (self._assign_source_modes, self._assign_target_modes):
                assign(vidpn, head, [self.native_size(head)], pin=True)
        return OK

    # ----- commit ----------------------------------------------------------------------------------------------------------

    def commit(self, arguments: DXGKARG_COMMITVIDPN) -> NTSTATUS:
        """DxgkDdiCommitVidPn: program the heads of the affected sources; a source without a path goes dark."""
        vidpn = arguments.hFunctionalVidPn
        paths = {path.VidPnSourceId: path for path in self._paths(vidpn)} if vidpn else {}
        modes: dict[int, D3DKMDT_VIDPN_SOURCE_MODE] = {}
        for head, path in paths.items():
            mode = self._pinned_source(vidpn, head)
            if mode is None or not self._path_supported(vidpn, path):
                return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY
            modes[head] = mode
        for head in range(self.heads):
            if arguments.AffectedVidPnSourceId not in (D3DDDI_ID_ALL, head):
                continue
            if head in modes:
                self._program(head, modes[head], self._pinned_target(vidpn, head))
            else:
                self._set_control(head, HeadControl(0))
        return OK

    def _program(self, head: int, mode: D3DKMDT_VIDPN_SOURCE_MODE, target: D3DKMDT_VIDPN_TARGET_MODE | None) -> None:
        size, format = mode.Format.PrimSurfSize, SCANOUT_BY_DDI_FORMAT[mode.Format.PixelFormat]
        self._write(head, HeadRegister.WIDTH, size.cx)
        self._write(head, HeadRegister.HEIGHT, size.cy)
        self._write(head, HeadRegister.PITCH, mode.Format.Stride or align_up(size.cx * FORMATS[format].bytes_per_block, 64))
        self._write(head, HeadRegister.FORMAT, format)
        if target is not None:
            rate = target.VideoSignalInfo.VSyncFreq
            self._write(head, HeadRegister.REFRESH_NUMERATOR, rate.Numerator)
            self._write(head, HeadRegister.REFRESH_DENOMINATOR, rate.Denominator)
        self._set_control(head, HeadControl.ENABLE | HeadControl.VSYNC_INTERRUPT | (self._control[head] & HeadControl.VISIBLE))

    def set_address(self, arguments: DXGKARG_SETVIDPNSOURCEADDRESS, allocation: Allocation | None) -> NTSTATUS:
        """DxgkDdiSetVidPnSourceAddress: latched at the next vertical sync, or at once for immediate flips and mode changes."""
        head = arguments.VidPnSourceId
        if head >= self.heads:
            return NTSTATUS.STATUS_INVALID_PARAMETER
        flags = DXGK_SETVIDPNSOURCEADDRESS_FLAGS
        if allocation is not None and arguments.Flags & flags.ModeChange:
            self._write(head, HeadRegister.PITCH, allocation.pitch)
            self._write(head, HeadRegister.FORMAT, allocation.format)
        self._write(head, HeadRegister.SURFACE_LO, arguments.PrimaryAddress & 0xFFFF_FFFF)
        self._write(head, HeadRegister.SURFACE_HI, arguments.PrimaryAddress >> 32)
        at_once = arguments.Flags & (flags.FlipImmediate | flags.ModeChange)
        self._write(head, HeadRegister.FLIP, Flip.IMMEDIATE if at_once else Flip.ON_VSYNC)
        return OK

    def set_visibility(self, arguments: DXGKARG_SETVIDPNSOURCEVISIBILITY) -> NTSTATUS:
        """DxgkDdiSetVidPnSourceVisibility: scan out, or black; vertical sync goes on."""
        head = arguments.VidPnSourceId
        if head >= self.heads:
            return NTSTATUS.STATUS_INVALID_PARAMETER
        control = self._control[head] & ~HeadControl.VISIBLE
        self._set_control(head, control | (HeadControl.VISIBLE if arguments.Visible else HeadControl(0)))
        return OK

    def enable_vsync(self, enable: bool) -> None:
        """Raise vertical sync interrupts, or stop."""
        for head, control in enumerate(self._control):
            if control & HeadControl.ENABLE:
                quiet = control & ~HeadControl.VSYNC_INTERRUPT
                self._set_control(head, quiet | (HeadControl.VSYNC_INTERRUPT if enable else HeadControl(0)))

    def update_path(self, arguments: DXGKARG_UPDATEACTIVEVIDPNPRESENTPATH) -> NTSTATUS:
        """DxgkDdiUpdateActiveVidPnPresentPath: gamma; rotation and scaling other than identity are not supported."""
        path = arguments.VidPnPresentPathInfo
        head = path.VidPnSourceId
        if head >= self.heads or path.VidPnTargetId != head:
            return NTSTATUS.STATUS_GRAPHICS_PATH_NOT_IN_TOPOLOGY
        ramp = path.GammaRamp
        if ramp.Type == D3DDDI_GAMMARAMP_TYPE.DEFAULT:
            table = np.tile(np.arange(256, dtype=np.uint16) * 257, 3)
        elif ramp.Type == D3DDDI_GAMMARAMP_TYPE.RGB256x3x16 and ramp.Data is not None:
            table = np.frombuffer(ramp.Data.tobytes(), np.uint16)
        else:
            return NTSTATUS.STATUS_INVALID_PARAMETER
        self._write(head, HeadRegister.GAMMA_INDEX, 0)
        for entry in table.tolist():
            self._write(head, HeadRegister.GAMMA_DATA, entry)
        return OK

    # ----- VidPN access ----------------------------------------------------------------------------------------------------

    def _interface(self, vidpn: int) -> DXGK_VIDPN_INTERFACE:
        status, functions = self._query(vidpn)
        assert status == OK
        assert functions is not None
        return functions

    def _topology(self, vidpn: int) -> tuple[int, Any]:
        _, topology, functions = _must(self._interface(vidpn).pfnGetTopology)(vidpn)
        return topology, functions

    def _paths(self, vidpn: int) -> Iterator[D3DKMDT_VIDPN_PRESENT_PATH]:
        topology, functions = self._topology(vidpn)
        _, path = _must(functions.pfnAcquireFirstPathInfo)(topology)
        while path is not None:
            _, following = _must(functions.pfnAcquireNextPathInfo)(topology, path)
            yield path
            path = following

    def _pinned_source(self, vidpn: int, head: int) -> D3DKMDT_VIDPN_SOURCE_MODE | None:
        functions = self._interface(vidpn)
        _, mode_set, modes = _must(functions.pfnAcquireSourceModeSet)(vidpn, head)
        if modes is None:
            return None
        _, mode = _must(modes.pfnAcquirePinnedModeInfo)(mode_set)
        _must(functions.pfnReleaseSourceModeSet)(vidpn, mode_set)
        pinned: D3DKMDT_VIDPN_SOURCE_MODE | None = mode
        return pinned

    def _pinned_target(self, vidpn: int, head: int) -> D3DKMDT_VIDPN_TARGET_MODE | None:
        functions = self._interface(vidpn)
        _, mode_set, modes = _must(functions.pfnAcquireTargetModeSet)(vidpn, head)
        if modes is None:
            return None
        _, mode = _must(modes.pfnAcquirePinnedModeInfo)(mode_set)
        _must(functions.pfnReleaseTargetModeSet)(vidpn, mode_set)
        pinned: D3DKMDT_VIDPN_TARGET_MODE | None = mode
        return pinned

    def _assign_source_modes(self, vidpn: int, head: int, sizes: list[tuple[int, int]], *, pin: bool = False) -> None:
        functions = self._interface(vidpn)
        _, mode_set, modes = _must(functions.pfnCreateNewSourceModeSet)(vidpn, head)
        assert modes is not None
        first = None
        for width, height in sizes:
            for ddi_format, format in SCANOUT_BY_DDI_FORMAT.items():
                _, mode = _must(modes.pfnCreateNewModeInfo)(mode_set)
                mode.Type = D3DKMDT_VIDPN_SOURCE_MODE_TYPE.GRAPHICS
                mode.Format = _rendering_format(width, height, ddi_format, format)
                _must(modes.pfnAddMode)(mode_set, mode)
                first = mode if first is None else first
        if pin and first is not None:
            _must(modes.pfnPinMode)(mode_set, first.Id)
        _must(functions.pfnAssignSourceModeSet)(vidpn, head, mode_set)

    def _assign_target_modes(self, vidpn: int, head: int, sizes: list[tuple[int, int]], *, pin: bool = False) -> None:
        functions = self._interface(vidpn)
        _, mode_set, modes = _must(functions.pfnCreateNewTargetModeSet)(vidpn, head)
        assert modes is not None
        first = None
        for width, height in sizes:
            _, mode = _must(modes.pfnCreateNewModeInfo)(mode_set)
            mode.VideoSignalInfo = _signal(width, height, self.refresh(head))
            native = (width, height) == self.native_size(head)
            mode.Preference = D3DKMDT_MODE_PREFERENCE.PREFERRED if native else D3DKMDT_MODE_PREFERENCE.NOTPREFERRED
            _must(modes.pfnAddMode)(mode_set, mode)
            first = mode if first is None else first
        if pin and first is not None:
            _must(modes.pfnPinMode)(mode_set, first.Id)
        _must(functions.pfnAssignTargetModeSet)(vidpn, head, mode_set)

    # ----- registers -------------------------------------------------------------------------------------------------------

    def _read(self, head: int, register: HeadRegister) -> int:
        return self._registers.read_head(head, register)

    def _write(self, head: int, register: HeadRegister, value: int) -> None:
        self._registers.write_head(head, register, value)

    def _set_control(self, head: int, control: HeadControl) -> None:
        self._control[head] = control
        self._write(head, HeadRegister.CONTROL, control)


def _region(region: D3DKMDT_2DREGION) -> tuple[int, int]:
    return region.cx, region.cy


def _rendering_format(width: int, height: int, ddi_format: int, format: Format) -> D3DKMDT_GRAPHICS_RENDERING_FORMAT:
    size = D3DKMDT_2DREGION(width, height)
    stride = align_up(width * FORMATS[format].bytes_per_block, 64)
    return D3DKMDT_GRAPHICS_RENDERING_FORMAT(size, D3DKMDT_2DREGION(width, height), stride, D3DDDIFORMAT(ddi_format))


def _signal(width: int, height: int, rate: D3DDDI_RATIONAL) -> D3DKMDT_VIDEO_SIGNAL_INFO:
    # Blanking of a quarter of the width and a twentieth of the height, as common timings have.
    total = D3DKMDT_2DREGION(width + width // 4, height + height // 20)
    lines = rate.Numerator * total.cy
    return D3DKMDT_VIDEO_SIGNAL_INFO(
        TotalSize=total,
        ActiveSize=D3DKMDT_2DREGION(width, height),
        VSyncFreq=D3DDDI_RATIONAL(rate.Numerator, rate.Denominator),
        HSyncFreq=D3DDDI_RATIONAL(lines, rate.Denominator),
        PixelRate=lines * total.cx // rate.Denominator,
    )
