"""Direct3D as it was: a lit, textured floor that runs into the fog, in one DrawPrimitives2 command buffer, on the display.

Everything is fixed function: matrices, a material, two lights, texture stages, table fog, depth buffer. No shader is written here;
the driver makes them.
"""

import numpy as np
import trio

import wddm
from wddm.ddi.d3dhal import D3DCLEAR, D3DFVF, D3DLIGHTTYPE
from wddm.ddi.d3dhal import D3DRENDERSTATETYPE as RS
from wddm.ddi.d3dhal import D3DTEXTUREOP as TOP
from wddm.ddi.d3dhal import D3DTEXTURESTAGESTATETYPE as TSS
from wddm.ddi.d3dhal import D3DTRANSFORMSTATETYPE as T

WIDTH, HEIGHT = 640, 360
SKY = 0xFF405070
FVF = D3DFVF.XYZ | D3DFVF.NORMAL | D3DFVF.TEX1


def floor(n: int = 24) -> tuple[np.ndarray, list[int]]:
    """An (n + 1)² grid of vertices in y = -1 and its triangles; lights are computed at vertices, so there are many."""
    z, x = np.meshgrid(np.linspace(1, 25, n + 1), np.linspace(-12, 12, n + 1), indexing="ij")
    one, zero = np.ones_like(x), np.zeros_like(x)
    vertices = np.stack([x, -one, z, zero, one, zero, x / 4, z / 4], -1).astype(np.float32).reshape(-1, 8)
    at = np.arange((n + 1) ** 2).reshape(n + 1, n + 1)
    a, b, c, d = at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:]
    return vertices, np.stack([a, b, c, a, c, d], -1).reshape(-1).tolist()


def projection() -> np.ndarray:
    """A left-handed perspective for row vectors, from 0.5 to 50."""
    near, far = 0.5, 50.0
    q = far / (far - near)
    return np.array([[HEIGHT / WIDTH, 0, 0, 0], [0, 1, 0, 0], [0, 0, q, 1], [0, 0, -near * q, 0]], np.float32)


def scene(target: int, depth: int, texture: int, triangles: list[int]) -> wddm.Dp2CommandBuffer:
    """The frame: states and the one primitive."""
    return (
        wddm.Dp2CommandBuffer()
        .set_render_target(target, depth)
        .clear(D3DCLEAR.TARGET | D3DCLEAR.ZBUFFER, SKY, 1.0)
        .set_transform(T.PROJECTION, projection())
        .set_material(diffuse=(1, 1, 1, 1), ambient=(1, 1, 1, 1))
        .set_light(0, D3DLIGHTTYPE.POINT, Diffuse=(1.0, 0.8, 0.5, 1), Position=(-2, 0.5, 5), Attenuation0=0.2, Attenuation1=0.3)
        .enable_light(0)
        .set_light(1, D3DLIGHTTYPE.DIRECTIONAL, Diffuse=(0.25, 0.35, 0.6, 1), Direction=(0.3, -1, 0.3))
        .enable_light(1)
        .render_states({RS.ZENABLE: 1, RS.AMBIENT: 0xFF181820})
        .render_states({RS.FOGENABLE: 1, RS.FOGCOLOR: SKY, RS.FOGTABLEMODE: 3, RS.FOGSTART: 5.0, RS.FOGEND: 22.0})
        .texture(0, texture)
        .texture_stage_states(0, {TSS.COLOROP: TOP.MODULATE, TSS.MINFILTER: 2, TSS.MAGFILTER: 2})
        .indexed_triangle_list(triangles)
    )


async def main() -> None:
    async with wddm.launch(size=(WIDTH, HEIGHT)) as gpu:
        device = await gpu.create_device()
        context = await device.create_dp2_context()
        chain = await gpu.create_swap_chain(device, width=WIDTH, height=HEIGHT, format=wddm.Format.B8G8R8A8_UNORM)
        depth = await device.create_texture2d(
            width=WIDTH, height=HEIGHT, format=wddm.Format.D24_UNORM_S8_UINT, bind_flags=wddm.BindFlag.DEPTH_STENCIL
        )
        checks = (np.indices((64, 64)) // 32).sum(0) % 2 * 0x90 + 0x60
        texels = np.stack([checks, checks, checks, np.full_like(checks, 255)], -1).astype(np.uint8)
        texture = await device.create_texture2d(
            texels, format=wddm.Format.B8G8R8A8_UNORM, bind_flags=wddm.BindFlag.SHADER_RESOURCE
        )
        back_buffer = await chain.get_buffer(0)
        surfaces = [await context.create_surface(r) for r in (back_buffer, depth, texture)]
        vertices, triangles = floor()
        await context.draw_primitives2(scene(*surfaces, triangles), vertices, fvf=FVF)
        image = await device.immediate_context.read_texture(back_buffer)  # (height, width, 4), blue first
        await chain.present(sync_interval=1)
        await device.immediate_context.wait_idle()
        for _ in range(2):
            await gpu.wait_for_vblank()
        shown = await gpu.read_display()
        print("near the light:", image[300, 250, 2::-1], "far away:", image[195, 320, 2::-1])
        print("on the display:", shown[300, 250, :3])


if __name__ == "__main__":
    trio.run(main)
