"""Whatever bits a draw or dispatch is made of: it is drawn, or it faults; nothing else happens, and nothing outside is touched."""

from __future__ import annotations

import contextlib

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.vgpu.rig import Rig, Surface
from tests.unit.vgpu.test_draw import pixels_to_clip, set_up
from tests.unit.vgpu.test_pipeline import GS, SUM
from tests.unit.vgpu.test_tessellation import DS, HS, PS, VS
from vgpu.engine import FaultError
from wddm.hw import descriptors as ds
from wddm.hw.descriptors import View, ViewDimension
from wddm.hw.formats import Format
from wddm.hw.isa_text import assemble
from wddm.hw.packets import PACKET, Op, Topology

WORD = st.one_of(st.integers(0, 40), st.integers(0, 2**32 - 1), st.sampled_from([0x7FC00000, 0x7F800000, 0xBF800000, 0x4F000000]))
SETTINGS = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])

TEXTURED = """
pixel temps=16
input 1 xyzw interp=LINEAR
output 0 xyzw sv=TARGET
resource 0 TEXTURE2D
resource 1 BUFFER
resource 2 STRUCTURED_BUFFER stride=8
sampler 0
uav 3 RAW_BUFFER
array 0 4
icb 1 2 3
mov r0, v1.x
mov r1, v1.y
sample r4, r0 t0 s0
load r8, r0 t1
load_structured r8, r0, 4 t2 mask=xy
gather4 r8, r0 t0 s0 component=z
fmad o0.x, r4, c0[1], r8
load_constant r2, r0 0
load_array r3, r2 0
uav_atomic r3, r2, _, 1 u3 atomic=ADD
load_icb r3, r2
if r3
  discard r2
else
  ddx_fine r2, r3
endif
mov o0.w, r2
"""


def scene(rig: Rig, kind: str) -> tuple[Surface, int]:
    """Packets of a valid draw; its target and a guard area behind everything."""
    target = Surface(rig, Format.R8G8B8A8_UNORM, 8, 8)
    depth = Surface(rig, Format.D24_UNORM_S8_UINT, 8, 8)
    texture = Surface(rig, Format.R8G8B8A8_UNORM, 8, 8, mips=3)
    triangle = pixels_to_clip(np.array([(0, 0), (8, 1), (1, 8)]), 8, 8)
    set_up(rig, target, triangle)
    rig.emit(Op.SET_DEPTH_STENCIL, **depth.view())
    rig.emit(Op.SET_SCISSOR, arg=1, data=[0, 0, 8, 8])
    rig.blend(ds.TargetBlend(True, 5, 6))
    rig.depth_stencil(stencil_enable=True)
    if kind == "tessellated":
        for text in (VS, HS, DS, PS):
            rig.shader(text)
        rig.topology(Topology.PATCHLIST_1 + 3)
    elif kind == "geometry":
        rig.shader(GS)
        rig.emit(Op.SET_STREAM_OUTPUT, address=rig.allocate(256), extent=256, address2=rig.allocate(4), extent2=4, arg=1)
    elif kind == "textured":
        rig.shader(TEXTURED)
        rig.emit(Op.SET_RESOURCE, slot=0x400, **texture.view())
        buffer = rig.allocate(64)
        for slot, view in (
            (1, View(ViewDimension.BUFFER, Format.R16G16_FLOAT, 16, 0)),
            (2, View(ViewDimension.STRUCTURED_BUFFER, 0, 8, 0, stride=8)),
        ):
            rig.emit(Op.SET_RESOURCE, slot=0x400 | slot, address=buffer, extent=64, data=view.pack())
        rig.emit(Op.SET_SAMPLER, slot=0x400, data=ds.Sampler(anisotropic=True, max_anisotropy=4).pack())
        view = View(ViewDimension.RAW_BUFFER, 0, 16, 0)
        rig.emit(Op.SET_UAV, slot=0x403, address=rig.allocate(64), extent=64, data=view.pack())
        rig.emit(Op.SET_CONSTANT_BUFFER, slot=0x400, address=rig.allocate(64), extent=64, data=[64])
    if kind == "compute":
        rig.shader(SUM)
        source = View(ViewDimension.BUFFER, Format.R16_UINT, 40, 0)
        rig.emit(Op.SET_RESOURCE, slot=5 << 8, address=rig.allocate(80), extent=80, data=source.pack())
        rig.emit(Op.SET_UAV, slot=5 << 8, address=rig.allocate(64), extent=64, data=View(ViewDimension.RAW_BUFFER, 0, 16, 0).pack())
        rig.emit(Op.DISPATCH, data=[5, 1, 1])
    else:
        rig.draw(4 if kind == "tessellated" else 3)
    return target, rig.allocate(8192)


KINDS = st.sampled_from(["plain", "textured", "geometry", "tessellated", "compute"])


CHANGE = st.tuples(st.integers(0, 40), st.sampled_from(["extent", "arg", "data"]), st.integers(0, 7), WORD)


@SETTINGS
@given(KINDS, st.lists(CHANGE, max_size=4))
def test_any_state(kind: str, changes: list[tuple[int, str, int, int]]) -> None:
    rig = Rig(size=1 << 20)
    _, guard = scene(rig, kind)
    execution = rig.start()
    packets = execution._packets.copy()
    for index, field, at, word in changes:
        packet = packets[index % len(packets)]
        if int(packet["op"]) in (Op.DRAW, Op.DISPATCH):
            word %= 60  # so that a test ends
        if field == "data":
            packet["data"][at] = word
        else:
            packet[field] = word
    assert packets.dtype == PACKET
    execution._packets, execution._raw = packets, packets.tobytes()
    with contextlib.suppress(FaultError):
        for _ in execution.run():
            pass
    assert not rig.memory.view(guard, 8192).any()
    rig.close()


@SETTINGS
@given(
    st.sampled_from([TEXTURED, VS, HS, DS, GS, SUM]),
    st.lists(st.tuples(st.integers(0, 60), st.sampled_from(["op", "mods", "dst", "src", "aux", "aux2"]), WORD), max_size=3),
    st.integers(0, 40),
)
def test_any_program(text: str, changes: list[tuple[int, str, int]], rotate: int) -> None:
    """Changed programs are refused, or run within their bounds."""
    rig = Rig(size=1 << 20)
    kinds = {TEXTURED: "textured", VS: "plain", HS: "tessellated", DS: "tessellated", GS: "geometry", SUM: "compute"}
    _, guard = scene(rig, kinds[text])
    program = assemble(text)
    rows = program.instructions
    for index, field, word in changes:
        row = rows[(index + rotate) % len(rows)]
        if field == "src":
            row["src"][index % 4] = word if word > 2**16 else 1 << 28 | word & 15
        elif field == "op":
            row["op"] = word % 280
        elif field == "mods":
            row["mods"] = word & 0xFFFF
        else:
            row[field] = word if field != "dst" or word > 2**16 else 1 << 28 | word & 15
    address, size = rig.upload(program.to_bytes())
    last = rig._packets.pop()
    rig.emit(Op.SET_SHADER, slot=program.stage << 8, address=address, extent=size)
    rig._packets.append(last)
    rig.stop.set()  # a loop that never ends is stopped at once
    with contextlib.suppress(FaultError):
        rig.run()
    assert not rig.memory.view(guard, 8192).any()
    rig.close()
