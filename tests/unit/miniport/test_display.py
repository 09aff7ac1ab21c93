"""The display half, against the kernel's own VidPN objects: enumeration, support, commits, visibility, flips, gamma."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kernel.display.vidpn import VidPn, VidPnObjects
from miniport.allocation import SCANOUT_BY_DDI_FORMAT
from wddm.ddi.d3dkmddi import (
    DXGK_ALLOCATIONINFO,
    DXGK_INTERRUPT_CRTC_VSYNC,
    DXGK_INTERRUPT_TYPE,
    DXGK_SETVIDPNSOURCEADDRESS_FLAGS,
    DXGKARG_COMMITVIDPN,
    DXGKARG_CREATEALLOCATION,
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
    D3DKMDT_MODE_PREFERENCE,
    D3DKMDT_VIDPN_PRESENT_PATH,
    D3DKMDT_VIDPN_PRESENT_PATH_ROTATION,
    D3DKMDT_VIDPN_PRESENT_PATH_ROTATION_SUPPORT,
    D3DKMDT_VIDPN_PRESENT_PATH_SCALING,
    D3DKMDT_VIDPN_PRESENT_PATH_SCALING_SUPPORT,
    D3DKMDT_VIDPN_SOURCE_MODE_TYPE,
    D3DDDI_GAMMA_RAMP_RGB256x3x16_DTYPE,
)
from wddm.ddi.d3dukmdt import D3DDDI_ID_ALL, D3DDDI_RATIONAL, D3DDDIFORMAT
from wddm.ddi.dispmprt import DXGK_CHILD_STATUS
from wddm.ddi.status import NTSTATUS
from wddm.hw.driver import ALLOCATION_PRIVATE, AllocationFlag, AllocationKind, private_record
from wddm.hw.formats import Format
from wddm.hw.interrupts import Interrupt, InterruptMessage
from wddm.hw.registers import Flip, HeadControl, HeadRegister, head_register

from .rig import OK, Rig

Pivot = D3DKMDT_ENUMCOFUNCMODALITY_PIVOT_TYPE
TOPOLOGY = NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY


class Screen(Rig):
    """An adapter with two heads, and the kernel's VidPN objects, whose every acquisition is counted."""

    def __init__(self) -> None:
        super().__init__(heads=2)
        self.objects = VidPnObjects(2, 2)
        self.balance: Counter[str] = Counter()
        self.refuse = ""
        self.kernel.query_vidpn = self._query

    def _query(self, handle: int) -> tuple[int, Any]:
        status, interface = self.objects.interface(handle)
        return status, None if interface is None else self._counted(interface)

    def _counted(self, interface: Any) -> Any:
        """The same interface; what it hands out is counted in, what comes back is counted out."""

        def wrap(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any) -> Any:
                if name == self.refuse:
                    values = 0 if name.startswith(("pfnAdd", "pfnAssign", "pfnPin")) else 1 if name.endswith("Info") else 2
                    return (NTSTATUS.STATUS_NO_MEMORY, *[None] * values) if values else NTSTATUS.STATUS_NO_MEMORY
                answer = function(*arguments)
                kind = name.removeprefix("pfn")
                if "Acquire" in kind and answer[0] == OK and answer[-1] is not None:
                    self.balance[kind.replace("Acquire", "").replace("First", "").replace("Next", "").replace("Pinned", "")] += 1
                elif kind.startswith("CreateNew") and kind.endswith("Set"):
                    self.balance[kind.removeprefix("CreateNew")] += 1
                elif kind.startswith("Release"):
                    self.balance[kind.removeprefix("Release")] -= 1
                elif kind.startswith("Assign") and kind.endswith("ModeSet"):
                    self.balance[kind.removeprefix("Assign")] -= 1
                if isinstance(answer, tuple) and dataclasses.is_dataclass(answer[-1]) and "INTERFACE" in type(answer[-1]).__name__:
                    return (*answer[:-1], self._counted(answer[-1]))
                return answer

            return call

        return type(interface)(
            **{f.name: wrap(f.name, getattr(interface, f.name)) for f in dataclasses.fields(interface) if getattr(interface, f.name)}
        )

    def vidpn(self, *paths: tuple[int, int]) -> VidPn:
        vidpn = VidPn()
        for path in paths:
            vidpn.add_path(*path)
        return vidpn

    def ask(self, entry: str, arguments: Any) -> Any:
        """Call an entry that uses a VidPN; nothing that it acquired may be left."""
        status = self(entry, arguments)
        assert not any(self.balance.values()), self.balance
        return status

    def enumerate(self, vidpn: VidPn, pivot: Pivot = Pivot.NOPIVOT, source: int = 0, target: int = 0) -> int:
        arguments = DXGKARG_ENUMVIDPNCOFUNCMODALITY(self.objects.open(vidpn), pivot, source, target)
        status: int = self.ask("EnumVidPnCofuncModality", arguments)
        return status

    def supported(self, vidpn: VidPn) -> bool:
        arguments = DXGKARG_ISSUPPORTEDVIDPN(self.objects.open(vidpn))
        assert self.ask("IsSupportedVidPn", arguments) == OK
        return arguments.IsVidPnSupported

    def commit(self, vidpn: VidPn | None, affected: int = D3DDDI_ID_ALL) -> int:
        handle = 0 if vidpn is None else self.objects.open(vidpn)
        status: int = self.ask("CommitVidPn", DXGKARG_COMMITVIDPN(handle, affected))
        return status

    def pinned(self, *heads: int, size: tuple[int, int] = (1280, 720)) -> VidPn:
        """A functional VidPN: these heads with a size in A8R8G8B8."""
        vidpn = self.vidpn(*[(n, n) for n in heads])
        assert self.enumerate(vidpn) == OK
        for head in heads:
            modes = vidpn.sources[head].modes
            vidpn.sources[head].pinned = next(
                m for m in modes if region(m.Format.PrimSurfSize) == size and m.Format.PixelFormat == D3DDDIFORMAT.A8R8G8B8
            )
            vidpn.targets[head].pinned = next(
                m for m in vidpn.targets[head].modes if region(m.VideoSignalInfo.ActiveSize) == size
            )
        self.registers.take()
        return vidpn

    def head(self, head: int, register: HeadRegister) -> int:
        return self.registers.values.get(head_register(head, register), 0)

    def control(self, head: int) -> HeadControl:
        return HeadControl(self.head(head, HeadRegister.CONTROL))


