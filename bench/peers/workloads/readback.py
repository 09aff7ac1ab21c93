"""Read-back and upload of a 1920x1080 RGBA8 frame (8.3 MB)."""

from __future__ import annotations

import ctypes

import numpy as np

from bench import geometry
from bench.peers.workloads import library
from bench.peers.workloads.library import GLEnv, Loop, WgpuEnv

WIDTH, HEIGHT = 1920, 1080
GL_BGRA, GL_UNSIGNED_BYTE = 0x80E1, 0x1401


def run_gl(env: GLEnv) -> None:
    frame = env.target(WIDTH, HEIGHT)
    frame.clear(0.2, 0.4, 0.6, 1)
    env.finish()
    out = np.zeros(WIDTH * HEIGHT * 4, np.uint8)

    def idle(count: int) -> None:
        for _ in range(count):
            frame.read_into(out, components=4)

    def after_clear(count: int) -> None:
        for _ in range(count):
            frame.clear(0.2, 0.4, 0.6, 1)
            frame.read_into(out, components=4)

    read_pixels = env.function("glReadPixels", None, *[ctypes.c_int] * 4, ctypes.c_uint, ctypes.c_uint, ctypes.c_void_p)

    def bgra(count: int) -> None:
        frame.use()
        for _ in range(count):
            read_pixels(0, 0, WIDTH, HEIGHT, GL_BGRA, GL_UNSIGNED_BYTE, out.ctypes.data)

    env.duration("readback.1080p.idle", idle, "ms")
    env.duration("readback.1080p.after_clear", after_clear, "ms")
    env.duration("readback.1080p.bgra", bgra, "ms")
    texture, buffer = env.ctx.texture((WIDTH, HEIGHT), 4), env.ctx.buffer(reserve=out.nbytes)
    data = geometry.frame_bytes(out.nbytes)
    env.drawn = None

    def upload(count: int) -> None:
        for _ in range(count):
            texture.write(data)
            env.finish()

    def upload_buffer(count: int) -> None:
        for _ in range(count):
            buffer.write(data)
            env.finish()

    env.duration("upload.1080p", upload, "ms")
    env.duration("upload.buffer8MB", upload_buffer, "ms")


def run_wgpu(env: WgpuEnv) -> None:
    texture, view, _ = env.target(WIDTH, HEIGHT)
    record, read = env.reader(texture, WIDTH, HEIGHT)
    out = np.zeros(WIDTH * HEIGHT * 4, np.uint8)

    def reading(clear: bool) -> Loop:
        def loop(count: int) -> None:
            for _ in range(count):
                encoder = env.dev.create_command_encoder()
                if clear:
                    env.begin(encoder, view, clear=(0.2, 0.4, 0.6, 1)).end()
                record(encoder)
                env.queue.submit([encoder.finish()])
                read(out)

        return loop

    reading(True)(1)
    env.duration("readback.1080p.idle", reading(False), "ms")
    env.duration("readback.1080p.after_clear", reading(True), "ms")


if __name__ == "__main__":
    library.main(run_gl, run_wgpu)
