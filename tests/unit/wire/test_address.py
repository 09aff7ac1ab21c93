"""Addresses."""

from __future__ import annotations

import pytest

from wddm.wire.address import Address


@pytest.mark.parametrize("text", ["unix:/run/x.sock", "tcp:127.0.0.1:7011", "tcp:[::1]:80", "fd:3"])
def test_round_trip(text: str) -> None:
    assert str(Address.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "unix:",
        "unix:" + "x" * 200,
        "unix:a\0b",
        "tcp:1.2.3.4",
        "tcp::80",
        "tcp:x:70000",
        "tcp:x:-1",
        "tcp:a..b:1",
        "tcp:" + "x" * 70 + ":1",
        "http://x",
        "fd:x",
    ],
)
def test_what_is_no_address_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match=r"address is|bytes|inherited|no host"):
        Address.parse(text)