@pytest.fixture
def screen() -> Screen:
    return Screen()


def region(size: D3DKMDT_2DREGION) -> tuple[int, int]:
    return size.cx, size.cy


# ----- enumeration ------------------------------------------------------------------------------------------------------------


def test_without_constraints_every_size_comes_in_every_format(screen: Screen) -> None:
    vidpn = screen.vidpn((0, 0), (1, 1))
    assert screen.enumerate(vidpn) == OK
    for head in (0, 1):
        modes = vidpn.sources[head].modes
        sizes = {region(m.Format.PrimSurfSize) for m in modes}
        assert {(1280, 720), (640, 480), (3840, 2160)} <= sizes
        assert all(w <= 4096 and h <= 4096 for w, h in sizes)
        assert len(modes) == len(sizes) * len(SCANOUT_BY_DDI_FORMAT)
        assert all(m.Type is D3DKMDT_VIDPN_SOURCE_MODE_TYPE.GRAPHICS for m in modes)
        assert all(m.Format.Stride >= m.Format.PrimSurfSize.cx * 4 and m.Format.Stride % 64 == 0 for m in modes)
        signals = vidpn.targets[head].modes
        assert {region(m.VideoSignalInfo.ActiveSize) for m in signals} == sizes
        preferred = [m for m in signals if m.Preference is D3DKMDT_MODE_PREFERENCE.PREFERRED]
        assert [region(m.VideoSignalInfo.ActiveSize) for m in preferred] == [(1280, 720)]
        for mode in signals:
            info = mode.VideoSignalInfo
            assert info.VSyncFreq == D3DDDI_RATIONAL(60, 1)
            assert info.TotalSize.cx > info.ActiveSize.cx
            assert info.TotalSize.cy > info.ActiveSize.cy
            assert info.HSyncFreq == D3DDDI_RATIONAL(60 * info.TotalSize.cy, 1)
            assert info.PixelRate == 60 * info.TotalSize.cy * info.TotalSize.cx


