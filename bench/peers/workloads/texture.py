"""Full-screen textured quad, 1920x1080 from 1024x1024 RGBA8; uv1 magnified, uv4 repeated 4 times each way."""

from __future__ import annotations

from typing import Any

from bench import geometry
from bench.peers.workloads import library
from bench.peers.workloads.library import GLEnv, Loop, WgpuEnv

WIDTH, HEIGHT, SIZE = 1920, 1080, 1024
GIGAPIXELS = WIDTH * HEIGHT / 1e9
CASES = (
    ("nearest.uv1", 1, "nearest"),
    ("bilinear.uv1", 1, "bilinear"),
    ("bilinear.uv4", 4, "bilinear"),
    ("trilinear.uv4", 4, "trilinear"),
    ("trilinear.uv1", 1, "trilinear"),
)


def run_gl(env: GLEnv) -> None:
    frame = env.target(WIDTH, HEIGHT)
    picture = env.ctx.texture((SIZE, SIZE), 4, geometry.noise(SIZE).tobytes())
    picture.build_mipmaps()
    picture.repeat_x = picture.repeat_y = True
    program, quad = env.quad(
        "#version 330\nin vec2 uv; uniform float s = 1.0; uniform sampler2D t; out vec4 o; void main() { o = texture(t, uv * s); }"
    )
    g = env.gl
    filters = {
        "nearest": (g.NEAREST, g.NEAREST),
        "bilinear": (g.LINEAR, g.LINEAR),
        "trilinear": (g.LINEAR_MIPMAP_LINEAR, g.LINEAR),
    }
    picture.use(0)

    def loop(count: int) -> None:
        frame.use()
        for _ in range(count):
            quad.render(vertices=6)
            env.flush()
        env.finish()

    for name, repeat, kind in CASES:
        picture.filter = filters[kind]
        program["s"].value = repeat
        env.rate(f"texture.{name}", loop, GIGAPIXELS, "Gpix/s", 500)


def run_wgpu(env: WgpuEnv) -> None:
    _, view, _ = env.target(WIDTH, HEIGHT)
    picture = env.mips(geometry.mip_chain(geometry.noise(SIZE)))

    def textured(repeat: int, kind: str) -> Loop:
        pipeline = env.pipeline(
            env.QUAD
            + f"""@group(0) @binding(0) var t: texture_2d<f32>; @group(0) @binding(1) var sm: sampler;
            @fragment fn fs(i: VO) -> @location(0) vec4f {{ return textureSample(t, sm, i.uv * {repeat:f}); }}"""
        )
        within = "nearest" if kind == "nearest" else "linear"
        sampler = env.dev.create_sampler(
            address_mode_u="repeat",
            address_mode_v="repeat",
            mag_filter=within,
            min_filter=within,
            mipmap_filter="linear" if kind == "trilinear" else "nearest",
        )
        levels = picture.create_view() if kind == "trilinear" else picture.create_view(base_mip_level=0, mip_level_count=1)
        entries: list[Any] = [{"binding": 0, "resource": levels}, {"binding": 1, "resource": sampler}]
        group = env.dev.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)

        def loop(count: int) -> None:
            for _ in range(count):
                encoder = env.dev.create_command_encoder()
                render = env.begin(encoder, view, load=True)
                render.set_pipeline(pipeline)
                render.set_bind_group(0, group)
                render.draw(6, 1, 0, 0)
                render.end()
                env.queue.submit([encoder.finish()])
            env.wait()

        return loop

    for name, repeat, kind in CASES:
        env.rate(f"texture.{name}", textured(repeat, kind), GIGAPIXELS, "Gpix/s", 500)


if __name__ == "__main__":
    library.main(run_gl, run_wgpu)
