"""The Windows Display Driver Model as a running GPU stack.

An app writes ``import wddm``; every name of the client API, ``launch`` and ``connect`` are here. They are looked up when first
used, so that a process which needs ``wddm.hw`` or ``wddm.wire`` alone loads nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wddm import blocking as blocking
    from wddm import dxbc as dxbc
    from wddm import hlsl as hlsl
    from wddm.client import *  # noqa: F403
    from wddm.stack import launch as launch

_SUBMODULES = frozenset({"blocking", "client", "ddi", "dxbc", "hlsl", "hw", "stack", "trace", "wire"})


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"wddm.{name}")
    if name.startswith("_"):
        raise AttributeError(f"module 'wddm' has no attribute {name!r}")
    if name == "launch":
        found: Any = import_module("wddm.stack").launch
    else:
        try:
            found = getattr(import_module("wddm.client"), name)
        except AttributeError:
            raise AttributeError(f"module 'wddm' has no attribute {name!r}") from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBMODULES, "launch", *(n for n in vars(import_module("wddm.client")) if n[0] != "_")})
