"""How the hardware refuses: one exception that carries what the FAULT interrupt reports."""

from __future__ import annotations

from wddm.hw.interrupts import Fault


class FaultError(Exception):
    """The hardware refuses a packet, descriptor, address or shader. Carries what the FAULT interrupt reports."""

    def __init__(self, fault: Fault, why: str, *, address: int = 0) -> None:
        super().__init__(f"{fault.name}: {why}")
        self.fault = fault
        self.why = why
        self.address = address
