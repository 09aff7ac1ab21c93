"""Addresses of the sockets: ``unix:PATH``, ``tcp:HOST:PORT``, or ``fd:N`` for a listening socket that was inherited."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Address:
    """A socket address. Unix: ``path``. TCP: ``host`` and ``port`` (0 asks the system for a free one). Inherited: ``fd``."""

    path: str | None = None
    host: str = ""
    port: int = 0
    fd: int | None = None

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read ``unix:PATH`` or ``tcp:HOST:PORT``; ValueError tells what is wrong."""
        kind, _, rest = text.partition(":")
        if kind == "unix":
            if not rest:
                raise ValueError(f"{text!r}: a unix address is unix:PATH")
            if len(os.fsencode(rest)) > 107 or "\0" in rest:
                raise ValueError(f"{text!r}: a socket path has at most 107 bytes, none of them zero")
            return cls(path=rest)
        if kind == "tcp":
            host, _, port = rest.rpartition(":")
            host = host.removeprefix("[").removesuffix("]")
            if not host or not port.isdecimal() or int(port) > 65535:
                raise ValueError(f"{text!r}: a TCP address is tcp:HOST:PORT")
            try:
                host.encode("idna")
            except UnicodeError as error:
                raise ValueError(f"{text!r}: no host has that name: {error}") from None
            return cls(host=host, port=int(port))
        if kind == "fd":
            if not rest.isdecimal():
                raise ValueError(f"{text!r}: an inherited socket is fd:NUMBER")
            return cls(fd=int(rest))
        raise ValueError(f"{text!r}: an address is unix:PATH or tcp:HOST:PORT")

    def __str__(self) -> str:
        if self.fd is not None:
            return f"fd:{self.fd}"
        if self.path is not None:
            return f"unix:{self.path}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"tcp:{host}:{self.port}"
