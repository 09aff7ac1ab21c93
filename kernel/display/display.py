"""The display half of the kernel: modes, ownership, flips and vertical blanks of every source.

Owns the active VidPN and one :class:`~kernel.display.flip_queue.FlipQueue` per source; drives DxgkDdiCommitVidPn,
SetVidPnSourceAddress and SetVidPnSourceVisibility in the order hide, commit, address, show. Source n goes to target n. What is on
the screen is pinned until something else is. Models sections 6 to 11 of present-and-display. DEVIATES: a source that nobody owns
belongs to whoever sets its mode or flips to it first, and there is no desktop: without an owner a source is black.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from kernel.errors import refusal, vidsch_bug_check
from kernel.miniport_host import MiniportHost, StartError, tracer
from kernel.objects import Context, Device
from kernel.vidmm.allocation import Allocation
from kernel.vidmm.manager import VidMm
from wddm.ddi.d3dkmddi import (
    DXGK_SETVIDPNSOURCEADDRESS_FLAGS,
    DXGKARG_COMMITVIDPN,
    DXGKARG_DESCRIBEALLOCATION,
    DXGKARG_ENUMVIDPNCOFUNCMODALITY,
    DXGKARG_ISSUPPORTEDVIDPN,
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
    D3DKMDT_VIDPN_SOURCE_MODE,
    D3DKMDT_VIDPN_SOURCE_MODE_TYPE,
    D3DKMDT_VIDPN_TARGET_MODE,
    D3DDDI_GAMMA_RAMP_RGB256x3x16_DTYPE,
)
from wddm.ddi.d3dkmthk import D3DKMT_VIDPNSOURCEOWNER_TYPE as Owner
from wddm.ddi.d3dukmdt import D3DDDI_RATIONAL, D3DDDIFORMAT
from wddm.ddi.status import NTSTATUS, ntstatus_name
from wddm.wire.thunk import PresentRetired

from .flip_queue import Flip, FlipActions, FlipKind, FlipQueue
from .vidpn import VidPn, VidPnObjects

_OK: Final = NTSTATUS.STATUS_SUCCESS
#: A4R4G4B4-like alpha does not matter for scan-out: formats that are interchangeable with one another.
_TWINS: Final = {
    D3DDDIFORMAT.A8R8G8B8: D3DDDIFORMAT.X8R8G8B8,
    D3DDDIFORMAT.X8R8G8B8: D3DDDIFORMAT.A8R8G8B8,
    D3DDDIFORMAT.A8B8G8R8: D3DDDIFORMAT.X8B8G8R8,
    D3DDDIFORMAT.X8B8G8R8: D3DDDIFORMAT.A8B8G8R8,
}


@dataclass(frozen=True, slots=True)
class Mode:
    """Width and height in pixels, format, refresh in Hz."""

    width: int
    height: int
    format: D3DDDIFORMAT
    refresh: tuple[int, int]


@dataclass(slots=True, eq=False)
class Present:
    """One present of a context. ``uses`` are pinned for it until it has left the screen or was dropped."""

    device: Device
    context: Context
    id: int
    uses: list[Allocation]
    told: bool = False


@dataclass(slots=True, eq=False)
class Source:
    """A video present source."""

    id: int
    mode: Mode | None = None
    visible: bool = False
    owner: Device | None = None
    owner_type: Owner = Owner.UNOWNED
    flips: FlipQueue = field(default_factory=FlipQueue)
    flip_count: int = 0
    expected: int = 0  #: flips that wait for rendering to complete
    not_shown: list[Present] = field(default_factory=list)
    vblank_waits: list[Callable[[int, float], None]] = field(default_factory=list)
    path: D3DKMDT_VIDPN_PRESENT_PATH | None = None


class Display:
    """All sources of one adapter."""

    def __init__(
        self, host: MiniportHost, vidmm: VidMm, sources: int, targets: int, clock: Callable[[], float]
    ) -> None:
        self._host = host
        self._vidmm = vidmm
        self._clock = clock
        self.sources = [Source(n) for n in range(min(sources, targets))]
        self.objects = VidPnObjects(sources, targets)
        host.query_vidpn = self.objects.interface
        self._modes: dict[int, list[Mode]] = {}
        #: Called when surfaces have come to the screen or left it.
        self.changed: Callable[[], None] = lambda: None

    # ----- modes -------------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Give every source its monitor's preferred mode, black. Raises StartError."""
        for source in self.sources:
            modes = self.modes(source.id)
            if not modes:
                raise StartError(f"source {source.id} has no mode that its monitor can show")
            status = self._commit(source, modes[0], 0)
            if status != _OK:
                raise StartError(f"DxgkDdiCommitVidPn refused {modes[0]}: {ntstatus_name(status)}")

    def source(self, number: int) -> Source:
        """A source by id. Raises CallError (STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_SOURCE)."""
        if not 0 <= number < len(self.sources):
            raise refusal(
                NTSTATUS.STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_SOURCE,
                f"there is no video present source {number}; the adapter has {len(self.sources)}",
            )
        return self.sources[number]

    def modes(self, number: int) -> list[Mode]:
        """Modes of a source that its monitor can show, the preferred one first."""
        found = self._modes.get(number)
        if found is None:
            vidpn = self._cofunctional(number)
            signals = sorted(
                vidpn.targets[number].modes, key=lambda m: m.Preference is not D3DKMDT_MODE_PREFERENCE.PREFERRED
            )
            found = [
                _mode(source, signal)
                for signal in signals
                for source in vidpn.sources[number].modes
                if _size(source) == (signal.VideoSignalInfo.ActiveSize.cx, signal.VideoSignalInfo.ActiveSize.cy)
            ]
            self._modes[number] = found
        return found

    def _cofunctional(self, number: int) -> VidPn:
        vidpn = VidPn()
        vidpn.add_path(number, number)
        handle = self.objects.open(vidpn)
        try:
            arguments = DXGKARG_ENUMVIDPNCOFUNCMODALITY(handle, D3DKMDT_ENUMCOFUNCMODALITY_PIVOT_TYPE.NOPIVOT)
            status = self._host.call("DxgkDdiEnumVidPnCofuncModality", self._host.hAdapter, arguments)
        finally:
            self.objects.close(handle)
        if status != _OK:
            raise refusal(status, f"DxgkDdiEnumVidPnCofuncModality refused a path from source {number} to its target")
        return vidpn

    def describe(self, allocation: Allocation) -> Mode:
        """What a primary is (DxgkDdiDescribeAllocation). Raises CallError."""
        arguments = DXGKARG_DESCRIBEALLOCATION(allocation.info.hAllocation)
        status = self._host.call("DxgkDdiDescribeAllocation", self._host.hAdapter, arguments)
        if status != _OK or not arguments.Width or not arguments.Height or arguments.Format is D3DDDIFORMAT.UNKNOWN:
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, "the allocation is nothing that can be scanned out")
        refresh = arguments.RefreshRate
        return Mode(arguments.Width, arguments.Height, arguments.Format, (refresh.Numerator, refresh.Denominator))

    def check_mode_owner(self, source: Source, device: Device) -> None:
        """Whether ``device`` may set the mode: takes a source that nobody owns. Raises CallError."""
        if source.owner is None:
            source.owner, source.owner_type = device, Owner.SHARED
        elif source.owner is not device:
            raise refusal(
                NTSTATUS.STATUS_GRAPHICS_NOT_EXCLUSIVE_MODE_OWNER,
                f"source {source.id} belongs to a device of {source.owner.process}",
            )

    def set_mode(self, source: Source, present: Present, allocation: Allocation) -> None:
        """Scan out ``allocation``, which is resident and pinned for ``present``, in its own mode. Raises CallError."""
        wanted = self.describe(allocation)
        if not wanted.refresh[0]:
            same = [m for m in self.modes(source.id) if (m.width, m.height) == (wanted.width, wanted.height)]
            wanted = Mode(wanted.width, wanted.height, wanted.format, (same or self.modes(source.id))[0].refresh)
        self._show(source, False)
        status = self._commit(source, wanted, allocation.info.hAllocation)
        if status != _OK:
            self._show(source, source.flips.displayed is not None)
            raise refusal(
                NTSTATUS.STATUS_INVALID_PARAMETER,
                f"source {source.id} cannot show {wanted.width} x {wanted.height} {wanted.format.name}: {ntstatus_name(status)}",
            )
        flip = Flip(allocation.address, 1, present)
        self._program(source, flip, DXGK_SETVIDPNSOURCEADDRESS_FLAGS.ModeChange)
        self._apply(source, source.flips.show_now(flip))
        allocation.displayed += 1
        self._vidmm.settle()
        self._show(source, True)

    def _commit(self, source: Source, wanted: Mode, hPrimary: int) -> int:
        vidpn = self._cofunctional(source.id)
        source_set, target_set = vidpn.sources[source.id], vidpn.targets[source.id]
        formats = (wanted.format, _TWINS.get(wanted.format))
        found = [
            m
            for wish in formats
            for m in source_set.modes
            if _size(m) == (wanted.width, wanted.height) and m.Format.PixelFormat == wish
        ]
        source_set.pinned = found[0] if found else _source_mode(wanted)
        signals = [
            m
            for m in target_set.modes
            if (m.VideoSignalInfo.ActiveSize.cx, m.VideoSignalInfo.ActiveSize.cy) == (wanted.width, wanted.height)
            and _same_rate(m.VideoSignalInfo.VSyncFreq, wanted.refresh)
        ]
        target_set.pinned = signals[0] if signals else _target_mode(wanted)
        assert vidpn.functional
        handle = self.objects.open(vidpn)
        try:
            question = DXGKARG_ISSUPPORTEDVIDPN(handle)
            status: int = self._host.call("DxgkDdiIsSupportedVidPn", self._host.hAdapter, question)
            if status != _OK:
                return status
            if not question.IsVidPnSupported:
                return NTSTATUS.STATUS_GRAPHICS_VIDPN_MODALITY_NOT_SUPPORTED
            commit = DXGKARG_COMMITVIDPN(handle, source.id, hPrimaryAllocation=hPrimary)
            status = self._host.call("DxgkDdiCommitVidPn", self._host.hAdapter, commit)
        finally:
            self.objects.close(handle)
        if status == _OK:
            source.mode = wanted
            source.path = vidpn.paths[0]
        return status

    def _show(self, source: Source, visible: bool) -> None:
        if source.visible is not visible:
            source.visible = visible
            arguments = DXGKARG_SETVIDPNSOURCEVISIBILITY(source.id, visible)
            self._host.call("DxgkDdiSetVidPnSourceVisibility", self._host.hAdapter, arguments)

    def set_gamma(self, source: Source, ramp: bytes) -> None:
        """Three tables of 256 u16, or nothing for the identity. Raises CallError."""
        if len(ramp) not in (0, 1536):
            raise refusal(NTSTATUS.STATUS_GRAPHICS_INVALID_GAMMA_RAMP, f"a gamma ramp of {len(ramp)} bytes; it has 1536 or none")
        path = source.path
        if path is None:
            raise refusal(NTSTATUS.STATUS_GRAPHICS_NO_ACTIVE_VIDPN, f"source {source.id} is not part of the active VidPN")
        if ramp:
            data = np.frombuffer(ramp, D3DDDI_GAMMA_RAMP_RGB256x3x16_DTYPE)
            path.GammaRamp = D3DKMDT_GAMMA_RAMP(D3DDDI_GAMMARAMP_TYPE.RGB256x3x16, len(ramp), data)
        else:
            path.GammaRamp = D3DKMDT_GAMMA_RAMP()
        arguments = DXGKARG_UPDATEACTIVEVIDPNPRESENTPATH(path)
        status = self._host.call("DxgkDdiUpdateActiveVidPnPresentPath", self._host.hAdapter, arguments, trace={"source": source.id})
        if status != _OK:
            raise refusal(status, f"the path of source {source.id} does not take this gamma ramp")

    # ----- ownership ---------------------------------------------------------------------------------------------------------

    def set_owner(self, device: Device, number: int, owner_type: int) -> None:
        """D3DKMTSetVidPnSourceOwner. Raises CallError."""
        source = self.source(number)
        if owner_type not in (Owner.UNOWNED, Owner.SHARED, Owner.EXCLUSIVE):
            raise refusal(NTSTATUS.STATUS_INVALID_PARAMETER, f"owner type {owner_type} is not UNOWNED, SHARED or EXCLUSIVE")
        if owner_type == Owner.UNOWNED:
            if source.owner is device:
                self._disown(source)
            return
        if source.owner is not None and source.owner is not device:
            raise refusal(
                NTSTATUS.STATUS_GRAPHICS_VIDPN_SOURCE_IN_USE, f"source {number} belongs to a device of {source.owner.process}"
            )
        source.owner, source.owner_type = device, Owner(owner_type)

    def release_device(self, device: Device) -> None:
        """The device is gone: its flips are dropped, what it shows goes dark, its sources have no owner."""
        for source in self.sources:
            displayed = source.flips.displayed
            shows = displayed is not None and isinstance(displayed.token, Present) and displayed.token.device is device
            if source.owner is device or shows:
                self._disown(source)
            mine = [f.token for f in source.flips.queue if isinstance(f.token, Present) and f.token.device is device]
            if mine:
                self._apply(source, source.flips.drop(list(mine)))
            for present in [p for p in source.not_shown if p.device is device]:
                source.not_shown.remove(present)
                self._tell(source, present, False)

    def _disown(self, source: Source) -> None:
        source.owner, source.owner_type = None, Owner.UNOWNED
        # Black first: what was scanned out may be used for something else afterwards.
        self._show(source, False)
        self._apply(source, source.flips.clear())

    # ----- flips -------------------------------------------------------------------------------------------------------------

    def expect(self, number: int, present: Present) -> None:
        """A flip has left its software queue: nothing may draw into its surface until it has been shown."""
        self.sources[number].expected += 1
        present.uses[0].flipping += 1

    def needs(self, allocation: Allocation) -> bool:
        """Whether drawing into ``allocation`` has to wait: a flip of it is on its way, or it is shown and about to be replaced.

        What is shown and not about to be replaced may be drawn into: nothing else would ever give it back.
        """
        if allocation.flipping:
            return True
        for source in self.sources:
            displayed = source.flips.displayed
            if displayed is not None and isinstance(displayed.token, Present) and displayed.token.uses[0] is allocation:
                if source.flips.armed is not None or source.flips.queue or source.expected:
                    return True
        return False

    def flip(self, number: int, present: Present, interval: int, *, tearing: bool, repeat: bool, restart: bool) -> None:
        """A present whose rendering is complete and whose source is resident and pinned."""
        source = self.sources[number]
        source.expected -= 1
        if present.device.cause is not None or present.device.process.gone:
            self._vidmm.release(present.uses)
            present.uses[0].flipping -= 1
            self._tell(source, present, False)
            self.changed()
            return
        if source.owner is None:
            source.owner, source.owner_type = present.device, Owner.SHARED
        allocation = present.uses[0]
        if source.owner is not present.device or not self._fits(source, allocation):
            self._vidmm.release(present.uses)
            allocation.flipping -= 1
            self.changed()
            source.not_shown.append(present)
            return
        kind = FlipKind.REPEAT if repeat else FlipKind.TEARING if tearing else FlipKind.VSYNC
        self._apply(source, source.flips.add(Flip(allocation.address, interval, present, kind), restart=restart))

    def _fits(self, source: Source, allocation: Allocation) -> bool:
        """Whether the surface is of the committed mode: no scaler makes it fit."""
        mode = source.mode
        if mode is None or not allocation.in_memory_segment:
            return False
        surface = self.describe(allocation)
        same_format = mode.format in (surface.format, _TWINS.get(surface.format))
        return (mode.width, mode.height) == (surface.width, surface.height) and same_format

    def not_shown(self, number: int, present: Present) -> None:
        """A present that cannot be shown retires at the next vertical blank."""
        self.sources[number].not_shown.append(present)

    def _apply(self, source: Source, actions: FlipActions) -> None:
        if actions.arm is not None:
            tearing = actions.arm.kind is FlipKind.TEARING
            flags = DXGK_SETVIDPNSOURCEADDRESS_FLAGS
            self._program(source, actions.arm, flags.FlipImmediate if tearing else flags.FlipOnNextVSync)
            self._show(source, True)
        for flip in actions.shown:
            assert isinstance(flip.token, Present)
            source.flip_count += 1
            flip.token.uses[0].flipping -= 1
            flip.token.uses[0].displayed += 1
            self._vidmm.settle()
            self._tell(source, flip.token, True)
        for flip in actions.released:
            assert isinstance(flip.token, Present)
            flip.token.uses[0].displayed -= 1
            self._vidmm.release(flip.token.uses, settled=True)
        for flip in actions.dropped:
            assert isinstance(flip.token, Present)
            flip.token.uses[0].flipping -= 1
            self._vidmm.release(flip.token.uses)
            self._tell(source, flip.token, False)
        if actions.shown or actions.released or actions.dropped:
            self.changed()

    def _program(self, source: Source, flip: Flip, flags: DXGK_SETVIDPNSOURCEADDRESS_FLAGS) -> None:
        assert isinstance(flip.token, Present)
        present, allocation = flip.token, flip.token.uses[0]
        mode_change = bool(flags & DXGK_SETVIDPNSOURCEADDRESS_FLAGS.ModeChange)
        arguments = DXGKARG_SETVIDPNSOURCEADDRESS(
            source.id,
            allocation.segment_id,
            flip.address,
            allocation.info.hAllocation,
            0 if mode_change else 1,
            () if mode_change else (present.context.hKmd,),
            flags,
        )
        status = self._host.call("DxgkDdiSetVidPnSourceAddress", self._host.hAdapter, arguments)
        if status != _OK:
            raise vidsch_bug_check(0xB, f"DxgkDdiSetVidPnSourceAddress returned {ntstatus_name(status)}", status)

    def _tell(self, source: Source, present: Present, shown: bool) -> None:
        if present.told:
            return
        present.told = True
        present.device.queued_presents -= 1
        now = self._clock()
        tracer("PresentRetired", id=present.id, shown=shown)
        present.device.process.tell(
            PresentRetired(
                hContext=present.context.handle,
                id=present.id,
                shown=shown,
                vblank_count=source.flips.vblank,
                time_ns=int(now * 1e9),
            )
        )
        for callback in present.context.on_space:
            callback()
        present.context.on_space.clear()

    # ----- vertical sync -----------------------------------------------------------------------------------------------------

    def vsync(self, target: int, address: int) -> None:
        """CRTC_VSYNC: ``address`` is scanned out. Raises BugCheckError (0x119, 7) for a target that does not exist."""
        if not 0 <= target < len(self.sources):
            raise vidsch_bug_check(0x7, f"vertical sync of target {target}, which does not exist", target)
        source = self.sources[target]
        self._apply(source, source.flips.vsync(address))
        refused, source.not_shown = source.not_shown, []
        for present in refused:
            self._tell(source, present, False)
        waits, source.vblank_waits = source.vblank_waits, []
        now = self._clock()
        for done in waits:
            done(source.flips.vblank, now)

    def after_reset(self) -> None:
        """The adapter was reset: every pin is gone, the heads are dark; modes are set again."""
        for source in self.sources:
            actions = source.flips.clear()
            for flip in (*actions.dropped, *actions.released):
                assert isinstance(flip.token, Present)
                flip.token.uses[0].flipping = flip.token.uses[0].displayed = 0
                self._tell(source, flip.token, False)
            source.visible = False
            if source.mode is not None:
                self._commit(source, source.mode, 0)


