"""Submit latency: the smallest draw (one pixel) and the wait, nothing and the wait, a small clear, a one-pixel read-back."""

from __future__ import annotations

from bench.peers.workloads import library
from bench.peers.workloads.library import GLEnv, WgpuEnv


def run_gl(env: GLEnv) -> None:
    small = env.target(64, 64)
    program = env.program(
        "#version 330\nvoid main() { gl_Position = vec4(0, 0, 0, 1); gl_PointSize = 1.0; }",
        "#version 330\nout vec4 o; void main() { o = vec4(1, 0, 1, 1); }",
    )
    array = env.ctx.vertex_array(program, [])
    pixel = bytearray(4)
    points = env.gl.POINTS

    def draw() -> None:
        array.render(points, vertices=1)
        env.finish()

    def clear() -> None:
        small.clear(1, 0, 0, 1)
        env.finish()

    def read() -> None:
        array.render(points, vertices=1)
        small.read_into(pixel, (0, 0, 1, 1), components=4)

    env.latency("latency.draw1px.finish", draw)
    env.latency("latency.empty.finish", env.finish)
    env.latency("latency.clear64.finish", clear)
    env.latency("latency.draw1px.read1px", read)
    env.target(1280, 720)
    env.latency("latency.draw1px.finish.720p", draw)


def run_wgpu(env: WgpuEnv) -> None:
    _, view, _ = env.target(64, 64)
    pipeline = env.pipeline(
        """@vertex fn vs() -> @builtin(position) vec4f { return vec4f(0.0, 0.0, 0.0, 1.0); }
        @fragment fn fs() -> @location(0) vec4f { return vec4f(1.0, 0.0, 1.0, 1.0); }""",
        topology="point-list",
    )

    def draw() -> None:
        encoder = env.dev.create_command_encoder()
        render = env.begin(encoder, view, load=True)
        render.set_pipeline(pipeline)
        render.draw(1, 1, 0, 0)
        render.end()
        env.queue.submit([encoder.finish()])
        env.wait()

    def empty() -> None:
        env.queue.submit([env.dev.create_command_encoder().finish()])
        env.wait()

    env.latency("latency.draw1px.finish", draw)
    env.latency("latency.empty.finish", empty)


if __name__ == "__main__":
    library.main(run_gl, run_wgpu)