def test_a_pinned_end_leaves_its_size_alone_at_the_other(screen: Screen) -> None:
    vidpn = screen.pinned(0, size=(800, 600))
    source, vidpn.targets[0].pinned = vidpn.sources[0].pinned, None
    assert screen.enumerate(vidpn) == OK
    assert vidpn.sources[0].pinned is source
    assert {region(m.VideoSignalInfo.ActiveSize) for m in vidpn.targets[0].modes} == {(800, 600)}
    assert [m.NumSamples for m in vidpn.multisampling[0]] == [1]
    vidpn = screen.pinned(0, size=(800, 600))
    vidpn.sources[0].pinned = None
    assert screen.enumerate(vidpn) == OK
    assert {region(m.Format.PrimSurfSize) for m in vidpn.sources[0].modes} == {(800, 600)}
    assert len(vidpn.sources[0].modes) == len(SCANOUT_BY_DDI_FORMAT)


@pytest.mark.parametrize(("pivot", "kept"), [(Pivot.VIDPNSOURCE, "sources"), (Pivot.VIDPNTARGET, "targets")])
def test_the_pivot_is_left_alone(screen: Screen, pivot: Pivot, kept: str) -> None:
    vidpn = screen.vidpn((0, 0), (1, 1))
    before = getattr(vidpn, kept)[1]
    assert screen.enumerate(vidpn, pivot, 1, 1) == OK
    assert getattr(vidpn, kept)[1] is before
    assert getattr(vidpn, kept)[0].modes


@pytest.mark.parametrize("pivot", [Pivot.NOPIVOT, Pivot.SCALING, Pivot.ROTATION])
def test_what_is_open_of_a_transformation_is_told(screen: Screen, pivot: Pivot) -> None:
    vidpn = screen.vidpn((0, 0))
    transformation = vidpn.paths[0].ContentTransformation
    transformation.Scaling = D3DKMDT_VIDPN_PRESENT_PATH_SCALING.UNPINNED
    transformation.Rotation = D3DKMDT_VIDPN_PRESENT_PATH_ROTATION.UNPINNED
    assert screen.enumerate(vidpn, pivot) == OK
    scaling, rotation = D3DKMDT_VIDPN_PRESENT_PATH_SCALING_SUPPORT, D3DKMDT_VIDPN_PRESENT_PATH_ROTATION_SUPPORT
    assert transformation.ScalingSupport == (scaling.NONE if pivot is Pivot.SCALING else scaling.Identity)
    assert transformation.RotationSupport == (rotation.NONE if pivot is Pivot.ROTATION else rotation.Identity)


@pytest.mark.parametrize("paths", [[(0, 1)], [(0, 0), (0, 1)], [(0, 1), (0, 0)]])
def test_no_head_drives_anothers_target(screen: Screen, paths: list[tuple[int, int]]) -> None:
    vidpn = screen.vidpn(*paths)
    assert screen.enumerate(vidpn) == TOPOLOGY
    assert not screen.supported(vidpn)
    pinned = screen.pinned(0)
    pinned.paths = screen.vidpn(*paths).paths
    pinned.targets[1] = pinned.targets[0]
    assert screen.commit(pinned) == TOPOLOGY
    assert screen.registers.take() == []


def test_modes_follow_the_monitor_and_not_what_was_set(screen: Screen) -> None:
    vidpn = screen.pinned(0)
    vidpn.targets[0].pinned.VideoSignalInfo.VSyncFreq = D3DDDI_RATIONAL(30, 1)
    assert screen.commit(vidpn) == OK
    again = screen.vidpn((0, 0))
    screen.enumerate(again)
    assert {(m.VideoSignalInfo.VSyncFreq.Numerator) for m in again.targets[0].modes} == {60}


# ----- support ----------------------------------------------------------------------------------------------------------------


def test_empty_and_unpinned_vidpns_are_supported(screen: Screen) -> None:
    arguments = DXGKARG_ISSUPPORTEDVIDPN(0)
    assert screen("IsSupportedVidPn", arguments) == OK
    assert arguments.IsVidPnSupported
    assert screen.supported(screen.vidpn())
    assert screen.supported(screen.vidpn((1, 1)))
    assert screen.supported(screen.pinned(0, 1))


