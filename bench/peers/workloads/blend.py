"""16 full-screen alpha-blended quads at 1920x1080."""

from __future__ import annotations

from bench.peers.workloads import library
from bench.peers.workloads.library import GLEnv, Loop, WgpuEnv

WIDTH, HEIGHT, LAYERS = 1920, 1080, 16
GIGAPIXELS = WIDTH * HEIGHT * LAYERS / 1e9


def run_gl(env: GLEnv) -> None:
    frame = env.target(WIDTH, HEIGHT)
    _, by_instance = env.quad(
        """#version 330
        flat in int inst; out vec4 o;
        void main() { o = vec4(float(inst & 3) * 0.3, float(inst >> 2) * 0.3, 0.5, 0.3); }"""
    )
    env.ctx.enable(env.gl.BLEND)
    env.ctx.blend_func = env.gl.SRC_ALPHA, env.gl.ONE_MINUS_SRC_ALPHA

    def instanced(count: int) -> None:
        for _ in range(count):
            frame.clear(0, 0, 0, 1)
            frame.use()
            by_instance.render(vertices=6, instances=LAYERS)
            env.finish()

    env.rate("blend.x16.instanced", instanced, GIGAPIXELS, "Gpix/s")
    program, by_uniform = env.quad("#version 330\nuniform vec4 c; out vec4 o; void main() { o = c; }")
    colour = program["c"]

    def draws(count: int) -> None:
        for _ in range(count):
            frame.clear(0, 0, 0, 1)
            frame.use()
            for i in range(LAYERS):
                colour.value = (i / 16, 0.5, 0.2, 0.3)
                by_uniform.render(vertices=6)
            env.finish()

    env.rate("blend.x16.draws", draws, GIGAPIXELS, "Gpix/s")

    def flushed(count: int) -> None:
        frame.use()
        for _ in range(count):
            for i in range(LAYERS):
                colour.value = (i / 16, 0.5, 0.2, 0.3)
                by_uniform.render(vertices=6)
                env.flush()
            env.finish()

    env.rate("blend.x16.flushed", flushed, GIGAPIXELS, "Gpix/s")


def run_wgpu(env: WgpuEnv) -> None:
    _, view, _ = env.target(WIDTH, HEIGHT)

    def layers(colour: str, at_once: bool) -> Loop:
        pipeline = env.pipeline(env.QUAD + f"@fragment fn fs(i: VO) -> @location(0) vec4f {{ return {colour}; }}", blend=True)

        def loop(count: int) -> None:
            for _ in range(count):
                encoder = env.dev.create_command_encoder()
                render = env.begin(encoder, view)
                render.set_pipeline(pipeline)
                if at_once:
                    render.draw(6, LAYERS, 0, 0)
                else:
                    for i in range(LAYERS):
                        render.draw(6, 1, 0, i)
                render.end()
                env.queue.submit([encoder.finish()])
                env.wait()

        return loop

    by_instance = "vec4f(f32(i.inst & 3u) * 0.3, f32(i.inst >> 2u) * 0.3, 0.5, 0.3)"
    env.rate("blend.x16.instanced", layers(by_instance, True), GIGAPIXELS, "Gpix/s")
    env.rate("blend.x16.draws", layers("vec4f(f32(i.inst) / 16.0, 0.5, 0.2, 0.3)", False), GIGAPIXELS, "Gpix/s")


if __name__ == "__main__":
    library.main(run_gl, run_wgpu)
