"""A hand-held GPU for tests: local memory with a bump allocator, packets by name, any engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vgpu.command_processor import Execution
from vgpu.engine import Engine, PipelineState, StopWord
from vgpu.engine.reference import ReferenceEngine
from vgpu.memory import Memory
from wddm.hw import descriptors as ds
from wddm.hw.descriptors import InputElement, View, ViewDimension
from wddm.hw.formats import FORMATS, Format
from wddm.hw.isa_text import assemble
from wddm.hw.layout import surface_layout
from wddm.hw.memory import LOCAL_BASE
from wddm.hw.packets import PACKET, ClearKind, Op, Stage, Topology
from wddm.hw.registers import Node

Array = npt.NDArray[Any]


class Surface:
    """A surface in local memory."""

    def __init__(self, rig: Rig, format: Format, width: int, height: int = 1, **more: Any) -> None:
        self.rig, self.format, self.width, self.height, self.more = rig, format, width, height, more
        self.depth, self.mips, self.slices, self.samples = (more.get(n, 1) for n in ("depth", "mips", "slices", "samples"))
        self.layout = surface_layout(format, width, height, self.depth, self.mips, self.slices, self.samples)
        self.address = rig.allocate(self.layout.size)

    def view(self, **more: Any) -> dict[str, Any]:
        """Packet fields of a view; keywords override fields of :class:`View`."""
        default = ViewDimension.TEXTURE3D if self.depth > 1 else ViewDimension.TEXTURE2D
        dimension = more.pop("dimension", default)
        fields: dict[str, Any] = {
            "format": self.format,
            "depth": self.depth,
            "mips": self.mips,
            "slices": self.slices,
            "samples": self.samples,
            "mip_count": self.mips,
            "slice_count": 1 if self.depth > 1 else self.slices,
            **more,
        }
        data = View(dimension, width=self.width, height=self.height, **fields).pack()
        return {"address": self.address, "extent": self.layout.size, "data": data}

    def elements(self, mip: int = 0, slice: int = 0, z: int = 0, sample: int = 0) -> Array:
        """Elements ``(rows, columns, bytes)``, as a view of memory."""
        s = self.layout[mip, slice]
        info = FORMATS[self.format]
        at = s.offset + z * s.depth_pitch + sample * s.sample_pitch
        data = self.rig.memory.view(self.address + at, s.rows * s.row_pitch, write=True).reshape(s.rows, s.row_pitch)
        columns = -(-s.width // info.block_width)
        return data[:, : columns * info.bytes_per_block].reshape(s.rows, columns, info.bytes_per_block)

    def typed(self, dtype: str, **where: int) -> Array:
        """Elements ``(rows, columns, n)`` of a dtype, copied."""
        return np.ascontiguousarray(self.elements(**where)).view(dtype)

    def put(self, values: Array, **where: int) -> None:
        """Write elements from an array of the same bytes."""
        cells = self.elements(**where)
        cells[:] = np.ascontiguousarray(values).view(np.uint8).reshape(cells.shape)


class Rig:
    """Memory, an engine and one context."""

    def __init__(self, engine: type[Engine] = ReferenceEngine, size: int = 32 << 20) -> None:
        self.memory = Memory(size, 1 << 20, 0)
        self.stop = StopWord()
        self.engine = engine(self.memory, self.stop)
        self.state = PipelineState()
        self._next = LOCAL_BASE + 4096
        self._packets: list[dict[str, Any]] = []
        self.execution: Execution | None = None

    def close(self) -> None:
        """Give memory back."""
        self.memory.close()

    def allocate(self, size: int) -> int:
        """Zeroed local memory."""
        address = self._next
        self._next += (size + 255) & -256
        self.memory.view(address, size)
        return address

    def upload(self, data: Array | bytes) -> tuple[int, int]:
        """Address and size of a copy of ``data``."""
        raw = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        address = self.allocate(max(raw.size, 1))
        self.memory.view(address, raw.size, write=True)[:] = raw
        return address, raw.size

    def read(self, address: int, count: int, dtype: str = "<u4") -> Array:
        """``count`` numbers at ``address``."""
        return self.memory.view(address, count * np.dtype(dtype).itemsize).view(dtype).copy()

    # --- packets -----------------------------------------------------------------------------------------------------

    def emit(self, op: Op, **fields: Any) -> None:
        """Append a packet."""
        self._packets.append({"op": op, **fields})

    def start(self) -> Execution:
        """An execution of what was appended."""
        array = np.zeros(len(self._packets), PACKET)
        for row, fields in zip(array, self._packets, strict=True):
            for name, value in fields.items():
                if name == "data":
                    row["data"][: len(value)] = [int(v) & 0xFFFF_FFFF for v in value]
                else:
                    row[name] = value
        self._packets = []
        self.execution = Execution(self.memory, self.engine, Node.GRAPHICS, self.state, array.tobytes(), False)
        return self.execution

    def run(self) -> None:
        """Execute what was appended."""
        for _ in self.start().run():
            pass
        self.engine.flush(self.state)

    # --- state by name -----------------------------------------------------------------------------------------------

    def shader(self, text: str) -> None:
        """Bind a program; the stage is the text's."""
        program = assemble(text)
        address, size = self.upload(program.to_bytes())
        self.emit(Op.SET_SHADER, slot=program.stage << 8, address=address, extent=size)

    def constants(self, stage: Stage, slot: int, values: Array) -> None:
        """Bind a constant buffer."""
        address, size = self.upload(values)
        self.emit(Op.SET_CONSTANT_BUFFER, slot=stage << 8 | slot, address=address, extent=size, data=[size])

    def vertices(self, values: Array, elements: Sequence[tuple[int, Format, int]], stride: int, slot: int = 0) -> None:
        """Bind a vertex buffer and a layout: (register, format, offset)."""
        address, size = self.upload(values)
        self.emit(Op.SET_VERTEX_BUFFER, slot=slot, address=address, extent=size, data=[stride])
        self.layout([InputElement(r, slot, f, o) for r, f, o in elements])

    def layout(self, elements: Sequence[InputElement]) -> None:
        """Set the input layout."""
        for i in range(0, len(elements), 4):
            words = [w for e in elements[i : i + 4] for w in e.pack()]
            self.emit(Op.SET_INPUT_LAYOUT, slot=i, arg=len(elements), data=words)

    def viewport(self, x: float, y: float, w: float, h: float, low: float = 0.0, high: float = 1.0) -> None:
        """Set viewport 0."""
        self.emit(Op.SET_VIEWPORT, arg=1, data=[ds.float_bits(v) for v in (x, y, w, h, low, high)])

    def target(self, surface: Surface, slot: int = 0, **view: Any) -> None:
        """Bind a render target."""
        self.emit(Op.SET_RENDER_TARGET, slot=slot, arg=slot + 1, **surface.view(**view))

    def topology(self, topology: Topology | int) -> None:
        """Set the topology."""
        self.emit(Op.SET_TOPOLOGY, arg=topology)

    def rasterizer(self, **state: Any) -> None:
        """Set rasteriser state."""
        self.emit(Op.SET_RASTERIZER, data=ds.Rasterizer(**state).pack())

    def depth_stencil(self, **state: Any) -> None:
        """Set depth-stencil state."""
        self.emit(Op.SET_DEPTH_STENCIL_STATE, data=ds.DepthStencil(**state).pack())

    def blend(self, *targets: ds.TargetBlend, arg: int = 0) -> None:
        """Set blend state."""
        words = [t.pack() for t in targets]
        self.emit(Op.SET_BLEND, arg=arg, data=(words + [ds.TargetBlend().pack()] * 8)[:8])

    def clear(self, surface: Surface, *color: float, uint: bool = False) -> None:
        """Clear a colour surface."""
        self.emit(Op.SET_SURFACE, slot=0, **surface.view())
        values = [int(c) if uint else ds.float_bits(c) for c in color]
        self.emit(Op.CLEAR_COLOR, arg=ClearKind.UINT if uint else 0, data=values)

    def clear_depth(self, surface: Surface, depth: float, stencil: int = 0, arg: int = 3) -> None:
        """Clear a depth-stencil surface."""
        self.emit(Op.SET_SURFACE, slot=0, **surface.view())
        self.emit(Op.CLEAR_DEPTH_STENCIL, arg=arg, data=[ds.float_bits(depth), stencil])

    def draw(self, count: int, instances: int = 1, start: int = 0, start_instance: int = 0) -> None:
        """Draw."""
        self.emit(Op.DRAW, data=[count, instances, start, start_instance])


#: Position and colour straight through.
PASS_VS = """
vertex
input 0 xyzw
input 1 xyzw
output 0 xyzw sv=POSITION
output 1 xyzw
""" + "".join(f"mov o{r}.{c}, v{r}.{c}\n" for r in (0, 1) for c in "xyzw")

COLOR_PS = """
pixel
input 1 xyzw interp=LINEAR
output 0 xyzw sv=TARGET
""" + "".join(f"mov o0.{c}, v1.{c}\n" for c in "xyzw")

ELEMENTS = ((0, Format.R32G32B32A32_FLOAT, 0), (1, Format.R32G32B32A32_FLOAT, 16))
