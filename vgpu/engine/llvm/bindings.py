"""From binding packets to what generated code reads: validated descriptors, host pointers, resource and sampler records.

Owns the rule that nothing reaches generated code unchecked: a view's format and sizes must exist and its layout must lie within
the packet's extent, the extent within memory. Resolved bindings are cached by the bytes of their packet.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from vgpu.engine import Packet
from vgpu.fault import FaultError
from vgpu.memory import Memory
from wddm.hw.descriptors import AddressMode, Comparison, Sampler, View, ViewDimension, ViewFlag
from wddm.hw.formats import FORMATS, Format
from wddm.hw.interrupts import Fault
from wddm.hw.layout import SurfaceLayout, surface_layout
from wddm.hw.memory import APERTURE_BASE

from .records import RESOURCE, SAMPLER
from .shader import SamplerKey, ViewKey

BUFFERS: Final = (ViewDimension.BUFFER, ViewDimension.RAW_BUFFER, ViewDimension.STRUCTURED_BUFFER)
#: A packet as a tuple: op, slot, extent, address, extent2, arg, address2, data.
unpack_packet: Final[Callable[[Any], tuple[int, ...]]] = struct.Struct("<HHIQIIQ8I").unpack
_LIMIT: Final = 8192


@dataclass(slots=True)
class ResolvedView:
    """A view that passed every check."""

    key: ViewKey
    view: View
    pointer: int  #: host address of its record
    record: npt.NDArray[np.void]
    base: int  #: host address of the resource's first byte
    address: int
    extent: int
    layout: SurfaceLayout | None  #: textures
    number: int  #: of the key


@dataclass(slots=True)
class ResolvedSampler:
    """A sampler and the address of its record."""

    key: SamplerKey
    pointer: int
    record: npt.NDArray[np.void]
    number: int  #: of the key


class Bindings:
    """Resolves packets; bounded cache."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._views: dict[tuple[int, ...], ResolvedView] = {}
        self._writable: dict[tuple[int, ...], ResolvedView] = {}
        self._samplers: dict[tuple[int, ...], ResolvedSampler] = {}
        self._dummy = np.zeros(64, np.uint8)
        self._numbers: dict[ViewKey | SamplerKey, int] = {}

    def number(self, key: ViewKey | SamplerKey) -> int:
        """A small number for a key: tuples of numbers are found faster than tuples of keys."""
        return self._numbers.setdefault(key, len(self._numbers) + 1)

    def view(self, packet: Packet, *, write: bool = False) -> ResolvedView:
        """Resolve a view packet. Raises FaultError."""
        views = self._writable if write else self._views
        raw = unpack_packet(packet)
        found = views.get(raw)
        if found is None:
            found = views[raw] = self._resolve(packet, write)
            if len(views) > _LIMIT:
                views.pop(next(iter(views)))
        elif found.address >= APERTURE_BASE:
            self.memory.pointer(found.address, found.extent, write=write)  # pages may have changed since
        return found

    def _resolve(self, packet: Packet, write: bool) -> ResolvedView:
        address, extent = int(packet["address"]), int(packet["extent"])
        try:
            view = View.unpack(packet["data"].tolist())
        except ValueError as error:
            raise FaultError(Fault.BAD_DESCRIPTOR, str(error), address=address) from error
        if address % 4:
            raise FaultError(Fault.BAD_DESCRIPTOR, "a surface begins at a multiple of four bytes", address=address)
        base = self.memory.pointer(address, extent, write=write)
        record = np.zeros(1, RESOURCE)
        record["counter"] = self._dummy.ctypes.data
        counter = False
        if int(packet["address2"]) and view.flags & ViewFlag.COUNTER:
            if int(packet["extent2"]) < 4 or int(packet["address2"]) % 4:
                raise FaultError(Fault.BAD_DESCRIPTOR, "a counter needs four aligned bytes", address=int(packet["address2"]))
            record["counter"] = self.memory.pointer(int(packet["address2"]), 4, write=True)
            counter = True
        if view.dimension in BUFFERS:
            layout = None
            self._buffer(record, view, base, address, extent)
        else:
            layout = self._texture(record, view, base, address, extent, write)
        key = ViewKey(
            int(view.dimension),
            view.format if view.dimension not in BUFFERS[1:] else 0,
            bool(view.flags & ViewFlag.ARRAY),
            view.samples > 1,
            view.stride if view.dimension == ViewDimension.STRUCTURED_BUFFER else 0,
            counter,
            view.mip_count == 1,
        )
        return ResolvedView(key, view, int(record.ctypes.data), record, base, address, extent, layout, self.number(key))

    @staticmethod
    def _buffer(record: npt.NDArray[np.void], view: View, base: int, address: int, extent: int) -> None:
        """``width`` elements from element ``height`` on."""
        if view.dimension == ViewDimension.BUFFER:
            if (
                view.format not in FORMATS
                or not FORMATS[Format(view.format)].bytes_per_block
                or FORMATS[Format(view.format)].block != 1
            ):
                raise FaultError(Fault.BAD_DESCRIPTOR, f"a buffer of format {view.format}", address=address)
            size = FORMATS[Format(view.format)].bytes_per_block
        elif view.dimension == ViewDimension.RAW_BUFFER:
            size = 4
        else:
            size = view.stride
            if not 4 <= size <= 2048 or size % 4:
                raise FaultError(Fault.BAD_DESCRIPTOR, f"structure stride {size}", address=address)
        first, count = view.height * size, view.width
        if first + count * size > extent:
            why = f"{count} elements of {size} bytes from {first} on in {extent} bytes"
            raise FaultError(Fault.BAD_DESCRIPTOR, why, address=address)
        # Small elements are read by the dword that holds them.
        skew = first % 4 if size < 4 else 0
        record["base"], record["skew"] = base + first - skew, skew
        record["size"] = count * size if view.dimension == ViewDimension.RAW_BUFFER else count
        record["width"] = record["count"] = count
        record["stride"] = size
        record["height"] = record["depth"] = record["slices"] = record["mips"] = record["samples"] = 1

    @staticmethod
    def _texture(record: npt.NDArray[np.void], view: View, base: int, address: int, extent: int, write: bool) -> SurfaceLayout:
        if view.dimension == ViewDimension.NONE or view.format not in FORMATS:
            raise FaultError(Fault.BAD_DESCRIPTOR, f"dimension {view.dimension.name} format {view.format}", address=address)
        try:
            layout = surface_layout(Format(view.format), view.width, view.height, view.depth, view.mips, view.slices, view.samples)
        except ValueError as error:
            raise FaultError(Fault.BAD_DESCRIPTOR, str(error), address=address) from error
        d = view.dimension
        volume, cube = d == ViewDimension.TEXTURE3D, d == ViewDimension.TEXTURECUBE
        slices = max(1, view.depth >> view.first_mip) if volume else view.slices
        for bad, why in (
            (layout.size > extent, f"layout of {layout.size} bytes in {extent}"),
            (
                (d == ViewDimension.TEXTURE1D and view.height != 1)
                or (not volume and view.depth != 1)
                or (volume and view.slices != 1),
                f"{d.name} of {view.width}x{view.height}x{view.depth}, {view.slices} slices",
            ),
            (view.samples > 1 and d != ViewDimension.TEXTURE2D, f"multisampled {d.name}"),
            (not 1 <= view.mip_count <= view.mips - view.first_mip, f"mips {view.first_mip}+{view.mip_count} of {view.mips}"),
            (not 1 <= view.slice_count <= slices - view.first_slice, f"slices {view.first_slice}+{view.slice_count} of {slices}"),
            (
                cube and (view.width != view.height or view.slice_count % 6 != 0),
                f"cube of {view.width}x{view.height}, {view.slice_count} slices",
            ),
        ):
            if bad:
                raise FaultError(Fault.BAD_DESCRIPTOR, why, address=address)
        for name in ("width", "height", "depth", "samples", "first_mip", "min_lod"):
            record[name] = getattr(view, name)
        record["base"], record["mips"] = base, view.mip_count
        # A shader reads all of a volume; what it writes is a range of depth slices.
        whole = volume and not write
        record["slices"], record["first_slice"] = (view.depth, 0) if whole else (view.slice_count, view.first_slice)
        record["slice_pitch"] = layout.size // layout.slices
        for mip in range(view.mips):
            sub = layout[mip, 0]
            record["mip_offset"][0, mip], record["row_pitch"][0, mip] = sub.offset, sub.row_pitch
            record["depth_pitch"][0, mip], record["sample_pitch"] = sub.depth_pitch, sub.sample_pitch
        return layout

    def sampler(self, packet: Packet | None) -> ResolvedSampler:
        """Resolve a sampler packet; None: what an empty slot samples with. Raises FaultError."""
        raw = unpack_packet(packet)[7:] if packet is not None else ()
        found = self._samplers.get(raw)
        if found is None:
            found = self._samplers[raw] = self._resolve_sampler(Sampler.unpack(raw) if raw else Sampler())
            if len(self._samplers) > _LIMIT:
                self._samplers.pop(next(iter(self._samplers)))
        return found

    def _resolve_sampler(self, s: Sampler) -> ResolvedSampler:
        modes = (s.address_u, s.address_v, s.address_w)
        if any(m not in tuple(AddressMode) for m in modes) or (s.compare and s.comparison not in tuple(Comparison)):
            raise FaultError(Fault.BAD_DESCRIPTOR, f"sampler with address modes {modes}, comparison {s.comparison}")
        record = np.zeros(1, SAMPLER)
        record["lod_bias"], record["min_lod"], record["max_lod"] = s.mip_lod_bias, s.min_lod, s.max_lod
        record["border"] = s.border
        anisotropy = max(1, min(16, s.max_anisotropy)) if s.anisotropic else 1
        key = SamplerKey(s.min_filter, s.mag_filter, s.mip_filter, anisotropy, modes, s.comparison)
        return ResolvedSampler(key, int(record.ctypes.data), record, self.number(key))


def packet_fields(packet: Packet) -> Any:
    """``(address, extent, data)`` of a packet as Python integers."""
    return int(packet["address"]), int(packet["extent"]), packet["data"].tolist()
