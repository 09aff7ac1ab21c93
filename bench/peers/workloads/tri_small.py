"""100,000 triangles of about 10 pixels at 1280x720 in one draw, depth test on."""

from __future__ import annotations

from typing import Any

from bench import geometry
from bench.peers.workloads import library
from bench.peers.workloads.library import GLEnv, Loop, WgpuEnv

MILLIONS = geometry.SMALL_COUNT / 1e6


def run_gl(env: GLEnv) -> None:
    frame = env.target(*geometry.SMALL_SIZE, depth=True)
    env.ctx.enable(env.gl.DEPTH_TEST)

    def drawn(array: Any) -> Loop:
        def loop(count: int) -> None:
            for _ in range(count):
                frame.clear(0, 0, 0, 1, depth=1)
                frame.use()
                array.render()
                env.finish()

        return loop

    env.rate("tri_small.soup", drawn(env.coloured(geometry.soup())), MILLIONS, "Mtri/s")
    env.rate("tri_small.grid", drawn(env.coloured(*geometry.grid())), MILLIONS, "Mtri/s")


def run_wgpu(env: WgpuEnv) -> None:
    _, view, depth = env.target(*geometry.SMALL_SIZE, depth=True)
    pipeline = env.coloured()
    usage = env.wgpu.BufferUsage
    soup = geometry.soup()
    mesh, order = geometry.grid()
    soup_buffer, mesh_buffer = env.buffer(soup, usage.VERTEX), env.buffer(mesh, usage.VERTEX)
    index_buffer = env.buffer(order, usage.INDEX)

    def drawn(indexed: bool) -> Loop:
        def loop(count: int) -> None:
            for _ in range(count):
                encoder = env.dev.create_command_encoder()
                render = env.begin(encoder, view, depth)
                render.set_pipeline(pipeline)
                render.set_vertex_buffer(0, mesh_buffer if indexed else soup_buffer)
                if indexed:
                    render.set_index_buffer(index_buffer, "uint32")
                    render.draw_indexed(len(order), 1, 0, 0, 0)
                else:
                    render.draw(len(soup), 1, 0, 0)
                render.end()
                env.queue.submit([encoder.finish()])
                env.wait()

        return loop

    env.rate("tri_small.soup", drawn(False), MILLIONS, "Mtri/s")
    env.rate("tri_small.grid", drawn(True), MILLIONS, "Mtri/s")


if __name__ == "__main__":
    library.main(run_gl, run_wgpu)
