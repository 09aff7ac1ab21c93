"""``python -m wddm.health ADDRESS``: status 0 when something serves there. For container health checks; imports next to nothing."""

from __future__ import annotations

import socket
import sys


def main(arguments: list[str]) -> int:
    """Connect and leave again. Status 0: something serves there; 1: nothing does; 2: that is no address."""
    kind, _, rest = arguments[0].partition(":") if len(arguments) == 1 else ("", "", "")
    if kind not in ("unix", "tcp"):
        print("usage: python -m wddm.health unix:PATH | tcp:HOST:PORT", file=sys.stderr)
        return 2
    try:
        if kind == "unix":
            with socket.socket(socket.AF_UNIX) as sock:
                sock.settimeout(4)
                sock.connect(rest)
        else:
            host, _, port = rest.rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), timeout=4).close()
    except (OSError, OverflowError, ValueError) as error:
        print(f"{arguments[0]}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
