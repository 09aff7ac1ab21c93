"""The registers of the device, by name: the only place where the miniport touches them."""

from __future__ import annotations

from typing import Protocol

from wddm.hw.registers import HeadRegister, NodeRegister, Register, head_register, node_register


class RegisterFile(Protocol):
    """What DxgkCbMapMemory gives for the register BAR."""

    def read32(self, offset: int) -> int:
        """Read a register. Values that the device changes by itself are as of its last interrupt."""
        ...

    def write32(self, offset: int, value: int) -> None:
        """Write a register (posted)."""
        ...


class Registers:
    """Typed access to the register file."""

    def __init__(self, file: RegisterFile) -> None:
        self._file = file

    def read(self, register: Register) -> int:
        """A global register."""
        return self._file.read32(register)

    def read64(self, low: Register) -> int:
        """A pair of global registers, low first."""
        return self._file.read32(low) | self._file.read32(low + 4) << 32

    def write(self, register: Register, value: int) -> None:
        """A global register."""
        self._file.write32(register, value & 0xFFFF_FFFF)

    def read_node(self, node: int, register: NodeRegister) -> int:
        """A node's register."""
        return self._file.read32(node_register(node, register))

    def write_node(self, node: int, register: NodeRegister, value: int) -> None:
        """A node's register."""
        self._file.write32(node_register(node, register), value & 0xFFFF_FFFF)

    def read_head(self, head: int, register: HeadRegister) -> int:
        """A display head's register."""
        return self._file.read32(head_register(head, register))

    def write_head(self, head: int, register: HeadRegister, value: int) -> None:
        """A display head's register."""
        self._file.write32(head_register(head, register), value & 0xFFFF_FFFF)
