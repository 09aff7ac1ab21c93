"""100 large overlapping depth-tested triangles at 1280x720 in three orders."""

from __future__ import annotations

from typing import Any

from bench import geometry
from bench.peers.workloads import library
from bench.peers.workloads.library import GLEnv, Loop, WgpuEnv


def run_gl(env: GLEnv) -> None:
    frame = env.target(*geometry.LARGE_SIZE, depth=True)
    env.ctx.enable(env.gl.DEPTH_TEST)

    def drawn(array: Any) -> Loop:
        def loop(count: int) -> None:
            for _ in range(count):
                frame.clear(0, 0, 0, 1, depth=1)
                frame.use()
                array.render()
                env.finish()

        return loop

    for order in geometry.ORDERS:
        env.duration(f"tri_large.{order}", drawn(env.coloured(geometry.large(order))), "ms/frame")


def run_wgpu(env: WgpuEnv) -> None:
    _, view, depth = env.target(*geometry.LARGE_SIZE, depth=True)
    pipeline = env.coloured()

    def drawn(order: str) -> Loop:
        vertices = geometry.large(order)
        buffer = env.buffer(vertices, env.wgpu.BufferUsage.VERTEX)

        def loop(count: int) -> None:
            for _ in range(count):
                encoder = env.dev.create_command_encoder()
                render = env.begin(encoder, view, depth)
                render.set_pipeline(pipeline)
                render.set_vertex_buffer(0, buffer)
                render.draw(len(vertices), 1, 0, 0)
                render.end()
                env.queue.submit([encoder.finish()])
                env.wait()

        return loop

    for order in geometry.ORDERS:
        env.duration(f"tri_large.{order}", drawn(order), "ms/frame")


if __name__ == "__main__":
    library.main(run_gl, run_wgpu)
