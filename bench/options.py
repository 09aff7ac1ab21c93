"""What a person chose: how often, how long, on which engine, which tests."""

from __future__ import annotations

import fnmatch
import sys
from dataclasses import dataclass, field
from typing import Any

from bench.limits import Limits
from bench.timing import QUICK, Pace


@dataclass
class Options:
    """Options of a measurement, and the limits that it stands against."""

    runs: int = 3
    pace: Pace = field(default_factory=Pace)
    engine: str | None = None
    threads: int | None = None
    only: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)

    @property
    def quick(self) -> bool:
        """Whether samples are short."""
        return self.pace is QUICK

    def wants(self, *tests: str) -> bool:
        """Whether one of these tests was asked for."""
        return not self.only or any(fnmatch.fnmatchcase(test, pattern) for test in tests for pattern in self.only)

    def stack(self, **settings: Any) -> dict[str, Any]:
        """Settings of a private stack."""
        settings.setdefault("vram", 512 << 20)
        if self.engine is not None:
            settings["engine"] = self.engine
        if self.threads is not None:
            settings["threads"] = self.threads
        return settings


def progress(text: str) -> None:
    """Tell what is going on, on stderr."""
    print(f"bench: {text}", file=sys.stderr, flush=True)
