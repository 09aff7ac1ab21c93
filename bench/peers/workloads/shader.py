"""Heavy fragment shaders, full screen 1280x720; what they are: :mod:`bench.scenes.shader`."""

from __future__ import annotations

from bench.peers.workloads import library
from bench.peers.workloads.library import GLEnv, Loop, WgpuEnv, emit, fail, seconds, wants

WIDTH, HEIGHT = 1280, 720
CASES = (("mad200", 200), ("mandel64.fixed", 640), ("mandel64.break", None), ("trig16", None))
_HEAD = "#version 330\nin vec2 uv; out vec4 o;\n"
GLSL = {
    "mad200": _HEAD
    + "uniform float k;\nvoid main() { vec4 a = vec4(uv, uv.yx); vec4 m = vec4(k, k * 0.9, k * 0.8, k * 0.7);\n"
    + "".join(f"a = a * m + vec4(uv.x, uv.y, {0.001 * i:f}, uv.x);\n" for i in range(25))
    + "o = a; }",
    "mandel64.fixed": _HEAD
    + """void main() { vec2 c = uv * vec2(3.0, 2.4) - vec2(2.2, 1.2); float x = 0.0, y = 0.0, n = 0.0;
    for (int i = 0; i < 64; i++) { float xx = x * x, yy = y * y, xy = x * y;
        x = xx - yy + c.x; y = xy + xy + c.y; n += (xx + yy < 4.0) ? 1.0 : 0.0; }
    o = vec4(n / 64.0, 0.2, 0.3, 1.0); }""",
    "mandel64.break": _HEAD
    + """void main() { vec2 c = uv * vec2(3.0, 2.4) - vec2(2.2, 1.2); float x = 0.0, y = 0.0; int n = 0;
    for (n = 0; n < 64; n++) { float xx = x * x, yy = y * y; if (xx + yy > 4.0) break;
        y = 2.0 * x * y + c.y; x = xx - yy + c.x; }
    o = vec4(float(n) / 64.0, 0.2, 0.3, 1.0); }""",
    "trig16": _HEAD
    + """void main() { float a = uv.x, b = uv.y;
    for (int i = 0; i < 16; i++) { a = sin(a * 3.0 + b); b = sqrt(abs(b) + 0.1) * exp2(-a * 0.5); a += pow(abs(b) + 0.01, 0.7); }
    o = vec4(a, b, a * b, 1.0); }""",
}
WGSL = {
    "mad200": """var a = vec4f(i.uv, i.uv.yx); let k = 0.93 + f32(i.inst); let m = vec4f(k, k * 0.9, k * 0.8, k * 0.7);\n"""
    + "".join(f"a = a * m + vec4f(i.uv.x, i.uv.y, {0.001 * j:f}, i.uv.x);\n" for j in range(25))
    + "return a;",
    "mandel64.fixed": """let c = i.uv * vec2f(3.0, 2.4) - vec2f(2.2, 1.2); var x = 0.0; var y = 0.0; var n = 0.0;
    for (var j = 0; j < 64; j++) { let xx = x * x; let yy = y * y; let xy = x * y;
        x = xx - yy + c.x; y = xy + xy + c.y; n += select(0.0, 1.0, xx + yy < 4.0); }
    return vec4f(n / 64.0, 0.2, 0.3, 1.0);""",
    "mandel64.break": """let c = i.uv * vec2f(3.0, 2.4) - vec2f(2.2, 1.2); var x = 0.0; var y = 0.0; var n = 0;
    for (n = 0; n < 64; n++) { let xx = x * x; let yy = y * y; if (xx + yy > 4.0) { break; }
        y = 2.0 * x * y + c.y; x = xx - yy + c.x; }
    return vec4f(f32(n) / 64.0, 0.2, 0.3, 1.0);""",
    "trig16": """var a = i.uv.x; var b = i.uv.y;
    for (var j = 0; j < 16; j++) { a = sin(a * 3.0 + b); b = sqrt(abs(b) + 0.1) * exp2(-a * 0.5); a += pow(abs(b) + 0.01, 0.7); }
    return vec4f(a, b, a * b, 1.0);""",
}


def report(env: library.Env, name: str, loop: Loop, flop: int | None) -> None:
    """Both figures of one shader, from the same samples."""
    milliseconds, rate = f"shader.{name}.ms", f"shader.{name}.gflops"
    if not (wants(milliseconds) or wants(rate)):
        return
    try:
        taken = seconds(loop, 500)
        emit(milliseconds, "ms/frame", [t * 1e3 for t in taken], "low", env.check(loop))
        if flop is not None:
            emit(rate, "Gflop/s", [WIDTH * HEIGHT * flop / t / 1e9 for t in taken])
    except Exception as error:  # whatever the driver's binding raises is this peer's result
        fail(milliseconds, repr(error))


def run_gl(env: GLEnv) -> None:
    frame = env.target(WIDTH, HEIGHT)

    def drawn(source: str) -> Loop:
        program, quad = env.quad(source)
        if "k" in program:
            program["k"].value = 0.93

        def loop(count: int) -> None:
            frame.use()
            for _ in range(count):
                quad.render(vertices=6)
                env.flush()
            env.finish()

        return loop

    for name, flop in CASES:
        report(env, name, drawn(GLSL[name]), flop)


def run_wgpu(env: WgpuEnv) -> None:
    _, view, _ = env.target(WIDTH, HEIGHT)

    def drawn(source: str) -> Loop:
        pipeline = env.pipeline(env.QUAD + f"@fragment fn fs(i: VO) -> @location(0) vec4f {{ {source} }}")

        def loop(count: int) -> None:
            for _ in range(count):
                encoder = env.dev.create_command_encoder()
                render = env.begin(encoder, view, load=True)
                render.set_pipeline(pipeline)
                render.draw(6, 1, 0, 0)
                render.end()
                env.queue.submit([encoder.finish()])
            env.wait()

        return loop

    for name, flop in CASES:
        report(env, name, drawn(WGSL[name]), flop)


if __name__ == "__main__":
    library.main(run_gl, run_wgpu)
