"""The display half: modes of the virtual monitor, and what the heads scan out.

Models the VidPN pages ("dxgkddi_issupportedvidpn", "dxgkddi_enumvidpncofuncmodality", "dxgkddi_commitvidpn",
"dxgkddi_setvidpnsourceaddress", "dxgkddi_updateactivevidpnpresentpath"). Source n, target n and head n belong together: a head
cannot drive another's target, and a topology that asks for it (clone view) is not supported. The monitor shows any mode up to the
head's greatest size; listed are its own and the usual ones.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from wddm.ddi.d3dkmddi import (
    DXGK_SETVIDPNSOURCEADDRESS_FLAGS,
    DXGKARG_COMMITVIDPN,
    DXGKARG_ENUMVIDPNCOFUNCMODALITY,
    DXGKARG_GETSCANLINE,
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
    D3DKMDT_GAMMA_RAMP,
    D3DKMDT_GRAPHICS_RENDERING_FORMAT,
    D3DKMDT_MODE_PREFERENCE,
    D3DKMDT_VIDEO_SIGNAL_INFO,
    D3DKMDT_VIDPN_PRESENT_PATH,
    D3DKMDT_VIDPN_PRESENT_PATH_ROTATION,
    D3DKMDT_VIDPN_PRESENT_PATH_ROTATION_SUPPORT,
    D3DKMDT_VIDPN_PRESENT_PATH_SCALING,
    D3DKMDT_VIDPN_PRESENT_PATH_SCALING_SUPPORT,
    D3DKMDT_VIDPN_PRESENT_PATH_TRANSFORMATION,
)
from wddm.ddi.d3dukmdt import D3DDDI_ID_ALL, D3DDDI_RATIONAL, D3DDDIFORMAT
from wddm.ddi.status import NTSTATUS
from wddm.hw.formats import FORMATS, Format
from wddm.hw.layout import PITCH_ALIGNMENT
from wddm.hw.memory import align_up
from wddm.hw.registers import Flip, HeadControl, HeadRegister

from .allocation import SCANOUT_BY_DDI_FORMAT, Allocation
from .hardware import Registers
from .vidpn import QueryInterface, SourceMode, TargetMode, VidPn, VidPnError

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
#: Refresh rates that a head can keep, Hz.
MAX_REFRESH: Final = 1000
_SCALING: Final = D3DKMDT_VIDPN_PRESENT_PATH_SCALING
_ROTATION: Final = D3DKMDT_VIDPN_PRESENT_PATH_ROTATION
_SCALING_FREE: Final = (_SCALING.UNPINNED, _SCALING.NOTSPECIFIED)
_ROTATION_FREE: Final = (_ROTATION.UNPINNED, _ROTATION.NOTSPECIFIED)
_GAMMA_ENTRIES: Final = 3 * 256


class Display:
    """All heads."""

    def __init__(self, registers: Registers, heads: int, query_interface: QueryInterface) -> None:
        self._registers = registers
        self.heads = heads
        self._query = query_interface
        self._control = [HeadControl(0)] * heads
        self._vsync = HeadControl.VSYNC_INTERRUPT  #: or 0, when ControlInterrupt has switched it off
        self._surface = [(0, 0)] * heads  #: pitch and format as programmed
        #: The monitors' own refresh rates: a mode writes another one into the register.
        self._refresh = [
            (self._read(n, HeadRegister.REFRESH_NUMERATOR), self._read(n, HeadRegister.REFRESH_DENOMINATOR)) for n in range(heads)
        ]

    # ----- modes -----------------------------------------------------------------------------------------------------------

    def native_size(self, head: int) -> tuple[int, int]:
        """The monitor's preferred mode, pixels."""
        return self._read(head, HeadRegister.NATIVE_WIDTH), self._read(head, HeadRegister.NATIVE_HEIGHT)

    def max_size(self, head: int) -> tuple[int, int]:
        """The largest mode."""
        return self._read(head, HeadRegister.MAX_WIDTH), self._read(head, HeadRegister.MAX_HEIGHT)

    def refresh(self, head: int) -> D3DDDI_RATIONAL:
        """Refresh rate of the monitor in Hz."""
        numerator, denominator = self._refresh[head]
        return D3DDDI_RATIONAL(numerator, max(1, denominator))

    def sizes(self, head: int) -> list[tuple[int, int]]:
        """Listed sizes, the preferred one first."""
        native, (width, height) = self.native_size(head), self.max_size(head)
        return [native, *(s for s in USUAL_SIZES if s != native and s[0] <= width and s[1] <= height)]

    def is_supported(self, arguments: DXGKARG_ISSUPPORTEDVIDPN) -> NTSTATUS:
        """DxgkDdiIsSupportedVidPn: the empty VidPN is; others when every path is n to n and every pinned mode fits its head."""
        arguments.IsVidPnSupported = True
        if arguments.hDesiredVidPn:
            try:
                vidpn = VidPn(self._query, arguments.hDesiredVidPn)
                with vidpn.paths() as paths:
                    arguments.IsVidPnSupported = all(self._path_supported(vidpn, path) for path in paths)
            except VidPnError:
                return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY
        return OK

    def _path_supported(self, vidpn: VidPn, path: D3DKMDT_VIDPN_PRESENT_PATH) -> bool:
        head = path.VidPnSourceId
        if head >= self.heads or path.VidPnTargetId != head or not _plain(path.ContentTransformation):
            return False
        source, target = vidpn.pinned_source(head), vidpn.pinned_target(head)
        if source is not None and not self._source_fits(head, source):
            return False
        if target is not None and not self._target_fits(head, target):
            return False
        if source is not None and target is not None:
            # No scaler: what is scanned out is what the signal carries.
            return (source.width, source.height) == (target.width, target.height)
        return True

    def _source_fits(self, head: int, mode: SourceMode) -> bool:
        width, height = self.max_size(head)
        format = SCANOUT_BY_DDI_FORMAT.get(mode.format)
        if format is None or not (0 < mode.width <= width and 0 < mode.height <= height):
            return False
        return mode.stride == 0 or mode.stride >= mode.width * FORMATS[format].bytes_per_block

    def _target_fits(self, head: int, mode: TargetMode) -> bool:
        width, height = self.max_size(head)
        if not (0 < mode.width <= width and 0 < mode.height <= height):
            return False
        return 0 < mode.denominator <= mode.numerator <= MAX_REFRESH * mode.denominator

    def enumerate(self, arguments: DXGKARG_ENUMVIDPNCOFUNCMODALITY) -> int:
        """DxgkDdiEnumVidPnCofuncModality: fill every unpinned mode set but the pivot's."""
        try:
            vidpn = VidPn(self._query, arguments.hConstrainingVidPn)
            with vidpn.paths() as paths:
                if any(path.VidPnSourceId >= self.heads or path.VidPnTargetId != path.VidPnSourceId for path in paths):
                    return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY
                for path in paths:
                    self._enumerate_path(vidpn, path, arguments)
        except VidPnError as error:
            return error.status
        return OK

    def _enumerate_path(
        self, vidpn: VidPn, path: D3DKMDT_VIDPN_PRESENT_PATH, arguments: DXGKARG_ENUMVIDPNCOFUNCMODALITY
    ) -> None:
        head, pivot, kinds = path.VidPnSourceId, arguments.EnumPivotType, D3DKMDT_ENUMCOFUNCMODALITY_PIVOT_TYPE
        source, target = vidpn.pinned_source(head), vidpn.pinned_target(head)
        if source is not None:
            vidpn.assign_multisampling(head)
        elif not (pivot == kinds.VIDPNSOURCE and arguments.VidPnSourceId == head):
            vidpn.assign_source_modes(
                head, _rendering_formats(self.sizes(head) if target is None else [(target.width, target.height)])
            )
        if target is None and not (pivot == kinds.VIDPNTARGET and arguments.VidPnTargetId == head):
            self._assign_signals(vidpn, head, self.sizes(head) if source is None else [(source.width, source.height)])
        transformation = path.ContentTransformation
        if transformation.Scaling in _SCALING_FREE and pivot != kinds.SCALING:
            transformation.ScalingSupport = D3DKMDT_VIDPN_PRESENT_PATH_SCALING_SUPPORT.Identity
        if transformation.Rotation in _ROTATION_FREE and pivot != kinds.ROTATION:
            transformation.RotationSupport = D3DKMDT_VIDPN_PRESENT_PATH_ROTATION_SUPPORT.Identity
        vidpn.update_support(path)

    def _assign_signals(self, vidpn: VidPn, head: int, sizes: list[tuple[int, int]], *, pin: bool = False) -> None:
        native, rate = self.native_size(head), self.refresh(head)
        preferences = D3DKMDT_MODE_PREFERENCE
        signals = [(_signal(*s, rate), preferences.PREFERRED if s == native else preferences.NOTPREFERRED) for s in sizes]
        vidpn.assign_target_modes(head, signals, pin=pin)

    def recommend(self, arguments: DXGKARG_RECOMMENDFUNCTIONALVIDPN) -> NTSTATUS:
        """DxgkDdiRecommendFunctionalVidPn: each head with its monitor's own mode."""
        try:
            vidpn = VidPn(self._query, arguments.hRecommendedFunctionalVidPn)
            for head in range(self.heads):
                vidpn.add_path(head, head)
                vidpn.assign_source_modes(head, _rendering_formats([self.native_size(head)]), pin=True)
                self._assign_signals(vidpn, head, [self.native_size(head)], pin=True)
        except VidPnError:
            return NTSTATUS.STATUS_GRAPHICS_NO_RECOMMENDED_FUNCTIONAL_VIDPN
        return OK

    # ----- commit ----------------------------------------------------------------------------------------------------------

    def commit(self, arguments: DXGKARG_COMMITVIDPN) -> NTSTATUS:
        """DxgkDdiCommitVidPn: program the heads of the affected sources, all or none; a source without a path goes dark.

        What a head shows is told later: it is black until SetVidPnSourceVisibility.
        """
        affected = range(self.heads)
        if arguments.AffectedVidPnSourceId != D3DDDI_ID_ALL:
            if arguments.AffectedVidPnSourceId not in affected:
                return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_SOURCE
            affected = range(arguments.AffectedVidPnSourceId, arguments.AffectedVidPnSourceId + 1)
        modes: dict[int, tuple[SourceMode, TargetMode]] = {}
        try:
            if arguments.hFunctionalVidPn:
                vidpn = VidPn(self._query, arguments.hFunctionalVidPn)
                with vidpn.paths() as paths:
                    for path in (p for p in paths if len(affected) > 1 or p.VidPnSourceId in affected):
                        source, target = vidpn.pinned_source(path.VidPnSourceId), vidpn.pinned_target(path.VidPnTargetId)
                        if source is None or target is None or not self._path_supported(vidpn, path):
                            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY
                        modes[path.VidPnSourceId] = source, target
        except VidPnError:
            return NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY
        for head in affected:
            if head in modes:
                self._program(head, *modes[head])
            else:
                self._set_control(head, HeadControl(0))
        return OK

    def _program(self, head: int, source: SourceMode, target: TargetMode) -> None:
        format = SCANOUT_BY_DDI_FORMAT[source.format]
        self._write(head, HeadRegister.WIDTH, source.width)
        self._write(head, HeadRegister.HEIGHT, source.height)
        self._set_surface(head, source.stride or _pitch(source.width, format), format)
        self._write(head, HeadRegister.REFRESH_NUMERATOR, target.numerator)
        self._write(head, HeadRegister.REFRESH_DENOMINATOR, target.denominator)
        self._set_control(head, HeadControl.ENABLE | self._vsync)

    def _set_surface(self, head: int, pitch: int, format: Format) -> None:
        if self._surface[head] != (pitch, format):
            self._surface[head] = (pitch, format)
            self._write(head, HeadRegister.PITCH, pitch)
            self._write(head, HeadRegister.FORMAT, format)

    def set_address(self, arguments: DXGKARG_SETVIDPNSOURCEADDRESS, allocation: Allocation | None) -> NTSTATUS:
        """DxgkDdiSetVidPnSourceAddress: latched at the next vertical sync, or at once for immediate flips and mode changes."""
        head = arguments.VidPnSourceId
        if head >= self.heads:
            return NTSTATUS.STATUS_INVALID_PARAMETER
        flags = DXGK_SETVIDPNSOURCEADDRESS_FLAGS
        if allocation is not None:
            self._set_surface(head, allocation.pitch, allocation.format)
        self._write(head, HeadRegister.SURFACE_LO, arguments.PrimaryAddress)
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
        """Raise vertical sync interrupts, or stop: for all heads, now and after every mode change."""
        self._vsync = HeadControl.VSYNC_INTERRUPT if enable else HeadControl(0)
        for head, control in enumerate(self._control):
            if control & HeadControl.ENABLE:
                self._set_control(head, control & ~HeadControl.VSYNC_INTERRUPT | self._vsync)

    def scan_line(self, arguments: DXGKARG_GETSCANLINE) -> NTSTATUS:
        """DxgkDdiGetScanLine."""
        head = arguments.VidPnTargetId
        if head >= self.heads:
            return NTSTATUS.STATUS_INVALID_PARAMETER
        line, height = self._read(head, HeadRegister.SCAN_LINE), self._read(head, HeadRegister.HEIGHT)
        arguments.InVerticalBlank, arguments.ScanLine = line >= height, line
        return OK

    def update_path(self, arguments: DXGKARG_UPDATEACTIVEVIDPNPRESENTPATH) -> NTSTATUS:
        """DxgkDdiUpdateActiveVidPnPresentPath: gamma; rotation and scaling other than identity are not supported."""
        path = arguments.VidPnPresentPathInfo
        head = path.VidPnSourceId
        if head >= self.heads or path.VidPnTargetId != head or not self._control[head] & HeadControl.ENABLE:
            return NTSTATUS.STATUS_GRAPHICS_PATH_NOT_IN_TOPOLOGY
        if not _plain(path.ContentTransformation):
            return NTSTATUS.STATUS_GRAPHICS_PATH_CONTENT_GEOMETRY_TRANSFORMATION_NOT_SUPPORTED
        table = _gamma(path.GammaRamp)
        if table is None:
            return NTSTATUS.STATUS_GRAPHICS_GAMMA_RAMP_NOT_SUPPORTED
        self._write(head, HeadRegister.GAMMA_INDEX, 0)
        for entry in table.tolist():
            self._write(head, HeadRegister.GAMMA_DATA, entry)
        return OK

    # ----- registers -------------------------------------------------------------------------------------------------------

    def _read(self, head: int, register: HeadRegister) -> int:
        return self._registers.read_head(head, register)

    def _write(self, head: int, register: HeadRegister, value: int) -> None:
        self._registers.write_head(head, register, value)

    def _set_control(self, head: int, control: HeadControl) -> None:
        self._control[head] = control
        self._write(head, HeadRegister.CONTROL, control)