def change(vidpn: VidPn, what: str) -> None:
    source, signal = vidpn.sources[0].pinned, vidpn.targets[0].pinned.VideoSignalInfo
    path = vidpn.paths[0]
    match what:
        case "too wide":
            source.Format.PrimSurfSize.cx = signal.ActiveSize.cx = 4097
        case "no height":
            source.Format.PrimSurfSize.cy = signal.ActiveSize.cy = 0
        case "format":
            source.Format.PixelFormat = D3DDDIFORMAT.P8
        case "text":
            source.Type = D3DKMDT_VIDPN_SOURCE_MODE_TYPE.TEXT
        case "stride":
            source.Format.Stride = 1279 * 4
        case "other size":
            signal.ActiveSize.cx = 1024
        case "no rate":
            signal.VSyncFreq = D3DDDI_RATIONAL(60, 0)
        case "slow":
            signal.VSyncFreq = D3DDDI_RATIONAL(1, 2)
        case "fast":
            signal.VSyncFreq = D3DDDI_RATIONAL(1001, 1)
        case "scaled":
            path.ContentTransformation.Scaling = D3DKMDT_VIDPN_PRESENT_PATH_SCALING.STRETCHED
        case "rotated":
            path.ContentTransformation.Rotation = D3DKMDT_VIDPN_PRESENT_PATH_ROTATION.ROTATE90
        case "no such head":
            path.VidPnSourceId = path.VidPnTargetId = 2
            vidpn.sources[2], vidpn.targets[2] = vidpn.sources[0], vidpn.targets[0]


@pytest.mark.parametrize(
    "what",
    [
        "too wide",
        "no height",
        "format",
        "text",
        "stride",
        "other size",
        "no rate",
        "slow",
        "fast",
        "scaled",
        "rotated",
        "no such head",
    ],
)
def test_what_a_head_cannot_show_is_neither_supported_nor_committed(screen: Screen, what: str) -> None:
    vidpn = screen.pinned(0)
    assert screen.supported(vidpn)
    change(vidpn, what)
    assert not screen.supported(vidpn)
    assert screen.commit(vidpn) == TOPOLOGY
    assert screen.registers.take() == []


def test_unknown_vidpns_are_refused(screen: Screen) -> None:
    for entry, arguments, status in (
        ("IsSupportedVidPn", DXGKARG_ISSUPPORTEDVIDPN(0x999), TOPOLOGY),
        ("CommitVidPn", DXGKARG_COMMITVIDPN(0x999), TOPOLOGY),
        ("EnumVidPnCofuncModality", DXGKARG_ENUMVIDPNCOFUNCMODALITY(0x999, Pivot.NOPIVOT), NTSTATUS.STATUS_GRAPHICS_INVALID_VIDPN),
        (
            "RecommendFunctionalVidPn",
            DXGKARG_RECOMMENDFUNCTIONALVIDPN(0x999),
            NTSTATUS.STATUS_GRAPHICS_NO_RECOMMENDED_FUNCTIONAL_VIDPN,
        ),
    ):
        assert screen.ask(entry, arguments) == status


@pytest.mark.parametrize(
    "function", ["pfnCreateNewSourceModeSet", "pfnCreateNewModeInfo", "pfnAddMode", "pfnAssignTargetModeSet", "pfnPinMode", "pfnAddPath"]
)
def test_when_the_kernel_refuses_nothing_is_left_acquired(screen: Screen, function: str) -> None:
    screen.refuse = function
    arguments = DXGKARG_RECOMMENDFUNCTIONALVIDPN(screen.objects.open(VidPn()))
    assert screen.ask("RecommendFunctionalVidPn", arguments) == NTSTATUS.STATUS_GRAPHICS_NO_RECOMMENDED_FUNCTIONAL_VIDPN
    if function not in ("pfnPinMode", "pfnAddPath"):
        assert screen.enumerate(screen.vidpn((0, 0))) == NTSTATUS.STATUS_NO_MEMORY


