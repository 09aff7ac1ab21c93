"""Whatever the tokens say, translation ends in a program that the checker accepts or in a ShaderError: never in anything else."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.dxbc import listings
from tests.unit.dxbc.strategies import programs
from umd.shader.translate import ClassInstance, ShaderError, translate
from wddm.dxbc.assembler import assemble_program
from wddm.dxbc.errors import DxbcError
from wddm.dxbc.program import Program
from wddm.dxbc.tokens import decode, encode
from wddm.hw.isa import IsaError
from wddm.hw.isa_check import check

LISTINGS = [text for name, text in vars(listings).items() if name.isupper() and isinstance(text, str) and "_5_0" in text[:8]]
STREAMS = [encode(assemble_program(text)) for text in LISTINGS]


def try_program(program: Program) -> None:
    try:
        shader = translate(program)
    except ShaderError:
        return
    try:
        check(shader)
    except IsaError:
        return  # the driver reports it like a ShaderError
    assert len(shader.to_bytes()) % 4 == 0


def test_listings_of_every_stage_translate() -> None:
    assert len(STREAMS) >= 6
    for stream in STREAMS:
        check(translate(decode(stream), instances=[ClassInstance(table=n % 2) for n in range(8)]))


@settings(deadline=None, max_examples=300)
@given(programs())
def test_any_program(program: Program) -> None:
    try_program(program)


@settings(deadline=None, max_examples=500)
@given(st.sampled_from(STREAMS), st.data())
def test_damaged_streams(stream: bytes, data: st.DataObject) -> None:
    words = np.frombuffer(stream, np.uint32).copy()
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(2, len(words) - 1))
        words[at] ^= 1 << data.draw(st.integers(0, 31))
    try:
        program = decode(words.tobytes())
    except DxbcError:
        return
    try_program(program)
