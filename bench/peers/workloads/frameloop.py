"""A spinning textured cube at 1280x720 with depth: read back each frame, waited for, or only submitted."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench import geometry
from bench.peers.workloads import library
from bench.peers.workloads.library import GLEnv, Loop, WgpuEnv

WIDTH, HEIGHT = 1280, 720


def run_gl(env: GLEnv) -> None:
    frame = env.target(WIDTH, HEIGHT, depth=True)
    env.ctx.enable(env.gl.DEPTH_TEST)
    program = env.program(
        """#version 330
        in vec3 p; in vec3 n; in vec2 t; out vec2 uv; out vec3 nn; uniform mat4 m;
        void main() { uv = t; nn = n; vec4 c = m * vec4(p, 1); gl_Position = vec4(c.xy, 2.0 * c.z - c.w, c.w); }""",
        """#version 330
        in vec2 uv; in vec3 nn; uniform sampler2D tx; out vec4 o;
        void main() { float l = 0.3 + 0.7 * max(dot(normalize(nn), normalize(vec3(0.3, 0.5, 0.8))), 0.0);
        o = vec4(texture(tx, uv).rgb * l, 1.0); }""",
    )
    array = env.ctx.vertex_array(program, [(env.ctx.buffer(geometry.cube().tobytes()), "3f 3f 2f", "p", "n", "t")])
    picture = env.ctx.texture((256, 256), 4, geometry.checker().tobytes())
    picture.build_mipmaps()
    picture.filter = env.gl.LINEAR_MIPMAP_LINEAR, env.gl.LINEAR
    picture.use(0)
    matrix = program["m"]
    matrices = [m.tobytes() for m in geometry.cube_matrices()]
    out = np.zeros(WIDTH * HEIGHT * 4, np.uint8)

    def spin(kind: str) -> Loop:
        def loop(count: int) -> None:
            for i in range(count):
                frame.clear(0.1, 0.1, 0.2, 1, depth=1)
                frame.use()
                matrix.write(matrices[i & 255])
                array.render()
                if kind == "readback":
                    frame.read_into(out, components=4)
                elif kind == "finish":
                    env.finish()
                else:
                    env.flush()
            env.finish()

        return loop

    env.rate("frameloop.cube.readback", spin("readback"), 1, "fps")
    env.rate("frameloop.cube.finish", spin("finish"), 1, "fps")
    env.rate("frameloop.cube.flush", spin("flush"), 1, "fps", 300)


def run_wgpu(env: WgpuEnv) -> None:
    texture, view, depth = env.target(WIDTH, HEIGHT, depth=True)
    usage = env.wgpu.BufferUsage
    code = """@group(0) @binding(0) var<uniform> m: mat4x4f; @group(0) @binding(1) var tx: texture_2d<f32>;
    @group(0) @binding(2) var sm: sampler;
    struct VO { @builtin(position) p: vec4f, @location(0) uv: vec2f, @location(1) n: vec3f };
    @vertex fn vs(@location(0) p: vec3f, @location(1) n: vec3f, @location(2) t: vec2f) -> VO {
        var o: VO; o.p = m * vec4f(p, 1.0); o.uv = t; o.n = n; return o; }
    @fragment fn fs(i: VO) -> @location(0) vec4f {
        let l = 0.3 + 0.7 * max(dot(normalize(i.n), normalize(vec3f(0.3, 0.5, 0.8))), 0.0);
        return vec4f(textureSample(tx, sm, i.uv).rgb * l, 1.0); }"""
    attributes = [
        {"format": form, "offset": offset, "shader_location": location}
        for location, (form, offset) in enumerate((("float32x3", 0), ("float32x3", 12), ("float32x2", 24)))
    ]
    layout = {"array_stride": 32, "step_mode": "vertex", "attributes": attributes}
    pipeline = env.pipeline(code, depth=True, buffers=[layout])
    vertices = env.buffer(geometry.cube(), usage.VERTEX)
    uniforms = env.dev.create_buffer(size=64, usage=usage.UNIFORM | usage.COPY_DST)
    picture = env.mips(geometry.mip_chain(geometry.checker()))
    sampler = env.dev.create_sampler(mag_filter="linear", min_filter="linear", mipmap_filter="linear")
    entries: list[Any] = [
        {"binding": 0, "resource": {"buffer": uniforms, "offset": 0, "size": 64}},
        {"binding": 1, "resource": picture.create_view()},
        {"binding": 2, "resource": sampler},
    ]
    group = env.dev.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
    matrices = [m.tobytes() for m in geometry.cube_matrices()]
    record, read = env.reader(texture, WIDTH, HEIGHT)
    out = np.zeros(WIDTH * HEIGHT * 4, np.uint8)

    def spin(kind: str) -> Loop:
        def loop(count: int) -> None:
            for i in range(count):
                env.queue.write_buffer(uniforms, 0, matrices[i & 255])
                encoder = env.dev.create_command_encoder()
                render = env.begin(encoder, view, depth, clear=(0.1, 0.1, 0.2, 1))
                render.set_pipeline(pipeline)
                render.set_bind_group(0, group)
                render.set_vertex_buffer(0, vertices)
                render.draw(36, 1, 0, 0)
                render.end()
                if kind == "readback":
                    record(encoder)
                env.queue.submit([encoder.finish()])
                if kind == "readback":
                    read(out)
                elif kind == "finish":
                    env.wait()
            env.wait()

        return loop

    env.rate("frameloop.cube.readback", spin("readback"), 1, "fps")
    env.rate("frameloop.cube.finish", spin("finish"), 1, "fps")
    env.rate("frameloop.cube.flush", spin("flush"), 1, "fps", 300)


if __name__ == "__main__":
    library.main(run_gl, run_wgpu)
