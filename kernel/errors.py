"""How the kernel says no: a refused call (status and sentence), and the bug check of a broken contract.

A :class:`~wddm.wire.channel.CallError` fails one request. A :class:`BugCheckError` means that the miniport (or the kernel) broke
a rule that Windows answers with a stop: the adapter stops, every device is lost, and the record says why. Models "Bug Check
0x10E/0x113/0x116/0x119".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from wddm.ddi.status import NTSTATUS, find_ntstatus, ntstatus_name
from wddm.wire.channel import CallError


def refusal(status: int, sentence: str) -> CallError:
    """The failure of a call with NTSTATUS ``status`` and a sentence that names what was wrong."""
    return CallError(int(status), ntstatus_name(int(status)), sentence)


def status_of(code: int) -> NTSTATUS:
    """``code`` as a named NTSTATUS; STATUS_UNSUCCESSFUL for a number without a name."""
    return find_ntstatus(code) or NTSTATUS.STATUS_UNSUCCESSFUL


class BugCheckCode(IntEnum):
    """The stops that this kernel knows."""

    VIDEO_MEMORY_MANAGEMENT_INTERNAL = 0x10E
    VIDEO_DXGKRNL_FATAL_ERROR = 0x113
    VIDEO_TDR_FAILURE = 0x116
    VIDEO_SCHEDULER_INTERNAL_ERROR = 0x119


@dataclass(frozen=True, slots=True)
class BugCheck:
    """The record of a stop: code, first parameter (tables in the bug-check pages), what else was known, a sentence."""

    code: BugCheckCode
    parameter1: int
    parameters: tuple[int, ...]
    sentence: str

    def __str__(self) -> str:
        rest = "".join(f", {p:#x}" for p in self.parameters)
        return f"bug check {self.code:#x} {self.code.name} ({self.parameter1:#x}{rest}): {self.sentence}"


class BugCheckError(Exception):
    """Raised where a contract is broken; the adapter catches it and stops."""

    def __init__(self, code: BugCheckCode, parameter1: int, sentence: str, *parameters: int) -> None:
        self.record = BugCheck(code, parameter1, parameters, sentence)
        super().__init__(str(self.record))


def vidmm_bug_check(parameter1: int, sentence: str, *parameters: int) -> BugCheckError:
    """Bug check 0x10E: the memory manager's contract was broken."""
    return BugCheckError(BugCheckCode.VIDEO_MEMORY_MANAGEMENT_INTERNAL, parameter1, sentence, *parameters)


def vidsch_bug_check(parameter1: int, sentence: str, *parameters: int) -> BugCheckError:
    """Bug check 0x119: the scheduler's contract was broken."""
    return BugCheckError(BugCheckCode.VIDEO_SCHEDULER_INTERNAL_ERROR, parameter1, sentence, *parameters)
