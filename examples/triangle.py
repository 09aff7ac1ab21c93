"""A triangle through the whole stack: compile, draw, read back, present."""

import numpy as np
import trio

import wddm
from wddm import hlsl

SHADERS = """
struct Pixel { float4 position : SV_Position; float3 color : COLOR; };
Pixel vs_main(float2 position : POSITION, float3 color : COLOR)
{
    Pixel p = { float4(position, 0, 1), color };
    return p;
}
float4 ps_main(Pixel p) : SV_Target { return float4(p.color, 1); }
"""


async def main() -> None:
    async with wddm.launch() as gpu:  # a private stack; wddm.connect("unix:…") for a running one
        device = await gpu.create_device()  # feature level 11_0
        swap_chain = await gpu.create_swap_chain(device, width=640, height=360, format=wddm.Format.R8G8B8A8_UNORM)
        back_buffer = await swap_chain.get_buffer(0)
        rtv = await device.create_render_target_view(back_buffer)
        vertices = np.array([[0, 0.5, 1, 0, 0], [0.5, -0.5, 0, 1, 0], [-0.5, -0.5, 0, 0, 1]], np.float32)
        vb = await device.create_buffer(vertices, bind_flags=wddm.BindFlag.VERTEX_BUFFER)
        vs_code = hlsl.compile(SHADERS, "vs_main", "vs_5_0")
        vs = await device.create_vertex_shader(vs_code)
        ps = await device.create_pixel_shader(hlsl.compile(SHADERS, "ps_main", "ps_5_0"))
        elements = [("POSITION", 0, wddm.Format.R32G32_FLOAT, 0, 0), ("COLOR", 0, wddm.Format.R32G32B32_FLOAT, 0, 8)]
        layout = await device.create_input_layout(elements, vs_code)
        ctx = device.immediate_context
        ctx.ia_set_input_layout(layout)
        ctx.ia_set_vertex_buffers(0, [vb], [20], [0])
        ctx.ia_set_primitive_topology(wddm.PrimitiveTopology.TRIANGLELIST)
        ctx.vs_set_shader(vs)
        ctx.ps_set_shader(ps)
        ctx.rs_set_viewports([wddm.Viewport(0, 0, 640, 360)])
        ctx.om_set_render_targets([rtv])
        ctx.clear_render_target_view(rtv, (0, 0, 0.2, 1))
        ctx.draw(3, 0)
        image = await ctx.read_texture(back_buffer)  # numpy (360, 640, 4) uint8
        await swap_chain.present(sync_interval=1)
        print("centre pixel:", image[180, 320], "on the display:", (await gpu.read_display())[180, 320])


trio.run(main)
