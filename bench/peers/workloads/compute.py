"""Compute: saxpy over 16 M floats, and a 512x512 matrix product, naive and with tiles in group memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench import geometry
from bench.peers.workloads import library
from bench.peers.workloads.library import GLEnv, Loop, WgpuEnv, fail, wants

FLOATS = 16 << 20
ROW = 65536
SIZE = 512
FLOP = 2 * SIZE**3 / 1e9


def run_gl(env: GLEnv) -> None:
    ctx = env.ctx
    head = "#version 430\n"
    if ctx.version_code < 430:
        names = ("compute_shader", "shader_storage_buffer_object", "shading_language_420pack")
        head = "#version 330\n" + "".join(f"#extension GL_ARB_{name} : require\n" for name in names)

    def run(source: str, buffers: list[Any], groups: tuple[int, int], **uniforms: float) -> Loop:
        shader = ctx.compute_shader(head + source)
        for name, value in uniforms.items():
            shader[name].value = value
        for i, buffer in enumerate(buffers):
            buffer.bind_to_storage_buffer(i)

        def loop(count: int) -> None:
            for _ in range(count):
                shader.run(*groups, 1)
                env.finish()

        return loop

    x, y = (ctx.buffer(np.full(FLOATS, value, np.float32).tobytes()) for value in (1, 2))
    for group in (64, 256):
        source = f"""layout(local_size_x = {group}) in;
        layout(std430, binding = 0) readonly buffer X {{ float x[]; }}; layout(std430, binding = 1) buffer Y {{ float y[]; }};
        uniform float a;
        void main() {{ uint i = gl_GlobalInvocationID.y * {ROW}u + gl_GlobalInvocationID.x; y[i] = a * x[i] + y[i]; }}"""
        if wants(f"compute.saxpy16M.wg{group}"):
            loop = run(source, [x, y], (ROW // group, FLOATS // ROW), a=0.5)
            env.rate(f"compute.saxpy16M.wg{group}", loop, FLOATS * 12 / 1e9, "GB/s")
    a, b = geometry.matrices(SIZE)
    left, right, out = ctx.buffer(a.tobytes()), ctx.buffer(b.tobytes()), ctx.buffer(reserve=a.nbytes)
    declared = """layout(local_size_x = 16, local_size_y = 16) in;
    layout(std430, binding = 0) readonly buffer A { float a[]; }; layout(std430, binding = 1) readonly buffer B { float b[]; };
    layout(std430, binding = 2) writeonly buffer C { float c[]; };
    """
    sources = {
        "naive": declared
        + """void main() { uint col = gl_GlobalInvocationID.x, row = gl_GlobalInvocationID.y; float s = 0.0;
        for (uint k = 0u; k < 512u; k++) s += a[row * 512u + k] * b[k * 512u + col]; c[row * 512u + col] = s; }""",
        "tiled": declared
        + """shared float sa[16][16]; shared float sb[16][16];
        void main() { uint lx = gl_LocalInvocationID.x, ly = gl_LocalInvocationID.y;
        uint col = gl_GlobalInvocationID.x, row = gl_GlobalInvocationID.y; float s = 0.0;
        for (uint t = 0u; t < 32u; t++) {
            sa[ly][lx] = a[row * 512u + t * 16u + lx]; sb[ly][lx] = b[(t * 16u + ly) * 512u + col];
            barrier(); for (uint k = 0u; k < 16u; k++) s += sa[ly][k] * sb[k][lx]; barrier(); }
        c[row * 512u + col] = s; }""",
    }
    for name, source in sources.items():
        test = f"compute.matmul512.{name}"
        if wants(test):
            env.rate(test, run(source, [left, right, out], (SIZE // 16, SIZE // 16)), FLOP, "Gflop/s")
            if not np.allclose(np.frombuffer(out.read(), np.float32).reshape(SIZE, SIZE), a @ b, rtol=1e-3):
                fail(test, "the product is wrong")


def run_wgpu(env: WgpuEnv) -> None:
    usage = env.wgpu.BufferUsage

    def run(code: str, buffers: list[Any], groups: tuple[int, int]) -> Loop:
        module = env.dev.create_shader_module(code=code)
        pipeline = env.dev.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "main"})
        entries = [{"binding": i, "resource": {"buffer": b, "offset": 0, "size": b.size}} for i, b in enumerate(buffers)]
        group = env.dev.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)

        def loop(count: int) -> None:
            for _ in range(count):
                encoder = env.dev.create_command_encoder()
                work = encoder.begin_compute_pass()
                work.set_pipeline(pipeline)
                work.set_bind_group(0, group)
                work.dispatch_workgroups(*groups, 1)
                work.end()
                env.queue.submit([encoder.finish()])
                env.wait()

        return loop

    x, y = (env.buffer(np.full(FLOATS, value, np.float32), usage.STORAGE) for value in (1, 2))
    for size in (64, 256):
        code = f"""@group(0) @binding(0) var<storage, read> x: array<f32>;
        @group(0) @binding(1) var<storage, read_write> y: array<f32>;
        @compute @workgroup_size({size}) fn main(@builtin(global_invocation_id) g: vec3u) {{
            let i = g.y * {ROW}u + g.x; y[i] = 0.5 * x[i] + y[i]; }}"""
        env.rate(f"compute.saxpy16M.wg{size}", run(code, [x, y], (ROW // size, FLOATS // ROW)), FLOATS * 12 / 1e9, "GB/s")
    a, b = geometry.matrices(SIZE)
    buffers = [env.buffer(a, usage.STORAGE), env.buffer(b, usage.STORAGE)]
    buffers.append(env.dev.create_buffer(size=a.nbytes, usage=usage.STORAGE))
    declared = """@group(0) @binding(0) var<storage, read> a: array<f32>; @group(0) @binding(1) var<storage, read> b: array<f32>;
    @group(0) @binding(2) var<storage, read_write> c: array<f32>;
    """
    codes = {
        "naive": declared
        + """@compute @workgroup_size(16, 16) fn main(@builtin(global_invocation_id) g: vec3u) { var s = 0.0;
        for (var k = 0u; k < 512u; k++) { s += a[g.y * 512u + k] * b[k * 512u + g.x]; } c[g.y * 512u + g.x] = s; }""",
        "tiled": declared
        + """var<workgroup> sa: array<array<f32, 16>, 16>; var<workgroup> sb: array<array<f32, 16>, 16>;
        @compute @workgroup_size(16, 16)
        fn main(@builtin(global_invocation_id) g: vec3u, @builtin(local_invocation_id) l: vec3u) { var s = 0.0;
        for (var t = 0u; t < 32u; t++) {
            sa[l.y][l.x] = a[g.y * 512u + t * 16u + l.x]; sb[l.y][l.x] = b[(t * 16u + l.y) * 512u + g.x];
            workgroupBarrier(); for (var k = 0u; k < 16u; k++) { s += sa[l.y][k] * sb[k][l.x]; } workgroupBarrier(); }
        c[g.y * 512u + g.x] = s; }""",
    }
    for name, code in codes.items():
        env.rate(f"compute.matmul512.{name}", run(code, buffers, (SIZE // 16, SIZE // 16)), FLOP, "Gflop/s")


if __name__ == "__main__":
    library.main(run_gl, run_wgpu)
