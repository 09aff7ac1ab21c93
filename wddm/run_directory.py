"""Where the sockets of a private stack lie: a fresh directory that goes with its stack, or with the next one that starts.

A stack that is killed cannot tidy up. Each directory holds a file that is locked as long as its stack lives, so that the next start
knows what was left behind.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_ALIVE: Final = "alive"


@contextlib.contextmanager
def private_directory() -> Iterator[Path]:
    """A fresh run directory; those of stacks that were killed are taken away first."""
    for left in Path(tempfile.gettempdir()).glob(f"wddm-*/{_ALIVE}"):
        with contextlib.suppress(OSError):  # it lives, is somebody else's, or is being taken away already
            held = _lock(left)
            try:
                shutil.rmtree(left.parent)
            finally:
                os.close(held)
    while True:
        with tempfile.TemporaryDirectory(prefix="wddm-", ignore_cleanup_errors=True) as name:
            alive = Path(name, _ALIVE)
            try:
                alive.touch(exist_ok=False)
                held = _lock(alive)
            except OSError:
                if Path(name).exists():
                    raise
                continue  # somebody took it for a left one before it was locked
            try:
                yield Path(name)
            finally:
                os.close(held)
            return


def _lock(path: Path) -> int:
    """A descriptor that holds the lock of a file of ours. Raises OSError when somebody else has it, or the file is gone."""
    held = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(held).st_uid != os.getuid() or not os.path.samestat(os.fstat(held), path.stat()):
            raise PermissionError(errno.EPERM, "not ours", str(path))
    except OSError:
        os.close(held)
        raise
    return held