def _plain(transformation: D3DKMDT_VIDPN_PRESENT_PATH_TRANSFORMATION) -> bool:
    """Whether a path neither scales nor rotates, or leaves it open."""
    return transformation.Scaling in (_SCALING.IDENTITY, *_SCALING_FREE) and transformation.Rotation in (
        _ROTATION.IDENTITY,
        *_ROTATION_FREE,
    )


def _gamma(ramp: D3DKMDT_GAMMA_RAMP) -> npt.NDArray[np.uint16] | None:
    """The entries of all three channels; None for a ramp that the head cannot take."""
    if ramp.Type == D3DDDI_GAMMARAMP_TYPE.DEFAULT:
        return np.tile(np.arange(256, dtype=np.uint16) * np.uint16(257), 3)
    if ramp.Type == D3DDDI_GAMMARAMP_TYPE.RGB256x3x16 and ramp.Data is not None and ramp.Data.nbytes == 2 * _GAMMA_ENTRIES:
        return np.frombuffer(ramp.Data.tobytes(), np.uint16)
    return None


def _pitch(width: int, format: Format) -> int:
    return align_up(width * FORMATS[format].bytes_per_block, PITCH_ALIGNMENT)


def _rendering_formats(sizes: list[tuple[int, int]]) -> list[D3DKMDT_GRAPHICS_RENDERING_FORMAT]:
    """Every size in every format that can be scanned out, size by size."""
    return [
        D3DKMDT_GRAPHICS_RENDERING_FORMAT(
            D3DKMDT_2DREGION(width, height),
            D3DKMDT_2DREGION(width, height),
            _pitch(width, format),
            D3DDDIFORMAT(ddi_format),
        )
        for width, height in sizes
        for ddi_format, format in SCANOUT_BY_DDI_FORMAT.items()
    ]


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
