"""Input layouts by semantic, stream output by semantic, linkage."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.errors import ApiError
from runtime.shaders import link_faults, match_layout, stream_output_entries
from wddm.ddi.dxgiformat import DXGI_FORMAT
from wddm.dxbc.signature import ComponentType, D3DName, Signature, SignatureElement
from wddm.wire import api

APPEND = 0xFFFF_FFFF


def element(semantic: str, index: int = 0, format: int = 16, slot: int = 0, offset: int = APPEND, **rest: Any) -> api.InputElement:
    return api.InputElement(semantic=semantic, index=index, format=format, slot=slot, offset=offset, **rest)


INPUTS = Signature(
    [
        SignatureElement("POSITION", 0, register=0, mask=3),
        SignatureElement("COLOR", 1, register=2, mask=15),
        SignatureElement("SV_VertexID", 0, D3DName.VERTEX_ID, ComponentType.UINT32, 3, 1),
    ]
)


def test_elements_take_the_shaders_registers() -> None:
    layout = [element("color", 1, 2), element("UNUSED", 0, 61), element("Position", 0, 16)]
    found, warnings = match_layout(layout, INPUTS)
    assert [(e.InputRegister, e.AlignedByteOffset, e.Format) for e in found] == [
        (0, 20, DXGI_FORMAT.R32G32_FLOAT),
        (2, 0, DXGI_FORMAT.R32G32B32A32_FLOAT),
    ]
    assert warnings == []


def test_appending_counts_each_slot_for_itself() -> None:
    layout = [element("A", slot=0), element("B", slot=3), element("POSITION", slot=3), element("COLOR", 1, slot=0, format=2)]
    found, _ = match_layout(layout, INPUTS)
    assert [(e.InputSlot, e.AlignedByteOffset) for e in found] == [(3, 8), (0, 8)]


def test_another_type_is_a_warning() -> None:
    _, warnings = match_layout([element("POSITION", format=17), element("COLOR", 1, 2)], INPUTS)
    assert len(warnings) == 1
    assert "POSITION0" in warnings[0]


@pytest.mark.parametrize(
    ("words", "elements"),
    [
        ("nothing for the shader's input COLOR1", [element("POSITION")]),
        ("is there twice", [element("POSITION"), element("position")]),
        ("slot 32", [element("POSITION", slot=32)]),
        ("cannot be read from a vertex buffer", [element("POSITION", format=71)]),
        ("is no DXGI_FORMAT", [element("POSITION", format=999)]),
        ("no multiple of 4", [element("POSITION", offset=2)]),
        ("beyond 2048", [element("POSITION", offset=2048)]),
        ("step rate", [element("POSITION", step_rate=1)]),
        ("per-vertex and per-instance", [element("POSITION"), element("COLOR", 1, per_instance=True, step_rate=1)]),
        ("no semantic name", [element("")]),
        ("at most 32", [element("A", i) for i in range(33)]),
    ],
)
def test_layouts_refused(words: str, elements: list[api.InputElement]) -> None:
    with pytest.raises(ApiError, match=words):
        match_layout(elements, INPUTS)


OUTPUTS = Signature([SignatureElement("SV_Position", 0, D3DName.POSITION), SignatureElement("UV", 0, register=1, mask=0b0110)])


def so(semantic: str, start: int, count: int, **rest: Any) -> api.StreamOutputEntry:
    return api.StreamOutputEntry(**{"stream": 0, "index": 0, "slot": 0, **rest}, semantic=semantic, start=start, count=count)


def test_stream_output_by_register_and_mask() -> None:
    found = stream_output_entries([so("sv_position", 1, 2), so("UV", 0, 2, slot=1), so("", 0, 6)], OUTPUTS)
    assert [(e.OutputSlot, e.RegisterIndex, e.RegisterMask) for e in found] == [
        (0, 0, 0b0110),
        (1, 1, 0b0110),
        (0, 0xFFFF_FFFF, 15),
        (0, 0xFFFF_FFFF, 3),
    ]


@pytest.mark.parametrize(
    ("words", "entry"),
    [
        ("no output NOTHING0", so("NOTHING", 0, 1)),
        ("has 2 components", so("UV", 1, 2)),
        ("components 2 to 5", so("SV_Position", 2, 4)),
        ("are not in 0..3", so("UV", 0, 1, slot=4)),
        ("no components", so("UV", 0, 0)),
    ],
)
def test_stream_output_refused(words: str, entry: api.StreamOutputEntry) -> None:
    with pytest.raises(ApiError, match=words):
        stream_output_entries([entry], OUTPUTS)


def test_linkage() -> None:
    def inputs(*elements: SignatureElement) -> list[str]:
        return link_faults(OUTPUTS, Signature(list(elements)), "here")

    assert inputs(SignatureElement("uv", 0, register=1, mask=0b0010)) == []
    assert inputs(SignatureElement("SV_IsFrontFace", 0, D3DName.IS_FRONT_FACE, register=5)) == []
    assert "not written" in inputs(SignatureElement("UV", 1, register=1))[0]
    assert "register 2" in inputs(SignatureElement("UV", 0, register=2, mask=2))[0]
    assert "components" in inputs(SignatureElement("UV", 0, register=1, mask=1))[0]
