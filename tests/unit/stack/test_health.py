"""The health check of containers."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from wddm.health import main
from wddm.wire.address import Address
from wddm.wire.transport import Listener


@pytest.fixture
def unix(tmp_path: Path) -> str:
    return f"unix:{tmp_path}/x.sock"


def test_what_serves_is_healthy(unix: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert main([f"tcp:127.0.0.1:{server.getsockname()[1]}"]) == 0
    listener = Listener.open(Address.parse(unix))
    assert main([unix]) == 0
    listener.release()
    assert capsys.readouterr() == ("", "")
    assert main([unix]) == 1
    assert "Connection refused" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 2, "usage: python -m wddm.health"),
        (["a", "b"], 2, "usage"),
        (["ftp:127.0.0.1:1"], 2, "usage"),
        (["fd:3"], 2, "usage"),
        (["unix:/nowhere/x.sock"], 1, "unix:/nowhere/x.sock: "),
        (["tcp:127.0.0.1:x"], 1, "tcp:127.0.0.1:x: "),
        (["tcp:127.0.0.1:99999999"], 1, "tcp:"),
        (["unix:" + "x" * 300], 1, "too long"),
    ],
)
def test_what_is_wrong_is_told(arguments: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == status
    assert said in capsys.readouterr().err


def test_an_ipv6_address_has_brackets(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        server = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        assert main(["tcp:[::1]:1"]) == 1  # a machine without it says so
        return
    with server:
        assert main([f"tcp:[::1]:{server.getsockname()[1]}"]) == 0
