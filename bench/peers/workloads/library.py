"""Contexts, timing and JSON lines of the peers' side.

A workload defines ``run_gl(env)`` and ``run_wgpu(env)`` and ends with ``library.main(run_gl, run_wgpu)``. Every line on stdout is
one JSON object: ``test``, ``unit``, ``better``, ``median``, ``samples``, and ``check`` (the mean of each channel of the first
frame) or ``error``. The rule of timing is that of :mod:`bench.timing`.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

API = os.environ.get("PEER_API", "gl")
SAMPLES = int(os.environ.get("PEER_SAMPLES", "7"))
TARGET = float(os.environ.get("PEER_TARGET", "0.25"))
SLOW = float(os.environ.get("PEER_SLOW", "5"))
ROUNDS = int(os.environ.get("PEER_ROUNDS", "600"))
ONLY = os.environ.get("PEER_ONLY", "")

Loop = Callable[[int], None]
clock = time.perf_counter


def emit(test: str, unit: str, samples: Sequence[float], better: str = "high", check: Sequence[float] | None = None) -> None:
    """Print one test."""
    record: dict[str, Any] = {"test": test, "unit": unit, "better": better, "median": statistics.median(samples)}
    record["samples"] = [float(f"{s:.6g}") for s in samples[:64]]
    if check is not None:
        record["check"] = [round(float(c), 2) for c in check]
    print(json.dumps(record), flush=True)


def fail(test: str, why: object) -> None:
    """Print that a test gave nothing."""
    print(json.dumps({"test": test, "error": str(why)[:300]}), flush=True)


def wants(test: str) -> bool:
    """Whether the test was asked for."""
    from fnmatch import fnmatchcase

    return not ONLY or any(fnmatchcase(test, pattern) for pattern in ONLY.split("|"))


def seconds(loop: Loop, most: int = 1_000_000) -> list[float]:
    """Seconds of one iteration; as :func:`bench.timing.seconds`."""
    loop(1)
    began = clock()
    loop(1)
    once = clock() - began
    if once > SLOW:
        return [once]
    count = max(1, min(most, math.ceil(TARGET / max(once, 1e-7))))
    if count > 1:
        loop(min(count, 4))
    found = []
    for _ in range(SAMPLES):
        began = clock()
        loop(count)
        found.append((clock() - began) / count)
    return found


class Env:
    """What the two kinds of context have in common."""

    def check(self, loop: Loop) -> Sequence[float] | None:
        """The mean of each channel of the last target after the first frame of ``loop``."""
        loop(1)
        return self.picture()

    def picture(self) -> Sequence[float] | None:
        """The mean of each channel of the last target."""
        raise NotImplementedError

    def info(self) -> dict[str, str]:
        """Renderer and version."""
        raise NotImplementedError

    def rate(self, test: str, loop: Loop, work: float, unit: str, most: int = 1_000_000) -> None:
        """Units of work a second; a driver that cannot do it gives an error line."""
        self._told(test, unit, loop, lambda t: work / t, "high", most)

    def duration(self, test: str, loop: Loop, unit: str, scale: float = 1e3, most: int = 1_000_000) -> None:
        """Seconds of an iteration times ``scale``."""
        self._told(test, unit, loop, lambda t: t * scale, "low", most)

    def _told(self, test: str, unit: str, loop: Loop, value: Callable[[float], float], better: str, most: int) -> None:
        if not wants(test):
            return
        try:
            taken = seconds(loop, most)
            emit(test, unit, [value(t) for t in taken], better, self.check(loop))
        except Exception as error:  # whatever the driver's binding raises is this peer's result for this test
            fail(test, repr(error))

    def latency(self, test: str, one: Callable[[], object]) -> None:
        """Microseconds of single calls: medians of ``ROUNDS`` each, and their 99th percentiles."""
        if not (wants(test) or wants(f"{test}.p99")):
            return
        try:
            for _ in range(min(100, ROUNDS)):
                one()
            medians, tails = [], []
            for _ in range(min(SAMPLES, 5)):
                taken = []
                for _ in range(ROUNDS):
                    began = clock()
                    one()
                    taken.append((clock() - began) * 1e6)
                taken.sort()
                medians.append(statistics.median(taken))
                tails.append(taken[min(len(taken) - 1, math.ceil(len(taken) * 0.99) - 1)])
            emit(test, "us", medians, "low")
            emit(f"{test}.p99", "us", tails, "low")
        except Exception as error:  # as above
            fail(test, repr(error))


class GLEnv(Env):
    """OpenGL on a surfaceless EGL context."""

    #: A quad of two triangles over the whole target.
    QUAD = """#version 330
    out vec2 uv; flat out int inst;
    void main() {
        int i = gl_VertexID;
        vec2 p = vec2(i == 1 || i == 2 || i == 4 ? 1.0 : 0.0, i == 2 || i == 4 || i == 5 ? 1.0 : 0.0);
        uv = p; inst = gl_InstanceID; gl_Position = vec4(p * 2.0 - 1.0, 0, 1);
    }"""
    #: Coloured vertices of :data:`bench.geometry.VERTEX`.
    COLOURED = (
        """#version 330
    in vec3 p; in vec4 c; out vec4 vc;
    void main() { vc = c; gl_Position = vec4(p.xy, p.z * 2.0 - 1.0, 1); }""",
        """#version 330
    in vec4 vc; out vec4 o; void main() { o = vc; }""",
    )

    def __init__(self) -> None:
        import moderngl

        self.gl = moderngl
        names = {"libgl": "libGL.so.1", "libegl": "libEGL.so.1"}
        self.ctx = moderngl.create_context(standalone=True, backend="egl", **names)
        egl = ctypes.CDLL("libEGL.so.1")
        egl.eglGetProcAddress.restype = ctypes.c_void_p
        egl.eglGetProcAddress.argtypes = [ctypes.c_char_p]
        self._egl = egl
        self.flush = self.function("glFlush")
        self.finish = self.ctx.finish
        self.drawn: Any = None

    def function(self, name: str, result: Any = None, *arguments: Any) -> Any:
        """A GL function that moderngl does not offer."""
        return ctypes.CFUNCTYPE(result, *arguments)(self._egl.eglGetProcAddress(name.encode()))

    def info(self) -> dict[str, str]:
        found = self.ctx.info
        return {"renderer": found["GL_RENDERER"], "version": found["GL_VERSION"]}

    def target(self, width: int, height: int, depth: bool = False) -> Any:
        """A framebuffer, in use."""
        buffer = self.ctx.depth_renderbuffer((width, height)) if depth else None
        frame = self.ctx.framebuffer([self.ctx.texture((width, height), 4)], buffer)
        frame.use()
        self.ctx.viewport = (0, 0, width, height)
        self.drawn = frame
        return frame

    def program(self, vertex: str, fragment: str) -> Any:
        """Two shaders, linked."""
        return self.ctx.program(vertex_shader=vertex, fragment_shader=fragment)

    def quad(self, fragment: str) -> tuple[Any, Any]:
        """The program of the quad, and what draws it with 6 vertices."""
        program = self.program(self.QUAD, fragment)
        return program, self.ctx.vertex_array(program, [])

    def coloured(self, vertices: Any, indices: Any = None) -> Any:
        """What draws coloured vertices."""
        program = self.program(*self.COLOURED)
        content = [(self.ctx.buffer(vertices.tobytes()), "3f 4f1", "p", "c")]
        return self.ctx.vertex_array(program, content, None if indices is None else self.ctx.buffer(indices.tobytes()))

    def picture(self) -> Sequence[float] | None:
        if self.drawn is None:
            return None
        return list(np.frombuffer(self.drawn.read(components=4), np.uint8).reshape(-1, 4).mean(0))


class WgpuEnv(Env):
    """WebGPU on the Vulkan driver that the environment names."""

    QUAD = """
    struct VO { @builtin(position) p: vec4f, @location(0) uv: vec2f, @location(1) @interpolate(flat) inst: u32 };
    @vertex fn vs(@builtin(vertex_index) i: u32, @builtin(instance_index) n: u32) -> VO {
        var x = 0.0; var y = 0.0;
        if (i == 1u || i == 2u || i == 4u) { x = 1.0; }
        if (i == 2u || i == 4u || i == 5u) { y = 1.0; }
        var o: VO; o.p = vec4f(x * 2.0 - 1.0, y * 2.0 - 1.0, 0.0, 1.0); o.uv = vec2f(x, y); o.inst = n; return o;
    }
    """
    COLOURED = """
    struct VO { @builtin(position) p: vec4f, @location(0) c: vec4f };
    @vertex fn vs(@location(0) p: vec3f, @location(1) c: vec4f) -> VO { var o: VO; o.p = vec4f(p, 1.0); o.c = c; return o; }
    @fragment fn fs(i: VO) -> @location(0) vec4f { return i.c; }
    """

    def __init__(self) -> None:
        import wgpu

        self.wgpu = wgpu
        adapters = [a for a in wgpu.gpu.enumerate_adapters_sync() if a.info["backend_type"] == "Vulkan"]
        if not adapters:
            raise RuntimeError("there is no Vulkan driver")
        self.adapter = adapters[0]
        limits = self.adapter.limits
        wanted = {k: limits[k] for k in ("max-storage-buffer-binding-size", "max-buffer-size") if k in limits}
        self.dev = self.adapter.request_device_sync(required_limits=wanted)
        self.queue = self.dev.queue
        self.drawn: Any = None

    def info(self) -> dict[str, str]:
        found = self.adapter.info
        return {"renderer": found["device"], "version": found["description"]}

    def wait(self) -> None:
        """Until the queue is empty."""
        self.dev._poll_wait()

    def target(self, width: int, height: int, depth: bool = False) -> tuple[Any, Any, Any]:
        """A texture, a view of it, and a view of a depth texture or None."""
        usage = self.wgpu.TextureUsage
        colour = self.dev.create_texture(
            size=(width, height, 1),
            format="rgba8unorm",
            usage=usage.RENDER_ATTACHMENT | usage.COPY_SRC | usage.TEXTURE_BINDING,
        )
        depth_view = None
        if depth:
            made = self.dev.create_texture(size=(width, height, 1), format="depth24plus", usage=usage.RENDER_ATTACHMENT)
            depth_view = made.create_view()
        self.drawn = colour
        return colour, colour.create_view(), depth_view

    def pipeline(
        self,
        code: str,
        *,
        buffers: Sequence[Any] = (),
        blend: bool = False,
        depth: bool = False,
        layout: Any = "auto",
        topology: str = "triangle-list",
    ) -> Any:
        """A render pipeline of ``vs`` and ``fs``; nothing is culled."""
        module = self.dev.create_shader_module(code=code)
        target: dict[str, Any] = {"format": "rgba8unorm"}
        if blend:
            over = {"operation": "add", "src_factor": "src-alpha", "dst_factor": "one-minus-src-alpha"}
            target["blend"] = {"color": over, "alpha": over}
        more: dict[str, Any] = {}
        if depth:
            more["depth_stencil"] = {"format": "depth24plus", "depth_write_enabled": True, "depth_compare": "less"}
        return self.dev.create_render_pipeline(
            layout=layout,
            vertex={"module": module, "entry_point": "vs", "buffers": list(buffers)},
            primitive={"topology": topology, "cull_mode": "none"},
            fragment={"module": module, "entry_point": "fs", "targets": [target]},
            **more,
        )

    def coloured(self) -> Any:
        """The pipeline of coloured vertices, depth test on."""
        attributes = [
            {"format": "float32x3", "offset": 0, "shader_location": 0},
            {"format": "unorm8x4", "offset": 12, "shader_location": 1},
        ]
        layout = {"array_stride": 16, "step_mode": "vertex", "attributes": attributes}
        return self.pipeline(self.COLOURED, depth=True, buffers=[layout])

    def buffer(self, data: Any, usage: int) -> Any:
        """A buffer with content."""
        return self.dev.create_buffer_with_data(data=data.tobytes(), usage=usage)

    def begin(self, encoder: Any, view: Any, depth: Any = None, clear: Any = (0, 0, 0, 1), load: bool = False) -> Any:
        """Begin a render pass that clears, or keeps what is there."""
        more: dict[str, Any] = {}
        if depth is not None:
            more["depth_stencil_attachment"] = {
                "view": depth,
                "depth_clear_value": 1.0,
                "depth_load_op": "clear",
                "depth_store_op": "store",
            }
        colour = {
            "view": view,
            "resolve_target": None,
            "clear_value": clear,
            "load_op": "load" if load else "clear",
            "store_op": "store",
        }
        return encoder.begin_render_pass(color_attachments=[colour], **more)

    def mips(self, levels: Sequence[Any]) -> Any:
        """A texture of these mips."""
        usage = self.wgpu.TextureUsage
        height, width = levels[0].shape[:2]
        texture = self.dev.create_texture(
            size=(width, height, 1),
            format="rgba8unorm",
            mip_level_count=len(levels),
            usage=usage.TEXTURE_BINDING | usage.COPY_DST,
        )
        for i, level in enumerate(levels):
            h, w = level.shape[:2]
            place = {"texture": texture, "mip_level": i, "origin": (0, 0, 0)}
            self.queue.write_texture(place, level, {"offset": 0, "bytes_per_row": w * 4, "rows_per_image": h}, (w, h, 1))
        return texture

    def reader(self, texture: Any, width: int, height: int) -> tuple[Callable[[Any], None], Callable[[Any], None]]:
        """Two functions: one records the copy of ``texture`` into a buffer, one maps it and copies it out to an array."""
        usage = self.wgpu.BufferUsage
        buffer = self.dev.create_buffer(size=width * height * 4, usage=usage.COPY_DST | usage.MAP_READ)

        def record(encoder: Any) -> None:
            encoder.copy_texture_to_buffer(
                {"texture": texture, "mip_level": 0, "origin": (0, 0, 0)},
                {"buffer": buffer, "offset": 0, "bytes_per_row": width * 4, "rows_per_image": height},
                (width, height, 1),
            )

        def read(out: Any) -> None:
            buffer.map_sync("READ")
            out[:] = np.frombuffer(buffer.read_mapped(copy=False), np.uint8)
            buffer.unmap()

        return record, read

    def picture(self) -> Sequence[float] | None:
        if self.drawn is None:
            return None
        width, height, _ = self.drawn.size
        out = np.zeros(width * height * 4, np.uint8)
        record, read = self.reader(self.drawn, width, height)
        encoder = self.dev.create_command_encoder()
        record(encoder)
        self.queue.submit([encoder.finish()])
        read(out)
        return list(out.reshape(-1, 4).mean(0))


def main(run_gl: Callable[[GLEnv], None], run_wgpu: Callable[[WgpuEnv], None]) -> None:
    """Run the body that ``PEER_API`` names, and end without the drivers' tear-down, which may be slow or crash."""
    name = os.path.basename(sys.argv[0]).removesuffix(".py")
    try:
        env: Any = GLEnv() if API == "gl" else WgpuEnv()
        print(json.dumps({"info": env.info()}), flush=True)
        (run_gl if API == "gl" else run_wgpu)(env)
    except Exception as error:  # a driver that cannot even start is this peer's result
        fail(name, repr(error))
    sys.stdout.flush()
    os._exit(0)
