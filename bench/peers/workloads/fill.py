"""Clear and flat full-screen quad rate, 1920x1080. Without the flush llvmpipe drops what a later opaque command hides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.peers.workloads import library
from bench.peers.workloads.library import GLEnv, Loop, WgpuEnv

WIDTH, HEIGHT = 1920, 1080
GIGAPIXELS = WIDTH * HEIGHT / 1e9


def run_gl(env: GLEnv) -> None:
    frame = env.target(WIDTH, HEIGHT)

    def clear(each: Callable[[], Any]) -> Loop:
        def loop(count: int) -> None:
            for i in range(count):
                frame.clear((i & 7) / 8, 0.5, 0.25, 1)
                each()
            env.finish()

        return loop

    env.rate("fill.clear.finish", clear(env.finish), GIGAPIXELS, "Gpix/s")
    env.rate("fill.clear.flush", clear(env.flush), GIGAPIXELS, "Gpix/s", 500)
    program, flat = env.quad("#version 330\nuniform vec4 c; out vec4 o; void main() { o = c; }")
    colour = program["c"]

    def quad(each: Callable[[], Any]) -> Loop:
        def loop(count: int) -> None:
            frame.use()
            for i in range(count):
                colour.value = ((i & 7) / 8, 0.5, 0.25, 1)
                flat.render(vertices=6)
                each()
            env.finish()

        return loop

    env.rate("fill.quad.finish", quad(env.finish), GIGAPIXELS, "Gpix/s")
    env.rate("fill.quad.flush", quad(env.flush), GIGAPIXELS, "Gpix/s", 500)
    _, smooth = env.quad("#version 330\nin vec2 uv; out vec4 o; void main() { o = vec4(uv, 0.25, 1.0); }")

    def gradient(count: int) -> None:
        frame.use()
        for _ in range(count):
            smooth.render(vertices=6)
            env.flush()
        env.finish()

    env.rate("fill.gradient.flush", gradient, GIGAPIXELS, "Gpix/s", 500)


def run_wgpu(env: WgpuEnv) -> None:
    _, view, _ = env.target(WIDTH, HEIGHT)

    def clear(each: bool) -> Loop:
        def loop(count: int) -> None:
            for i in range(count):
                encoder = env.dev.create_command_encoder()
                env.begin(encoder, view, clear=((i & 7) / 8, 0.5, 0.25, 1)).end()
                env.queue.submit([encoder.finish()])
                if each:
                    env.wait()
            env.wait()

        return loop

    env.rate("fill.clear.finish", clear(True), GIGAPIXELS, "Gpix/s")
    env.rate("fill.clear.flush", clear(False), GIGAPIXELS, "Gpix/s", 500)

    def quad(colour: str, each: bool) -> Loop:
        pipeline = env.pipeline(env.QUAD + f"@fragment fn fs(i: VO) -> @location(0) vec4f {{ return {colour}; }}")

        def loop(count: int) -> None:
            for _ in range(count):
                encoder = env.dev.create_command_encoder()
                render = env.begin(encoder, view, load=True)
                render.set_pipeline(pipeline)
                render.draw(6, 1, 0, 0)
                render.end()
                env.queue.submit([encoder.finish()])
                if each:
                    env.wait()
            env.wait()

        return loop

    env.rate("fill.quad.finish", quad("vec4f(0.0, 0.5, 0.25, 1.0)", True), GIGAPIXELS, "Gpix/s")
    env.rate("fill.quad.flush", quad("vec4f(0.0, 0.5, 0.25, 1.0)", False), GIGAPIXELS, "Gpix/s", 500)
    env.rate("fill.gradient.flush", quad("vec4f(i.uv, 0.25, 1.0)", False), GIGAPIXELS, "Gpix/s", 500)


if __name__ == "__main__":
    library.main(run_gl, run_wgpu)
