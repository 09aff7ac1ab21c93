"""The state mapping: defaults, state sets, and values that are derived from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.umd.dp2.rig import Legacy
from umd.dp2.errors import D3DERR_INVALIDCALL, DDERR_INVALIDPARAMS, CommandError
from umd.dp2.state import RS, TSS, Kind, State
from wddm.client.dp2_commands import Dp2CommandBuffer
from wddm.ddi.d3dhal import D3DHAL_STATESET as SET
from wddm.ddi.d3dhal import D3DSTATEBLOCKTYPE as TYPE
from wddm.ddi.d3dhal import PIXEL_RENDERSTATES, VERTEX_RENDERSTATES

ZFUNC, CULL = (Kind.RENDERSTATE, int(RS.ZFUNC), 0), (Kind.RENDERSTATE, int(RS.CULLMODE), 0)


def test_defaults() -> None:
    state = State()
    assert state.render(RS.ZFUNC) == 4
    assert state.render_float(RS.FOGEND) == 1.0
    assert state.render_float(RS.POINTSIZE) == 1.0
    assert state.stage(0, TSS.COLOROP) == 4
    assert state.stage(3, TSS.TEXCOORDINDEX) == 3
    assert (state.get(Kind.TRANSFORM, 256) == np.eye(4)).all()
    assert state.get(Kind.ZRANGE) == (0.0, 1.0)


async def test_the_runtime_s_copy_is_told_what_the_driver_uses() -> None:
    legacy = await Legacy.start(2, 2)
    assert legacy.rstates[RS.POINTSIZE] == 0x3F800000
    await legacy.draw(Dp2CommandBuffer().render_states({RS.ZFUNC: 7, RS.FOGEND: 2.5}))
    assert (legacy.rstates[RS.ZFUNC], legacy.rstates[RS.FOGEND]) == (7, 0x40200000)
    await legacy.draw(Dp2CommandBuffer().begin_state_set(1).render_state(RS.ZFUNC, 3).end_state_set())
    assert legacy.rstates[RS.ZFUNC] == 7
    await legacy.draw(Dp2CommandBuffer().execute_state_set(1))
    assert legacy.rstates[RS.ZFUNC] == 3


def test_a_recording_takes_what_is_set_and_nothing_else() -> None:
    state = State()
    state.put(*ZFUNC, 5)
    state.stateset(SET.BEGIN, 7, 0)
    state.put(*ZFUNC, 1)
    state.put(*CULL, 1)
    state.stateset(SET.END, 0, 0)
    assert (state.render(RS.ZFUNC), state.render(RS.CULLMODE)) == (5, 3)
    assert set(state.stateset(SET.EXECUTE, 7, 0)) == {ZFUNC, CULL}
    assert (state.render(RS.ZFUNC), state.render(RS.CULLMODE)) == (1, 1)
    state.put(*ZFUNC, 8)
    state.stateset(SET.CAPTURE, 7, 0)
    state.put(*ZFUNC, 2)
    state.stateset(SET.EXECUTE, 7, 0)
    assert state.render(RS.ZFUNC) == 8
    state.stateset(SET.DELETE, 7, 0)
    with pytest.raises(CommandError) as caught:
        state.stateset(SET.EXECUTE, 7, 0)
    assert caught.value.hr == DDERR_INVALIDPARAMS


@pytest.mark.parametrize(
    ("begin", "operation", "hr"),
    [
        (False, SET.END, D3DERR_INVALIDCALL), (True, SET.BEGIN, D3DERR_INVALIDCALL), (True, SET.EXECUTE, D3DERR_INVALIDCALL),
        (False, SET.CAPTURE, DDERR_INVALIDPARAMS), (False, SET.DELETE, DDERR_INVALIDPARAMS), (False, 9, DDERR_INVALIDPARAMS),
        (False, SET.CREATE, DDERR_INVALIDPARAMS),
    ],
)  # fmt: skip
def test_what_a_state_set_may_not_do(begin: bool, operation: int, hr: int) -> None:
    state = State()
    if begin:
        state.stateset(SET.BEGIN, 1, 0)
    with pytest.raises(CommandError) as caught:
        state.stateset(operation, 1, 0)
    assert caught.value.hr == hr


@pytest.mark.parametrize(
    ("type", "inside", "outside"),
    [
        (TYPE.PIXELSTATE, [(Kind.RENDERSTATE, int(c), 0) for c in PIXEL_RENDERSTATES] + [(Kind.STAGE, 5, int(TSS.COLOROP)), (Kind.PIXEL_SHADER, 0, 0)],
         [CULL, (Kind.DECLARATION, 0, 0), (Kind.STAGE, 0, int(TSS.TEXTUREMAP)), (Kind.LIGHT_ENABLE, 2, 0)]),
        (TYPE.VERTEXSTATE, [(Kind.RENDERSTATE, int(c), 0) for c in VERTEX_RENDERSTATES] + [(Kind.STAGE, 5, int(TSS.TEXCOORDINDEX)), (Kind.LIGHT_ENABLE, 2, 0)],
         [ZFUNC, (Kind.STAGE, 5, int(TSS.COLOROP)), (Kind.PIXEL_SHADER, 0, 0), (Kind.TRANSFORM, 256, 0)]),
        (TYPE.ALL, [ZFUNC, CULL, (Kind.TRANSFORM, 256, 0), (Kind.MATERIAL, 0, 0), (Kind.LIGHT_ENABLE, 2, 0), (Kind.PIXEL_CONSTANT, 3, 0)],
         [(Kind.STAGE, 0, int(TSS.TEXTUREMAP)), (Kind.STREAM, 0, 0), (Kind.INDICES, 0, 0), (Kind.TARGET, 0, 0)]),
    ],
    ids=["pixel", "vertex", "all"],
)  # fmt: skip
def test_a_whole_state_set_has_what_its_type_says(type: int, inside: list[Any], outside: list[Any]) -> None:
    state = State()
    for kind, value in ((Kind.TRANSFORM, np.eye(4)), (Kind.STREAM, (1, 0, 4)), (Kind.INDICES, (1, 2)), (Kind.TARGET, 1)):
        state.put(kind, 256 if kind is Kind.TRANSFORM else 0, 0, value)
    state.put(Kind.LIGHT_ENABLE, 2, 0, True)
    state.put(Kind.PIXEL_CONSTANT, 3, 0, (1, 2, 3, 4))
    state.stateset(SET.CREATE, 1, type)
    keys = set(state.stateset(SET.EXECUTE, 1, 0))
    assert keys >= set(inside)
    assert not keys & set(outside)


KEYS = st.sampled_from([(Kind.RENDERSTATE, 7, 0), (Kind.RENDERSTATE, 8, 0), (Kind.STAGE, 0, 1), (Kind.LIGHT_ENABLE, 0, 0), (Kind.LIGHT_ENABLE, 5, 0)])
STEPS = st.lists(st.tuples(st.sampled_from(["put", "replace", "record", "execute", "read"]), KEYS, st.integers(0, 3)), max_size=40)


@settings(deadline=None, max_examples=200)
@given(STEPS)
def test_what_is_derived_is_never_out_of_date(steps: list[tuple[str, Any, int]]) -> None:
    state = State()
    state.stateset(SET.BEGIN, 1, 0)
    state.stateset(SET.END, 0, 0)
    made = 0

    def inner() -> int:
        return state.render(7) * 10

    def outer() -> tuple[Any, ...]:
        nonlocal made
        made += 1
        first = state.derive("inner", inner)
        lights = tuple((k[1], v) for k, v in state.all_of(Kind.LIGHT_ENABLE))
        return (first, state.stage(0, 1), lights) if first else (first, lights)

    def fresh() -> tuple[Any, ...]:
        first = state.render(7) * 10
        lights = tuple((k[1], v) for k, v in sorted(state.values.items()) if k[0] == Kind.LIGHT_ENABLE)
        return (first, state.stage(0, 1), lights) if first else (first, lights)

    for action, key, value in steps:
        if action == "put":
            state.put(*key, value)
        elif action == "replace":
            with state.replaced({key: value}):
                assert state.derive("outer", outer) == fresh()
        elif action == "record":
            state.stateset(SET.BEGIN, 1, 0)
            state.put(*key, value)
            state.stateset(SET.END, 0, 0)
        elif action == "execute":
            state.stateset(SET.EXECUTE, 1, 0)
        assert state.derive("outer", outer) == fresh()
        before = made
        assert state.derive("outer", outer) == fresh()
        assert made == before  # nothing changed in between
