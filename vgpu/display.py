"""The display engine: heads with a mode, vertical sync, address latch, gamma, and the picture on the monitor.

Everything here takes ``now`` (nanoseconds) as an argument and decides; waiting for vertical sync is the shell's part. Latching
follows the flip semantics of WDDM: an armed surface is taken at the next vertical sync, or at once for immediate flips.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from vgpu.engine.reference import formats
from vgpu.fault import FaultError
from vgpu.memory import Memory
from wddm.hw.formats import FORMATS, Format, NumberType
from wddm.hw.registers import Flip, HeadControl, HeadRegister

#: Formats that can be scanned out.
SCANOUT_FORMATS: Final = frozenset(
    (
        Format.R16G16B16A16_FLOAT,
        Format.R10G10B10A2_UNORM,
        Format.R10G10B10_XR_BIAS_A2_UNORM,
        Format.R8G8B8A8_UNORM,
        Format.R8G8B8A8_UNORM_SRGB,
        Format.B8G8R8A8_UNORM,
        Format.B8G8R8A8_UNORM_SRGB,
        Format.B8G8R8X8_UNORM,
        Format.B8G8R8X8_UNORM_SRGB,
        Format.B5G6R5_UNORM,
        Format.B5G5R5A1_UNORM,
    )
)
#: Registers that the processor writes.
_WRITABLE: Final = frozenset(
    (
        HeadRegister.CONTROL,
        HeadRegister.WIDTH,
        HeadRegister.HEIGHT,
        HeadRegister.PITCH,
        HeadRegister.FORMAT,
        HeadRegister.REFRESH_NUMERATOR,
        HeadRegister.REFRESH_DENOMINATOR,
        HeadRegister.SURFACE_LO,
        HeadRegister.SURFACE_HI,
        HeadRegister.FLIP,
        HeadRegister.GAMMA_INDEX,
        HeadRegister.GAMMA_DATA,
    )
)
_GAMMA_ENTRIES: Final = 768
#: Lines of vertical blank for each 1000 visible ones.
_BLANK_PER_MILLE: Final = 50


@dataclass(frozen=True, slots=True)
class VSync:
    """A vertical sync that started: what is scanned out from now on."""

    head: int
    surface: int
    vblank_count: int
    time_ns: int


@dataclass(slots=True)
class Head:
    """One display head: registers, clockwork and latch."""

    index: int
    max_width: int
    max_height: int
    native_width: int
    native_height: int
    refresh: tuple[int, int] = (60, 1)  #: Hz, until a mode says otherwise
    registers: dict[int, int] = field(default_factory=dict)
    current: int = 0  #: address being scanned out
    armed: int | None = None
    vblank_count: int = 0
    last_vsync: int = 0  #: time of the last vertical sync
    _gamma: npt.NDArray[np.uint16] = field(default_factory=lambda: np.tile(np.arange(256, dtype=np.uint16) * np.uint16(257), 3))

    def reset(self) -> None:
        """As after power-on."""
        self.registers = {HeadRegister.REFRESH_NUMERATOR: self.refresh[0], HeadRegister.REFRESH_DENOMINATOR: self.refresh[1]}
        self.current = 0
        self.armed = None
        self._gamma[:] = np.tile(np.arange(256, dtype=np.uint16) * np.uint16(257), 3)

    # --- registers ---------------------------------------------------------------------------------------------------

    def read(self, register: HeadRegister, now: int) -> int:
        """A register's value."""
        special = {
            HeadRegister.CURRENT_LO: self.current & 0xFFFF_FFFF,
            HeadRegister.CURRENT_HI: self.current >> 32,
            HeadRegister.VBLANK_COUNT: self.vblank_count & 0xFFFF_FFFF,
            HeadRegister.MAX_WIDTH: self.max_width,
            HeadRegister.MAX_HEIGHT: self.max_height,
            HeadRegister.NATIVE_WIDTH: self.native_width,
            HeadRegister.NATIVE_HEIGHT: self.native_height,
        }
        if register == HeadRegister.SCAN_LINE:
            return self.scan_line(now)
        if register == HeadRegister.GAMMA_DATA:
            return int(self._gamma[self.registers.get(HeadRegister.GAMMA_INDEX, 0) % _GAMMA_ENTRIES])
        return special.get(register, self.registers.get(register, 0))

    def write(self, register: HeadRegister, value: int, now: int) -> None:
        """Write a register; read-only ones ignore it."""
        if register not in _WRITABLE:
            return
        if register == HeadRegister.CONTROL and value & HeadControl.ENABLE and not self.enabled:
            self.last_vsync = now
        if register == HeadRegister.GAMMA_DATA:
            index = self.registers.get(HeadRegister.GAMMA_INDEX, 0) % _GAMMA_ENTRIES
            self._gamma[index] = value & 0xFFFF
            self.registers[HeadRegister.GAMMA_INDEX] = (index + 1) % _GAMMA_ENTRIES
            return
        if register == HeadRegister.FLIP:
            self._flip(value)
            return
        self.registers[register] = value

    def _flip(self, value: int) -> None:
        surface = self.registers.get(HeadRegister.SURFACE_LO, 0) | self.registers.get(HeadRegister.SURFACE_HI, 0) << 32
        if value == Flip.IMMEDIATE:
            self.current, self.armed = surface, None
        elif value == Flip.ON_VSYNC:
            self.armed = surface

    @property
    def control(self) -> HeadControl:
        """The control register."""
        return HeadControl(self.registers.get(HeadRegister.CONTROL, 0) & 7)

    @property
    def enabled(self) -> bool:
        """Whether vertical sync runs."""
        return bool(self.control & HeadControl.ENABLE)

    # --- clockwork ---------------------------------------------------------------------------------------------------

    @property
    def period(self) -> int:
        """Nanoseconds from one vertical sync to the next: what the refresh registers say, within 1 to 1000 Hz."""
        numerator = self.registers.get(HeadRegister.REFRESH_NUMERATOR, 0)
        denominator = self.registers.get(HeadRegister.REFRESH_DENOMINATOR, 0)
        if not numerator or not denominator:
            numerator, denominator = self.refresh
        return min(max(1_000_000_000 * denominator // numerator, 1_000_000), 1_000_000_000)

    @property
    def next_vsync(self) -> int | None:
        """When vertical sync comes next; None while the head is off."""
        return self.last_vsync + self.period if self.enabled else None

    def advance(self, now: int) -> VSync | None:
        """Let time pass. The vertical sync that started, if any did; of several that were missed the last."""
        if not self.enabled or now < self.last_vsync + self.period:
            return None
        passed = (now - self.last_vsync) // self.period
        self.last_vsync += passed * self.period
        self.vblank_count += passed
        if self.armed is not None:
            self.current, self.armed = self.armed, None
        return VSync(self.index, self.current, self.vblank_count, self.last_vsync)

    def scan_line(self, now: int) -> int:
        """The line being scanned out; the mode's height and above during vertical blank."""
        height = self.registers.get(HeadRegister.HEIGHT, 0)
        if not self.enabled or not height:
            return height
        blank = max(1, height * _BLANK_PER_MILLE // 1000)
        since = min(max(now - self.last_vsync, 0), self.period - 1)
        line = since * (height + blank) // self.period
        return height + line if line < blank else line - blank

    # --- scan-out ----------------------------------------------------------------------------------------------------

    def read_frame(self, memory: Memory) -> npt.NDArray[np.uint8]:
        """What the monitor shows: ``(height, width, 4)`` bytes R, G, B, 255, gamma applied. Black where nothing can be seen."""
        width = min(self.registers.get(HeadRegister.WIDTH, 0), self.max_width)
        height = min(self.registers.get(HeadRegister.HEIGHT, 0), self.max_height)
        out = np.zeros((height, width, 4), np.uint8)
        out[:, :, 3] = 255
        visible = HeadControl.ENABLE | HeadControl.VISIBLE
        if self.control & visible != visible or not self.current or not width or not height:
            return out
        colors = self._scan(memory, width, height)
        if colors is not None:
            gamma = self._gamma.reshape(3, 256) >> np.uint16(8)
            for channel in range(3):
                out[:, :, channel] = gamma[channel][colors[:, :, channel]]
        return out

    def _scan(self, memory: Memory, width: int, height: int) -> npt.NDArray[np.uint8] | None:
        """The surface as 8-bit colours; None when it cannot be read (unbound pages, no scan-out format)."""
        number, pitch = self.registers.get(HeadRegister.FORMAT, 0), self.registers.get(HeadRegister.PITCH, 0)
        if number not in SCANOUT_FORMATS:
            return None
        info = FORMATS[Format(number)]
        size = info.bytes_per_block
        if pitch < width * size:
            return None
        try:
            data = memory.view(self.current, pitch * (height - 1) + width * size)
        except FaultError:
            return None
        rows = np.lib.stride_tricks.as_strided(data, (height, width * size), (pitch, 1), writeable=False)
        cells = np.ascontiguousarray(rows).reshape(height, width, size)
        name = info.format.name
        if name.startswith("R8G8B8A8"):
            return cells
        if name.startswith("B8G8R8"):
            return cells[:, :, [2, 1, 0, 3]]
        colors = formats.unpack(info, cells.reshape(-1, size)).view(np.float32)
        with np.errstate(all="ignore"):
            colors = np.where(colors > 0, np.minimum(colors, 1), 0)
            if info.type == NumberType.FLOAT:  # linear light; integers carry sRGB
                colors = formats.linear_to_srgb(colors).astype(np.float32)
            out: npt.NDArray[np.uint8] = np.floor(colors * 255 + 0.5).astype(np.uint8).reshape(height, width, 4)
        return out