def _size(mode: D3DKMDT_VIDPN_SOURCE_MODE) -> tuple[int, int]:
    return mode.Format.PrimSurfSize.cx, mode.Format.PrimSurfSize.cy


def _mode(source: D3DKMDT_VIDPN_SOURCE_MODE, signal: D3DKMDT_VIDPN_TARGET_MODE) -> Mode:
    rate = signal.VideoSignalInfo.VSyncFreq
    return Mode(*_size(source), source.Format.PixelFormat, (rate.Numerator, rate.Denominator))


def _same_rate(rate: D3DDDI_RATIONAL, wanted: tuple[int, int]) -> bool:
    return rate.Numerator * wanted[1] == wanted[0] * rate.Denominator


def _source_mode(wanted: Mode) -> D3DKMDT_VIDPN_SOURCE_MODE:
    """A mode that the miniport did not list; IsSupportedVidPn tells whether it can be had."""
    size = D3DKMDT_2DREGION(wanted.width, wanted.height)
    format = D3DKMDT_GRAPHICS_RENDERING_FORMAT(size, size, 0, wanted.format)
    return D3DKMDT_VIDPN_SOURCE_MODE(0, D3DKMDT_VIDPN_SOURCE_MODE_TYPE.GRAPHICS, format)


def _target_mode(wanted: Mode) -> D3DKMDT_VIDPN_TARGET_MODE:
    numerator, denominator = wanted.refresh
    size = D3DKMDT_2DREGION(wanted.width, wanted.height)
    lines = D3DDDI_RATIONAL(numerator * wanted.height, max(1, denominator))
    rate = D3DDDI_RATIONAL(numerator, max(1, denominator))
    pixels = wanted.width * wanted.height * numerator // max(1, denominator)
    return D3DKMDT_VIDPN_TARGET_MODE(0, D3DKMDT_VIDEO_SIGNAL_INFO(size, size, rate, lines, pixels))
