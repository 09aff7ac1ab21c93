"""From IR text to an object file for this processor, at two levels; and, run as a program, a server of the better one.

Imports nothing of the project, so that the process that optimises in the background (see :mod:`~vgpu.engine.llvm.optimizer`)
starts fast. As a program it reads requests from its standard input and writes answers to its standard output, each a length of
four bytes and then the bytes: IR text, and the object made of it, or nothing when LLVM refuses the text.
"""

from __future__ import annotations

import os
import struct
import sys
from functools import lru_cache
from typing import IO, Any, Final

import llvmlite.binding as llvm

#: Levels. QUICK is for code that should run soon, FULL for code that runs long; results are the same.
QUICK: Final = 0
FULL: Final = 2
LENGTH: Final = struct.Struct("<I")


@lru_cache(maxsize=1)
def processor() -> tuple[str, dict[str, bool], str]:
    """Name, features and their flat spelling, as LLVM tells them."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    return llvm.get_host_cpu_name(), dict(features), features.flatten()


def target_machine(level: int) -> Any:
    """A new target machine for this processor."""
    cpu, _, features = processor()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=level, reloc="pic", codemodel="small")


class CodeGenerator:
    """What compiles at one level."""

    def __init__(self, level: int) -> None:
        self.machine = target_machine(level)
        self._options = options = llvm.create_pipeline_tuning_options(level)
        options.loop_vectorization = False
        options.slp_vectorization = False
        options.loop_unrolling = False
        options.loop_interleaving = False
        self._builder = llvm.create_pass_builder(self.machine, options)
        self._quick: Any = None
        if level == QUICK:
            # Variables become registers; the rest is left to instruction selection.
            self._quick = llvm.create_new_function_pass_manager()
            self._quick.add_sroa_pass()

    def optimised(self, ir: str) -> Any:
        """The module of ``ir`` after the passes. Raises RuntimeError for text that is no IR."""
        module = llvm.parse_assembly(ir)
        module.triple = self.machine.triple
        module.data_layout = str(self.machine.target_data)
        # Modules hold a function or three that call each other through pointers or once: nothing for passes between functions.
        passes = self._quick or self._builder.getFunctionPassManager()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, self._builder)
        return module

    def emit(self, module: Any) -> bytes:
        """The object."""
        image: bytes = self.machine.emit_object(module)
        return image


def read_message(stream: IO[bytes]) -> bytes | None:
    """One message; None at the end of the stream."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (size,) = LENGTH.unpack(head)
    body = stream.read(size)
    return body if len(body) == size else None


def write_message(stream: IO[bytes], body: bytes) -> None:
    """One message."""
    stream.write(LENGTH.pack(len(body)) + body)
    stream.flush()


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer until the requests end."""
    generator = CodeGenerator(FULL)
    while (text := read_message(requests)) is not None:
        try:
            image = generator.emit(generator.optimised(text.decode()))
        except RuntimeError:
            image = b""
        write_message(answers, image)


if __name__ == "__main__":
    # At the priority of those that draw: with all cores busy drawing, a lower one would hardly ever be given time.
    try:
        serve(sys.stdin.buffer, sys.stdout.buffer)
    except BrokenPipeError:  # nobody waits for the answer any more; at a normal exit Python would try once more to write it
        os._exit(0)
