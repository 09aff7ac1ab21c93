"""The compose file, brought up for real by ``.ci/run``: clients over the unix socket and over TCP, and services that are killed.

Needs a running project (``docker-compose up -d``); COMPOSE_PROJECT_NAME and WDDM_PORT name it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from typing import Any

import numpy as np
import pytest
import trio

import wddm
from tests.support.scenes import FULL, Simple

SERVICES = ("vgpu", "kernel", "runtime")
PROJECT = os.environ.get("COMPOSE_PROJECT_NAME", "wddm")
TCP = f"tcp:127.0.0.1:{os.environ.get('WDDM_PORT', '7011')}"


def compose(*arguments: str) -> str:
    done = subprocess.run(["docker-compose", *arguments], capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def inspect(service: str) -> dict[str, Any]:
    container = compose("ps", "-q", service).strip()
    found: dict[str, Any] = json.loads(subprocess.check_output(["docker", "inspect", container]))[0]
    return found


def wait_healthy(seconds: float = 90) -> None:
    """Bounded; each look takes the engine some time, so that this does not spin."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        states = {service: inspect(service)["State"] for service in SERVICES}
        if all(s["Status"] == "running" and s["Health"]["Status"] == "healthy" for s in states.values()):
            return
    pytest.fail(f"not healthy within {seconds} s: { {n: s['Status'] for n, s in states.items()} }")


async def draw_over_tcp() -> None:
    async with wddm.connect(TCP) as gpu:
        scene = await Simple.create(gpu, vertices=FULL)
        scene.draw(tint=(1, 0, 1, 1))
        assert (await scene.read() == np.array([255, 0, 255, 255])).all()


def test_all_services_become_healthy() -> None:
    wait_healthy()


def test_nobody_is_root_and_root_file_systems_are_read_only() -> None:
    for service in SERVICES:
        config = inspect(service)
        assert config["Config"]["User"] == "10001:10001"
        assert config["HostConfig"]["ReadonlyRootfs"]
        assert config["HostConfig"]["CapDrop"] == ["ALL"]


def test_a_client_on_this_machine_draws_over_tcp() -> None:
    trio.run(draw_over_tcp)


def test_a_client_in_a_container_draws_over_the_unix_socket() -> None:
    said = compose(
        "run", "--rm", "-T", "demo", "demo", "--connect", "unix:/run/wddm/runtime.sock", "--frames", "5", "--out", "/tmp/cube.png"
    )
    assert re.search(r"flips +5\n", said)
    assert "picture: /tmp/cube.png" in said


@pytest.mark.parametrize("victim", SERVICES)
def test_a_killed_service_restarts_and_new_clients_work(victim: str) -> None:
    wait_healthy()
    before = inspect(victim)
    os.kill(before["State"]["Pid"], signal.SIGKILL)
    end = time.monotonic() + 60
    while inspect(victim)["RestartCount"] == before["RestartCount"]:
        assert time.monotonic() < end, f"{victim} was not restarted"
    wait_healthy()
    last: Exception | None = None
    while time.monotonic() < end + 30:
        try:
            trio.run(draw_over_tcp)
            return
        except (wddm.D3DError, OSError) as error:  # a service below is still on its way up
            last = error
    pytest.fail(f"new clients do not work: {last}")