def test_the_recommended_vidpn_is_functional_and_supported(screen: Screen) -> None:
    vidpn = VidPn()
    assert screen.ask("RecommendFunctionalVidPn", DXGKARG_RECOMMENDFUNCTIONALVIDPN(screen.objects.open(vidpn))) == OK
    assert vidpn.functional
    assert screen.supported(vidpn)
    assert region(vidpn.targets[1].pinned.VideoSignalInfo.ActiveSize) == (1280, 720)


# ----- commit -----------------------------------------------------------------------------------------------------------------


def test_a_commit_programs_the_heads_dark(screen: Screen) -> None:
    assert screen.commit(screen.pinned(0, 1, size=(1024, 768))) == OK
    for head in (0, 1):
        wanted = {
            HeadRegister.WIDTH: 1024,
            HeadRegister.HEIGHT: 768,
            HeadRegister.PITCH: 4096,
            HeadRegister.FORMAT: Format.B8G8R8A8_UNORM,
            HeadRegister.REFRESH_NUMERATOR: 60,
            HeadRegister.REFRESH_DENOMINATOR: 1,
        }
        assert {r: screen.head(head, r) for r in wanted} == wanted
        assert screen.control(head) == HeadControl.ENABLE | HeadControl.VSYNC_INTERRUPT


def test_a_source_without_path_goes_off_and_others_stay(screen: Screen) -> None:
    screen.commit(screen.pinned(0, 1))
    assert screen.commit(screen.pinned(1), affected=0) == OK
    assert screen.registers.take() == [("head0.CONTROL", 0)]
    assert screen.control(1) & HeadControl.ENABLE
    assert screen.commit(None) == OK
    assert screen.control(1) == 0


def test_only_the_affected_source_changes_and_matters(screen: Screen) -> None:
    screen.commit(screen.pinned(0, 1))
    vidpn = screen.pinned(0, 1, size=(640, 480))
    vidpn.sources[1].pinned = None
    assert screen.commit(vidpn, affected=0) == OK
    assert (screen.head(0, HeadRegister.WIDTH), screen.head(1, HeadRegister.WIDTH)) == (640, 1280)
    assert screen.commit(vidpn) == TOPOLOGY
    assert screen.commit(vidpn, affected=7) == NTSTATUS.STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_SOURCE


@pytest.mark.parametrize("end", ["sources", "targets"])
def test_an_unpinned_end_cannot_be_committed(screen: Screen, end: str) -> None:
    vidpn = screen.pinned(0)
    getattr(vidpn, end)[0].pinned = None
    assert screen.commit(vidpn) == TOPOLOGY
    assert screen.registers.take() == []


def test_a_new_mode_is_black_until_it_is_made_visible(screen: Screen) -> None:
    screen.commit(screen.pinned(0))
    assert screen("SetVidPnSourceVisibility", DXGKARG_SETVIDPNSOURCEVISIBILITY(0, True)) == OK
    assert screen.control(0) & HeadControl.VISIBLE
    screen.commit(screen.pinned(0, size=(640, 480)))
    assert not screen.control(0) & HeadControl.VISIBLE
    screen("SetVidPnSourceVisibility", DXGKARG_SETVIDPNSOURCEVISIBILITY(0, True))
    assert screen("SetVidPnSourceVisibility", DXGKARG_SETVIDPNSOURCEVISIBILITY(0, False)) == OK
    assert screen.control(0) == HeadControl.ENABLE | HeadControl.VSYNC_INTERRUPT
    assert screen("SetVidPnSourceVisibility", DXGKARG_SETVIDPNSOURCEVISIBILITY(2, True)) == NTSTATUS.STATUS_INVALID_PARAMETER


# ----- flips ------------------------------------------------------------------------------------------------------------------


def primary(screen: Screen, format: Format = Format.B8G8R8A8_UNORM, width: int = 1280) -> int:
    record = private_record(
        ALLOCATION_PRIVATE,
        kind=AllocationKind.TEXTURE,
        flags=AllocationFlag.PRIMARY,
        format=format,
        width=width,
        height=720,
        depth=1,
        mips=1,
        slices=1,
        samples=1,
    )
    info = DXGK_ALLOCATIONINFO(pPrivateDriverData=record, PrivateDriverDataSize=len(record))
    assert screen("CreateAllocation", DXGKARG_CREATEALLOCATION([info], 1)) == OK
    return info.hAllocation


