"""``python -m bench.first_frame``: a private stack, the cube, one frame shown; prints when each step was done.

One JSON object of ``time.monotonic`` stamps, so that whoever started the process can add the time before Python ran.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import trio


async def run(engine: str | None, width: int, height: int) -> dict[str, float]:
    """Stamps by step."""
    stamps = {"python": time.monotonic()}
    from wddm import demo
    from wddm.stack import launch

    stamps["imports"] = time.monotonic()
    settings: dict[str, Any] = {} if engine is None else {"engine": engine}
    async with launch(size=(width, height), **settings) as gpu:
        stamps["stack"] = time.monotonic()
        scene = await demo.Scene.create(gpu, width, height)
        stamps["scene"] = time.monotonic()
        scene.draw(0.6)
        await scene.swap_chain.present(sync_interval=0)
        await scene.device.immediate_context.wait_idle()
        stamps["frame"] = time.monotonic()
    return stamps


def main() -> None:
    """Draw one frame and tell."""
    parser = argparse.ArgumentParser(prog="python -m bench.first_frame", description=__doc__)
    parser.add_argument("--engine")
    parser.add_argument("--size", type=int, nargs=2, default=(1280, 720))
    chosen = parser.parse_args()
    print(json.dumps(trio.run(run, chosen.engine, *chosen.size)))


if __name__ == "__main__":
    main()
