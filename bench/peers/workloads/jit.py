"""Time to the first picture of a new shader: program creation, first draw, the same again, first draw with blending on; programs no
two of which are alike, the drivers' disk caches off."""

from __future__ import annotations

from bench.peers.workloads import library
from bench.peers.workloads.library import GLEnv, WgpuEnv, clock, emit, wants

PROGRAMS = 12


def _told(kind: str, taken: dict[str, list[float]]) -> None:
    for step, samples in taken.items():
        if wants(f"jit.{kind}.{step}"):
            emit(f"jit.{kind}.{step}", "ms", [s * 1e3 for s in samples[1:]], "low")


def run_gl(env: GLEnv) -> None:
    frame = env.target(64, 64)
    env.ctx.texture((16, 16), 4, bytes(1024)).use(0)

    def source(kind: str, i: int) -> str:
        if kind == "trivial":
            body = f"o = vec4(uv, {i * 0.013 + 0.1:f}, 1.0);"
        elif kind == "mad100":
            rounds = "".join(f"a = a * vec4({0.9 + 0.001 * i + 0.0001 * j:f}) + uv.yxyx;" for j in range(25))
            body = f"vec4 a = uv.xyxy; {rounds} o = a;"
        else:
            body = (
                f"vec3 n = normalize(vec3(uv, {i * 0.01 + 0.5:f}));"
                "o = texture(t, uv) * max(dot(n, vec3(0.3, 0.5, 0.8)), 0.1) + pow(n.z, 20.0);"
            )
        return f"#version 330\nin vec2 uv; uniform sampler2D t; out vec4 o; void main() {{ {body} }}"

    env.quad("#version 330\nout vec4 o; void main() { o = vec4(1); }")[1].render(vertices=6)
    env.finish()
    frame.use()
    for kind in ("trivial", "mad100", "texlit"):
        taken: dict[str, list[float]] = {"link": [], "first_draw": [], "new_variant": [], "warm_draw": []}
        for i in range(PROGRAMS):
            began = clock()
            _, array = env.quad(source(kind, i))
            taken["link"].append(clock() - began)
            for step in ("first_draw", "warm_draw", "new_variant"):
                if step == "new_variant":
                    env.ctx.enable(env.gl.BLEND)
                began = clock()
                array.render(vertices=6)
                env.finish()
                taken[step].append(clock() - began)
            env.ctx.disable(env.gl.BLEND)
        _told(kind, taken)


def run_wgpu(env: WgpuEnv) -> None:
    _, view, _ = env.target(64, 64)

    def body(kind: str, i: int) -> str:
        if kind == "trivial":
            return f"return vec4f(i.uv, {i * 0.013 + 0.1:f}, 1.0);"
        rounds = "".join(f"a = a * vec4f({0.9 + 0.001 * i + 0.0001 * j:f}) + i.uv.yxyx;" for j in range(25))
        return f"var a = i.uv.xyxy; {rounds} return a;"

    for kind in ("trivial", "mad100"):
        taken: dict[str, list[float]] = {"link": [], "first_draw": []}
        for i in range(PROGRAMS):
            began = clock()
            pipeline = env.pipeline(env.QUAD + f"@fragment fn fs(i: VO) -> @location(0) vec4f {{ {body(kind, i)} }}")
            taken["link"].append(clock() - began)
            began = clock()
            encoder = env.dev.create_command_encoder()
            render = env.begin(encoder, view)
            render.set_pipeline(pipeline)
            render.draw(6, 1, 0, 0)
            render.end()
            env.queue.submit([encoder.finish()])
            env.wait()
            taken["first_draw"].append(clock() - began)
        _told(kind, taken)


if __name__ == "__main__":
    library.main(run_gl, run_wgpu)