def flip(screen: Screen, flags: DXGK_SETVIDPNSOURCEADDRESS_FLAGS, allocation: int, head: int = 0) -> list[tuple[str, int]]:
    screen.registers.take()
    arguments = DXGKARG_SETVIDPNSOURCEADDRESS(head, 1, 0x1_2345_6000, allocation, Flags=flags)
    assert screen("SetVidPnSourceAddress", arguments) == OK
    return screen.registers.take()


def test_a_flip_arms_an_address(screen: Screen) -> None:
    flags = DXGK_SETVIDPNSOURCEADDRESS_FLAGS
    screen.commit(screen.pinned(0))
    address = [("head0.SURFACE_LO", 0x2345_6000), ("head0.SURFACE_HI", 1)]
    same = primary(screen)
    assert flip(screen, flags.FlipOnNextVSync, same) == [*address, ("head0.FLIP", Flip.ON_VSYNC)]
    assert flip(screen, flags.FlipImmediate, same) == [*address, ("head0.FLIP", Flip.IMMEDIATE)]
    assert flip(screen, flags.ModeChange, 0) == [*address, ("head0.FLIP", Flip.IMMEDIATE)]


def test_another_surface_is_read_as_it_lies(screen: Screen) -> None:
    """Pitch and format follow the allocation, and are written only when they change."""
    flags = DXGK_SETVIDPNSOURCEADDRESS_FLAGS
    screen.commit(screen.pinned(0))
    other = primary(screen, Format.R16G16B16A16_FLOAT, 1288)
    writes = flip(screen, flags.ModeChange, other)
    assert writes[:2] == [("head0.PITCH", 1288 * 8), ("head0.FORMAT", Format.R16G16B16A16_FLOAT)]
    assert len(flip(screen, flags.FlipOnNextVSync, other)) == 3
    assert flip(screen, flags.FlipOnNextVSync, primary(screen, Format.B8G8R8X8_UNORM))[:2] == [
        ("head0.PITCH", 1280 * 4),
        ("head0.FORMAT", Format.B8G8R8X8_UNORM),
    ]


def test_no_head_no_flip(screen: Screen) -> None:
    arguments = DXGKARG_SETVIDPNSOURCEADDRESS(2, 1, 0x1000)
    assert screen("SetVidPnSourceAddress", arguments) == NTSTATUS.STATUS_INVALID_PARAMETER


# ----- vertical sync ------------------------------------------------------------------------------------------------------------


def test_a_vertical_sync_tells_what_is_scanned_out(screen: Screen) -> None:
    assert screen.interrupt(InterruptMessage(Interrupt.VSYNC, head=1, surface=0x1_2345_6000, vblank_count=9))
    assert screen.kernel.take() == [DXGK_INTERRUPT_CRTC_VSYNC(1, 0x1_2345_6000), "queue dpc"]
    assert not screen.interrupt(InterruptMessage(Interrupt.VSYNC, head=2))
    assert screen.kernel.take() == []


def test_vertical_sync_interrupts_are_switched_for_good(screen: Screen) -> None:
    kinds = DXGK_INTERRUPT_TYPE
    screen.commit(screen.pinned(0))
    assert screen("ControlInterrupt", kinds.DMA_COMPLETED, False) == NTSTATUS.STATUS_NOT_IMPLEMENTED
    assert screen("ControlInterrupt", kinds.CRTC_VSYNC, False) == OK
    assert screen.control(0) == HeadControl.ENABLE
    assert screen.control(1) == 0
    screen.commit(screen.pinned(0, 1))
    assert screen.control(0) == screen.control(1) == HeadControl.ENABLE
    assert screen("ControlInterrupt", kinds.CRTC_VSYNC, True) == OK
    assert screen.control(1) == HeadControl.ENABLE | HeadControl.VSYNC_INTERRUPT


