"""10,000 small draws (one 4x4-pixel quad each) in one frame, 256x256 target, called from Python one at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench import geometry
from bench.peers.workloads import library
from bench.peers.workloads.library import GLEnv, Loop, WgpuEnv

SIZE, COUNT = 256, 10_000
GL_BLEND = 0x0BE2


def run_gl(env: GLEnv) -> None:
    frame, ctx = env.target(SIZE, SIZE), env.ctx
    vertex = """#version 330
    uniform vec4 c;
    void main() {
        int i = gl_VertexID;
        vec2 p = vec2(i == 1 || i == 2 || i == 4 ? 1.0 : 0.0, i == 2 || i == 4 || i == 5 ? 1.0 : 0.0);
        gl_Position = vec4(c.xy + p * (4.0 / 128.0), 0, 1); }"""
    plain = env.program(vertex, "#version 330\nuniform vec4 c; out vec4 o; void main() { o = c; }")
    quad = ctx.vertex_array(plain, [])
    with_texture = env.program(
        vertex, "#version 330\nuniform vec4 c; uniform sampler2D t; out vec4 o; void main() { o = c * texture(t, c.zw); }"
    )
    textured = ctx.vertex_array(with_texture, [])
    places = [place.tobytes() for place in geometry.places(COUNT)]
    outside = np.array([5, 5, 0, 0], np.float32).tobytes()
    textures = [ctx.texture((16, 16), 4, bytes(1024)) for _ in range(2)]
    for texture in textures:
        texture.filter = env.gl.NEAREST, env.gl.NEAREST
    ctx.blend_func = env.gl.SRC_ALPHA, env.gl.ONE_MINUS_SRC_ALPHA
    constant, constant_textured = plain["c"], with_texture["c"]

    def same() -> None:
        constant.write(places[0])
        for _ in range(COUNT):
            quad.render(vertices=6)

    def uniform() -> None:
        for place in places:
            constant.write(place)
            quad.render(vertices=6)

    def blend() -> None:
        for i, place in enumerate(places):
            if i & 1:
                ctx.enable_direct(GL_BLEND)
            else:
                ctx.disable_direct(GL_BLEND)
            constant.write(place)
            quad.render(vertices=6)
        ctx.disable(env.gl.BLEND)

    def texture_changes() -> None:
        for i, place in enumerate(places):
            textures[i & 1].use(0)
            constant_textured.write(place)
            textured.render(vertices=6)

    def clipped() -> None:
        for _ in places:
            constant.write(outside)
            quad.render(vertices=6)

    def frames(record: Callable[[], None]) -> Loop:
        def loop(count: int) -> None:
            for _ in range(count):
                frame.clear(0, 0, 0, 1)
                frame.use()
                record()
                env.finish()

        return loop

    bodies = {"same": same, "uniform": uniform, "blend": blend, "texture": texture_changes, "clipped": clipped}
    for kind, record in bodies.items():
        env.rate(f"drawrate.{kind}", frames(record), COUNT / 1e3, "kdraw/s")


def run_wgpu(env: WgpuEnv) -> None:
    _, view, _ = env.target(SIZE, SIZE)
    usage = env.wgpu.BufferUsage
    code = """@group(0) @binding(0) var<uniform> c: vec4f;
    @vertex fn vs(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f {
        var x = 0.0; var y = 0.0;
        if (i == 1u || i == 2u || i == 4u) { x = 1.0; }
        if (i == 2u || i == 4u || i == 5u) { y = 1.0; }
        return vec4f(c.xy + vec2f(x, y) * (4.0 / 128.0), 0.0, 1.0); }
    @fragment fn fs() -> @location(0) vec4f { return c; }"""
    entry: dict[str, Any] = {"binding": 0, "visibility": 3, "buffer": {"type": "uniform", "has_dynamic_offset": True}}
    group_layout = env.dev.create_bind_group_layout(entries=[entry])
    layout = env.dev.create_pipeline_layout(bind_group_layouts=[group_layout])
    pipelines = [env.pipeline(code, layout=layout), env.pipeline(code, layout=layout, blend=True)]
    rows = np.zeros((COUNT, 64), np.float32)
    rows[:, :4] = geometry.places(COUNT)
    uniforms = env.buffer(rows, usage.UNIFORM | usage.COPY_DST)
    resource = {"buffer": uniforms, "offset": 0, "size": 16}
    group = env.dev.create_bind_group(layout=group_layout, entries=[{"binding": 0, "resource": resource}])

    def frames(kind: str) -> Loop:
        def loop(count: int) -> None:
            for _ in range(count):
                encoder = env.dev.create_command_encoder()
                render = env.begin(encoder, view)
                render.set_pipeline(pipelines[0])
                render.set_bind_group(0, group, [0])
                for i in range(COUNT):
                    if kind == "blend":
                        render.set_pipeline(pipelines[i & 1])
                    if kind != "same":
                        render.set_bind_group(0, group, [i * 256])
                    render.draw(6, 1, 0, 0)
                render.end()
                env.queue.submit([encoder.finish()])
                env.wait()

        return loop

    for kind in ("same", "uniform", "blend"):
        env.rate(f"drawrate.{kind}", frames(kind), COUNT / 1e3, "kdraw/s")


if __name__ == "__main__":
    library.main(run_gl, run_wgpu)
