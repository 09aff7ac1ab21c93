"""Heavy pixel shaders, full screen 1280x720.

mad200: 4 independent chains, 100 multiply-adds = 200 flop a pixel. mandel64.fixed: 64 iterations without exit, 10 flop each;
mandel64.break: with one. trig16: 16 rounds of sine, square root, exponential and power.
"""

from __future__ import annotations

import numpy as np

from bench.figures import Figure
from bench.timing import Pace, seconds

from .library import Ours, Scene, frames

WIDTH, HEIGHT = 1280, 720

MAD = """
cbuffer Factors : register(b0) { float k; };
float4 ps_main(Pixel i) : SV_Target
{
    float4 a = float4(i.uv, i.uv.yx);
    float4 m = float4(k, k * 0.9, k * 0.8, k * 0.7);
    ROUNDS
    return a;
}
""".replace("ROUNDS", "\n    ".join(f"a = a * m + float4(i.uv.x, i.uv.y, {0.001 * j:f}, i.uv.x);" for j in range(25)))

FIXED = """
float4 ps_main(Pixel i) : SV_Target
{
    float2 c = i.uv * float2(3.0, 2.4) - float2(2.2, 1.2);
    float x = 0, y = 0, n = 0;
    [loop] for (int j = 0; j < 64; j++)
    {
        float xx = x * x, yy = y * y, xy = x * y;
        x = xx - yy + c.x;
        y = xy + xy + c.y;
        n += xx + yy < 4.0 ? 1.0 : 0.0;
    }
    return float4(n / 64.0, 0.2, 0.3, 1.0);
}
"""

BREAK = """
float4 ps_main(Pixel i) : SV_Target
{
    float2 c = i.uv * float2(3.0, 2.4) - float2(2.2, 1.2);
    float x = 0, y = 0;
    int n = 0;
    [loop] for (n = 0; n < 64; n++)
    {
        float xx = x * x, yy = y * y;
        if (xx + yy > 4.0) break;
        y = 2.0 * x * y + c.y;
        x = xx - yy + c.x;
    }
    return float4(n / 64.0, 0.2, 0.3, 1.0);
}
"""

TRIG = """
float4 ps_main(Pixel i) : SV_Target
{
    float a = i.uv.x, b = i.uv.y;
    [loop] for (int j = 0; j < 16; j++)
    {
        a = sin(a * 3.0 + b);
        b = sqrt(abs(b) + 0.1) * exp2(-a * 0.5);
        a += pow(abs(b) + 0.01, 0.7);
    }
    return float4(a, b, a * b, 1.0);
}
"""


def heavy(name: str, source: str, flop: int | None) -> Scene:
    """Milliseconds of a frame and, where the flop of a pixel are known, their rate."""
    tests = (f"shader.{name}.ms", f"shader.{name}.gflops")

    async def measure(ours: Ours, pace: Pace) -> list[Figure]:
        await ours.target(WIDTH, HEIGHT)
        await ours.quad(source)
        constants = await ours.constants()
        ours.ctx.write(constants, np.array([0.93, 0, 0, 0], np.float32))
        loop = frames(ours, lambda _: ours.ctx.draw(6), wait=False)
        taken = await seconds(loop, pace, most=500)
        figures = [Figure(tests[0], "ms/frame", [t * 1e3 for t in taken], "low", check=await ours.check(loop))]
        if flop is not None:
            figures.append(Figure(tests[1], "Gflop/s", [WIDTH * HEIGHT * flop / t / 1e9 for t in taken]))
        return figures

    return Scene(tests if flop is not None else tests[:1], measure)


SCENES: tuple[Scene, ...] = (
    heavy("mad200", MAD, 200),
    heavy("mandel64.fixed", FIXED, 640),
    heavy("mandel64.break", BREAK, None),
    heavy("trig16", TRIG, None),
)