def test_the_beam_is_somewhere(screen: Screen) -> None:
    screen.commit(screen.pinned(0))
    for line, blank in ((0, False), (719, False), (720, True), (740, True)):
        screen.registers.values[head_register(0, HeadRegister.SCAN_LINE)] = line
        arguments = DXGKARG_GETSCANLINE(0)
        assert screen("GetScanLine", arguments) == OK
        assert (arguments.ScanLine, arguments.InVerticalBlank) == (line, blank)
    assert screen("GetScanLine", DXGKARG_GETSCANLINE(5)) == NTSTATUS.STATUS_INVALID_PARAMETER


# ----- paths that are active ------------------------------------------------------------------------------------------------------


def update(screen: Screen, path: D3DKMDT_VIDPN_PRESENT_PATH) -> int:
    status: int = screen("UpdateActiveVidPnPresentPath", DXGKARG_UPDATEACTIVEVIDPNPRESENTPATH(path))
    return status


def ramp(data: np.ndarray | None, kind: D3DDDI_GAMMARAMP_TYPE = D3DDDI_GAMMARAMP_TYPE.RGB256x3x16) -> D3DKMDT_VIDPN_PRESENT_PATH:
    return D3DKMDT_VIDPN_PRESENT_PATH(0, 0, GammaRamp=D3DKMDT_GAMMA_RAMP(kind, 0 if data is None else data.nbytes, data))


def test_gamma_goes_to_the_head_entry_by_entry(screen: Screen) -> None:
    screen.commit(screen.pinned(0))
    screen.registers.take()
    table = np.arange(768, dtype=np.uint16)[::-1].copy()
    assert update(screen, ramp(table.view(D3DDDI_GAMMA_RAMP_RGB256x3x16_DTYPE))) == OK
    writes = screen.registers.take()
    assert writes[0] == ("head0.GAMMA_INDEX", 0)
    assert writes[1:] == [("head0.GAMMA_DATA", int(v)) for v in table]
    assert update(screen, ramp(None, D3DDDI_GAMMARAMP_TYPE.DEFAULT)) == OK
    identity = [v for name, v in screen.registers.take() if name == "head0.GAMMA_DATA"]
    assert identity == [i * 257 for i in range(256)] * 3


@pytest.mark.parametrize(
    "path",
    [
        ramp(None),
        ramp(np.zeros(767, np.uint16)),
        ramp(np.zeros(769, np.uint16)),
        ramp(np.zeros(768, np.uint16), D3DDDI_GAMMARAMP_TYPE.DXGI_1),
        ramp(None, D3DDDI_GAMMARAMP_TYPE.UNINITIALIZED),
    ],
)
def test_other_ramps_are_not_supported(screen: Screen, path: D3DKMDT_VIDPN_PRESENT_PATH) -> None:
    screen.commit(screen.pinned(0))
    screen.registers.take()
    assert update(screen, path) == NTSTATUS.STATUS_GRAPHICS_GAMMA_RAMP_NOT_SUPPORTED
    assert screen.registers.take() == []


def test_only_active_plain_paths_can_be_updated(screen: Screen) -> None:
    good = ramp(None, D3DDDI_GAMMARAMP_TYPE.DEFAULT)
    assert update(screen, good) == NTSTATUS.STATUS_GRAPHICS_PATH_NOT_IN_TOPOLOGY
    screen.commit(screen.pinned(0))
    assert update(screen, good) == OK
    for source, target in ((0, 1), (2, 2), (1, 1)):
        path = dataclasses.replace(good, VidPnSourceId=source, VidPnTargetId=target)
        assert update(screen, path) == NTSTATUS.STATUS_GRAPHICS_PATH_NOT_IN_TOPOLOGY
    good.ContentTransformation.Rotation = D3DKMDT_VIDPN_PRESENT_PATH_ROTATION.ROTATE180
    assert update(screen, good) == NTSTATUS.STATUS_GRAPHICS_PATH_CONTENT_GEOMETRY_TRANSFORMATION_NOT_SUPPORTED


def test_each_head_has_a_monitor(screen: Screen) -> None:
    status, children = screen("QueryChildRelations")
    assert (status, [c.ChildUid for c in children]) == (OK, [0, 1])
    child = DXGK_CHILD_STATUS(1)
    assert screen("QueryChildStatus", child, True) == OK
    assert child.Connected
    assert screen("QueryChildStatus", DXGK_CHILD_STATUS(2), True) == NTSTATUS.STATUS_INVALID_PARAMETER
