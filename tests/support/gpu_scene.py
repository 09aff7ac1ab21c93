"""Scenes for engines: memory, packets and programs with little ceremony.

A :class:`Scene` owns a device memory and one hardware context, collects packets and runs them through the command processor on any
engine. Allocation is a bump pointer; nothing is freed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vgpu.command_processor import Execution
from vgpu.engine import Engine, PipelineState, StopWord
from vgpu.memory import Memory
from wddm.hw.descriptors import (
    DepthStencil,
    InputElement,
    Rasterizer,
    Sampler,
    TargetBlend,
    View,
    ViewDimension,
    float_bits,
)
from wddm.hw.formats import FORMATS, Format
from wddm.hw.isa import ShaderProgram
from wddm.hw.isa_check import check
from wddm.hw.isa_text import assemble
from wddm.hw.layout import SurfaceLayout, surface_layout
from wddm.hw.memory import LOCAL_BASE
from wddm.hw.packets import PACKET, Op, Stage
from wddm.hw.registers import Node


class Surface:
    """A texture or buffer in a scene's memory."""

    def __init__(self, address: int, size: int, view: View, layout: SurfaceLayout | None) -> None:
        self.address, self.size, self.view, self.layout = address, size, view, layout


class Scene:
    """See the module docstring."""

    def __init__(self, make_engine: Callable[[Memory, StopWord], Engine], local: int = 64 << 20) -> None:
        self.memory = Memory(local, 1 << 20, 0)
        self.stop = StopWord()
        self.engine = make_engine(self.memory, self.stop)
        self.state = PipelineState()
        self.next = LOCAL_BASE + 4096
        self.packets: list[npt.NDArray[np.void]] = []

    # -- memory -------------------------------------------------------------------------------------------------------
    def allocate(self, size: int, alignment: int = 256) -> int:
        """Bytes of local memory."""
        at = (self.next + alignment - 1) & -alignment
        self.next = at + size
        return at

    def upload(self, data: npt.NDArray[Any] | bytes) -> tuple[int, int]:
        """Copy into fresh memory: ``(address, size)``."""
        raw = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else np.ascontiguousarray(data).view(np.uint8).reshape(-1)
        address = self.allocate(max(4, raw.size))
        self.memory.view(address, raw.size, write=True)[:] = raw
        return address, raw.size

    def texture(
        self,
        format: Format,
        width: int,
        height: int = 1,
        *,
        depth: int = 1,
        mips: int = 1,
        slices: int = 1,
        samples: int = 1,
        dimension: ViewDimension = ViewDimension.TEXTURE2D,
        flags: int = 0,
    ) -> Surface:
        """A zeroed texture with a view of all of it."""
        layout = surface_layout(format, width, height, depth, mips, slices, samples)
        address = self.allocate(layout.size)
        self.memory.view(address, layout.size, write=True)[:] = 0
        view = View(dimension, format, width, height, depth, mips, slices, samples, 0, mips, 0, slices, flags)
        return Surface(address, layout.size, view, layout)

    def pixels(self, surface: Surface, mip: int = 0, slice: int = 0, sample: int = 0) -> npt.NDArray[np.uint8]:
        """``(height, width, bytes)`` of a subresource, sharing memory."""
        assert surface.layout is not None
        sub = surface.layout[mip, slice]
        size = FORMATS[Format(surface.view.format)].bytes_per_block
        raw = self.memory.view(surface.address, surface.size, write=True)
        start = sub.offset + sample * sub.sample_pitch
        rows = raw[start : start + sub.rows * sub.row_pitch].reshape(sub.rows, sub.row_pitch)
        columns = sub.width if FORMATS[Format(surface.view.format)].block == 1 else (sub.width + 3) // 4
        return rows[:, : columns * size].reshape(sub.rows, columns, size)

    def buffer(
        self, data: npt.NDArray[Any], dimension: ViewDimension = ViewDimension.RAW_BUFFER, *, stride: int = 4, format: int = 0
    ) -> Surface:
        """A buffer with a view of all of it."""
        address, size = self.upload(data)
        count = size // stride
        return Surface(address, size, View(dimension, format, count, 0, stride=stride), None)

    def read(self, surface: Surface, dtype: Any = np.float32) -> npt.NDArray[Any]:
        """A copy of a buffer's bytes."""
        return self.memory.view(surface.address, surface.size).view(dtype).copy()

    # -- packets ------------------------------------------------------------------------------------------------------
    def emit(
        self,
        op: Op,
        *,
        slot: int = 0,
        address: int = 0,
        extent: int = 0,
        arg: int = 0,
        data: Sequence[int] = (),
        address2: int = 0,
        extent2: int = 0,
    ) -> None:
        """Append a packet."""
        p = np.zeros(1, PACKET)
        p["op"], p["slot"], p["address"], p["extent"], p["arg"] = op, slot, address, extent, arg
        p["address2"], p["extent2"] = address2, extent2
        p["data"][0, : len(data)] = [int(d) & 0xFFFF_FFFF for d in data]
        self.packets.append(p)

    def shader(self, program: ShaderProgram | str) -> None:
        """Bind a program (assembly text or unpacked)."""
        if isinstance(program, str):
            program = assemble(program)
        check(program)
        address, size = self.upload(program.to_bytes())
        self.emit(Op.SET_SHADER, slot=program.stage << 8, address=address, extent=size)

    def constants(self, stage: Stage, slot: int, values: npt.NDArray[Any]) -> int:
        """Bind fresh constants; returns their address."""
        address, size = self.upload(values)
        self.emit(Op.SET_CONSTANT_BUFFER, slot=stage << 8 | slot, address=address, extent=size, data=[size])
        return address

    def bind(self, op: Op, surface: Surface, *, slot: int = 0, arg: int = 0, view: View | None = None, counter: int = 0) -> None:
        """SET_RESOURCE, SET_UAV, SET_RENDER_TARGET, SET_DEPTH_STENCIL, SET_SURFACE."""
        self.emit(
            op, slot=slot, address=surface.address, extent=surface.size, arg=arg, data=(view or surface.view).pack(),
            address2=counter, extent2=4 if counter else 0,
        )  # fmt: skip

    def sampler(self, sampler: Sampler, *, stage: Stage = Stage.PIXEL, slot: int = 0) -> None:
        """Bind a sampler."""
        self.emit(Op.SET_SAMPLER, slot=stage << 8 | slot, data=sampler.pack())

    def vertices(self, data: npt.NDArray[Any], stride: int, elements: Sequence[InputElement], slot: int = 0) -> None:
        """Bind a vertex buffer and the input layout."""
        address, size = self.upload(data)
        self.emit(Op.SET_VERTEX_BUFFER, slot=slot, address=address, extent=size, data=[stride])
        self.layout(elements)

    def layout(self, elements: Sequence[InputElement]) -> None:
        """Bind an input layout."""
        for i in range(0, len(elements), 4):
            words = [w for e in elements[i : i + 4] for w in e.pack()]
            self.emit(Op.SET_INPUT_LAYOUT, slot=i, arg=len(elements), data=words)

    def indices(self, data: npt.NDArray[Any]) -> None:
        """Bind an index buffer of uint16 or uint32."""
        address, size = self.upload(data)
        format = Format.R16_UINT if data.dtype.itemsize == 2 else Format.R32_UINT
        self.emit(Op.SET_INDEX_BUFFER, address=address, extent=size, data=[format])

    def viewport(
        self, width: float, height: float, x: float = 0, y: float = 0, near: float = 0, far: float = 1, slot: int = 0
    ) -> None:
        """Set a viewport."""
        self.emit(Op.SET_VIEWPORT, slot=slot, arg=slot + 1, data=[float_bits(v) for v in (x, y, width, height, near, far)])

    def blend(self, *targets: TargetBlend, arg: int = 0) -> None:
        """Set blend state; the last target's goes on to the others."""
        words = [t.pack() for t in targets]
        self.emit(Op.SET_BLEND, arg=arg, data=(words + [words[-1]] * 8)[:8])

    def depth_state(self, state: DepthStencil) -> None:
        """Set depth-stencil state."""
        self.emit(Op.SET_DEPTH_STENCIL_STATE, data=state.pack())

    def rasterizer(self, state: Rasterizer) -> None:
        """Set rasterizer state."""
        self.emit(Op.SET_RASTERIZER, data=state.pack())

    def draw(self, count: int, instances: int = 1, start: int = 0, start_instance: int = 0) -> None:
        """DRAW."""
        self.emit(Op.DRAW, data=[count, instances, start, start_instance])

    def draw_indexed(self, count: int, instances: int = 1, start: int = 0, base: int = 0, start_instance: int = 0) -> None:
        """DRAW_INDEXED."""
        self.emit(Op.DRAW_INDEXED, data=[count, instances, start, base, start_instance])

    def run(self, *, keep: bool = False) -> None:
        """Execute what was collected and complete it. ``keep``: collected packets stay, to be run again."""
        self.submit(np.concatenate(self.packets))
        if not keep:
            self.packets = []

    def submit(self, packets: npt.NDArray[np.void]) -> None:
        """Execute packets and complete them."""
        for _ in Execution(self.memory, self.engine, Node.GRAPHICS, self.state, packets.tobytes(), False).run():
            pass
        self.engine.flush(self.state)
