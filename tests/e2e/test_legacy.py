"""A legacy Direct3D client over real processes: one DP2 command buffer becomes a picture on the display."""

from __future__ import annotations

import numpy as np
import pytest

import wddm
from tests.e2e.conftest import client, stack_of_processes
from tests.stack.dp2.lab import corners
from wddm import BindFlag, Dp2CommandBuffer, Dp2Error, Format
from wddm.ddi.d3dhal import D3DCLEAR, D3DFVF, D3DQUERYTYPE
from wddm.ddi.d3dhal import D3DRENDERSTATETYPE as RS
from wddm.ddi.d3dhal import D3DTEXTURESTAGESTATETYPE as TSS

FVF = D3DFVF.XYZRHW | D3DFVF.DIFFUSE | D3DFVF.SPECULAR | D3DFVF.TEX1


@pytest.mark.parametrize("engine", ["reference", "llvm"])
async def test_a_frame_of_direct3d_7(engine: str) -> None:
    async with stack_of_processes(engine=engine) as stack, client(stack) as gpu:
        device = await gpu.create_device()
        context = await device.create_dp2_context()
        chain = await gpu.create_swap_chain(device, width=320, height=240, format=Format.B8G8R8A8_UNORM)
        back_buffer = await chain.get_buffer(0)
        depth = await device.create_texture2d(width=320, height=240, format=Format.D16_UNORM, bind_flags=BindFlag.DEPTH_STENCIL)
        texels = np.array([[0xFFFF0000, 0xFF00FF00], [0xFF0000FF, 0x00FFFFFF]], np.uint32)
        texture = await device.create_texture2d(
            texels.view(np.uint8).reshape(2, 2, 4), format=Format.B8G8R8A8_UNORM, bind_flags=BindFlag.SHADER_RESOURCE
        )
        target, z, map = [await context.create_surface(r) for r in (back_buffer, depth, texture)]
        # Enough vertices that they go up through shared memory: a picture of four, behind a thousand that are never drawn.
        vertices = np.concatenate([corners(0, 0, 9, 9)] * 300 + [corners(100, 60, 200, 160, z=0.5), corners(0, 0, 320, 240, 0xFF102030, 0.75)])
        await context.draw_primitives2(
            Dp2CommandBuffer()
            .set_render_target(target, z)
            .clear(D3DCLEAR.TARGET | D3DCLEAR.ZBUFFER, 0xFFFFFFFF)
            .render_states({RS.ZENABLE: 1, RS.ALPHATESTENABLE: 1, RS.ALPHAFUNC: 5, RS.ALPHAREF: 0x80})
            .texture(0, map)
            .triangle_fan(1200, 2)
            .texture(0, 0)
            .create_query(1, D3DQUERYTYPE.OCCLUSION)
            .begin_query(1)
            .triangle_fan(1204, 2)
            .end_query(1),
            vertices,
            fvf=FVF,
        )
        with pytest.raises(Dp2Error, match="D3DERR_COMMAND_UNPARSED"):
            await context.draw_primitives2(bytes(4))
        await chain.present(sync_interval=1)
        await device.immediate_context.wait_idle()
        for _ in range(2):
            await gpu.wait_for_vblank()
        shown = await gpu.read_display()
        quadrants = [shown[y, x, :3].tolist() for y, x in ((80, 120), (80, 180), (140, 120), (140, 180))]
        assert quadrants == [[255, 0, 0], [0, 255, 0], [0, 0, 255], [16, 32, 48]]
        assert (shown[0, 0, :3] == (16, 32, 48)).all()
        assert int.from_bytes(await context.get_query_data(1), "little") == 320 * 240 - 3 * 50 * 50
        assert (await context.render_states())[RS.ALPHAREF] == 0x80


def test_the_blocking_face() -> None:
    with wddm.blocking.launch(size=(320, 240), vram=64 << 20) as gpu:
        device = gpu.create_device()
        context = device.create_dp2_context()
        target = device.create_texture2d(width=8, height=8, format=Format.B8G8R8A8_UNORM, bind_flags=BindFlag.RENDER_TARGET)
        surface = context.create_surface(target)
        commands = Dp2CommandBuffer().set_render_target(surface).clear(1, 0).texture_stage_states(0, {TSS.COLOROP: 2, TSS.COLORARG1: 0})
        context.draw_primitives2(commands.triangle_fan(0, 2), corners(2, 2, 4, 4, 0xFF336699), fvf=FVF)
        image = device.immediate_context.read_texture(target)
        assert image[2, 2].tolist() == [0x99, 0x66, 0x33, 0xFF]
        assert int((image != 0).any(-1).sum()) == 4
