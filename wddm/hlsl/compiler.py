"""The phases in order: preprocess, parse, analyse, lower, optimise, generate.

Owns :func:`compile`, its settings and results, and the bounds that make every input end in a blob or an error.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntFlag

from wddm.dxbc.errors import DxbcError

from . import tree
from .analysis.context import Profile
from .analysis.declarations import Analysis
from .backend.program import build
from .cache import Cache, digest
from .diagnostics import Abort, CompileError, Diagnostic, Position, Sink
from .ir.builder import TooLarge
from .ir.nodes import DOUBLE_OPS, each_instruction
from .lowering.evaluate import evaluator
from .lowering.stages import Shader, StageLowering
from .lowering.state import LoweringProblem, Restart
from .parser import parse
from .passes.combine import combine
from .passes.pair import join_pairs
from .passes.simplify import remove_dead_code, remove_trivial_phis
from .passes.uniformity import check_uniformity
from .preprocessor import Include, preprocess

__all__ = ["PROFILES", "VERSION", "CompileResult", "Flags", "compile", "compile_with_diagnostics"]

VERSION = "1"
"""Part of the cache key: raise it when the same source gives another blob."""

CREATOR = "wddm HLSL Shader Compiler 1.0"

PROFILES = tuple(f"{stage}s_{model}" for stage in "vpgdhc" for model in ("4_0", "4_1", "5_0"))

INTERNAL = 8000
"""Number of the error that is a fault of the compiler itself; its tests never see one."""

_INTERNAL = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError)

MAX_SOURCE = 4 << 20
MAX_RESTARTS = 16
_RECURSION = 12_000


class Flags(IntFlag):
    """Settings; the bits are those of D3DCOMPILE."""

    NONE = 0
    DEBUG = 1 << 0
    SKIP_VALIDATION = 1 << 1
    SKIP_OPTIMIZATION = 1 << 2
    PACK_MATRIX_ROW_MAJOR = 1 << 3
    PACK_MATRIX_COLUMN_MAJOR = 1 << 4
    PARTIAL_PRECISION = 1 << 5
    NO_PRESHADER = 1 << 8
    AVOID_FLOW_CONTROL = 1 << 9
    PREFER_FLOW_CONTROL = 1 << 10
    ENABLE_STRICTNESS = 1 << 11
    ENABLE_BACKWARDS_COMPATIBILITY = 1 << 12
    IEEE_STRICTNESS = 1 << 13
    OPTIMIZATION_LEVEL0 = 1 << 14
    OPTIMIZATION_LEVEL3 = 1 << 15
    WARNINGS_ARE_ERRORS = 1 << 18


@dataclass(slots=True)
class CompileResult:
    """``blob`` is None when there were errors.  ``timings``: milliseconds by phase; ``tokens`` after preprocessing."""

    blob: bytes | None
    diagnostics: tuple[Diagnostic, ...] = ()
    timings: dict[str, float] = field(default_factory=dict)
    tokens: int = 0
    cached: bool = False

    @property
    def text(self) -> str:
        """All diagnostics as fxc would print them."""
        return "\n".join(str(d) for d in self.diagnostics)


def compile(
    source: str, entry: str = "main", profile: str = "ps_5_0", *, defines: Mapping[str, str] | None = None,
    include: Include = None, flags: Flags = Flags.NONE, filename: str = "<source>", cache: Cache | None = None,
) -> bytes:  # fmt: skip
    """Compile HLSL to a DXBC container.

    ``include`` is a function of (name, written in angle brackets) that returns text or raises OSError, or a sequence
    of directories.  ``cache`` keeps blobs on disk.

    :raises CompileError: with all diagnostics; never anything else, whatever the text.
    """
    result = compile_with_diagnostics(
        source, entry, profile, defines=defines, include=include, flags=flags, filename=filename, cache=cache
    )
    if result.blob is None:
        raise CompileError(result.diagnostics)
    return result.blob


def compile_with_diagnostics(
    source: str, entry: str = "main", profile: str = "ps_5_0", *, defines: Mapping[str, str] | None = None,
    include: Include = None, flags: Flags = Flags.NONE, filename: str = "<source>", cache: Cache | None = None,
) -> CompileResult:  # fmt: skip
    """As :func:`compile`, but errors are in the result, and so are warnings, timings and the number of tokens."""
    sink = Sink(warnings_are_errors=bool(flags & Flags.WARNINGS_ARE_ERRORS))
    result = CompileResult(None)
    compilation = _Compilation(sink, result, entry, profile, flags, filename)
    start = Position(filename, 1, 1)
    with _deep_recursion():
        try:
            result.blob = compilation.run(source, dict(defines or {}), include, cache)
        except (Abort, LoweringProblem):
            pass
        except TooLarge:
            sink.errors += 1
            sink.diagnostics.append(Diagnostic("error", 3584, "the program is too large", start))
        except RecursionError:
            sink.errors += 1
            sink.diagnostics.append(Diagnostic("error", 3001, "the source is nested too deeply", start))
        except _INTERNAL as error:
            sink.errors += 1
            sink.diagnostics.append(Diagnostic("error", INTERNAL, f"internal compiler error: {_where(error)}", start))
        except DxbcError as error:
            sink.errors += 1
            sink.diagnostics.append(Diagnostic("error", 4599, f"the program cannot be written: {error}", start))
    if sink.errors:
        result.blob = None
    result.diagnostics = tuple(sink.diagnostics)
    return result


def _where(error: BaseException) -> str:
    """The exception and the place in the compiler that it comes from."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f" at {trace.tb_frame.f_code.co_qualname}:{trace.tb_lineno}"
    return f"{type(error).__name__} {error}{place}"


class _Compilation:
    def __init__(self, sink: Sink, result: CompileResult, entry: str, profile: str, flags: Flags, filename: str) -> None:
        self.sink = sink
        self.result = result
        self.entry = entry
        self.profile = profile
        self.flags = flags
        self.filename = filename
        self.start = Position(filename, 1, 1)

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self.result.timings[phase] = self.result.timings.get(phase, 0.0) + (time.perf_counter() - begin) * 1e3

    def run(self, source: str, defines: dict[str, str], include: Include, cache: Cache | None) -> bytes | None:
        sink = self.sink
        sink.add_file(self.filename, source if len(source) <= MAX_SOURCE else "")
        if self.profile not in PROFILES:
            sink.fatal(3506, f"unrecognized compiler target '{self.profile}'", self.start)
        if len(source) > MAX_SOURCE:
            sink.fatal(3001, f"the source is longer than {MAX_SOURCE} characters", self.start)
        with self.timed("preprocess"):
            pre = preprocess(source, self.filename, defines, include, sink)
        self.result.tokens = len(pre.tokens) - 1
        key = ""
        if cache is not None and not sink.diagnostics:
            key = digest(VERSION, self.entry, self.profile, str(int(self.flags)), pre.text(), str(pre.pack_matrix))
            found = cache.get(key)
            if found is not None:
                self.result.cached = True
                return found
        with self.timed("parse"):
            row_major = bool(self.flags & Flags.PACK_MATRIX_ROW_MAJOR)
            declarations = parse(pre, sink, row_major=row_major)
        stage, model = self.profile[0], int(self.profile[3]) * 10 + int(self.profile[5])
        with self.timed("analyse"):
            analysis = Analysis(sink, Profile(self.profile, stage, model))
            analysis.evaluate = evaluator(sink, stage, model)
            unit = analysis.run(declarations)
        if self.failed():
            return None
        entry = self.find_entry(unit)
        self.check_recursion(entry)
        for _ in range(MAX_RESTARTS):
            with self.timed("lower"):
                shader, lowering = self.lower(unit, entry, stage, model)
            if self.failed():
                return None
            with self.timed("optimise"):
                again = False
                for phase in shader.phases:
                    remove_trivial_phis(phase.region)
                    remove_dead_code(phase.region)
                    again |= check_uniformity(phase.region, sink, entry.position)
            if not again:
                break
        if model < 50 and any(i.op in DOUBLE_OPS for phase in shader.phases for i in each_instruction(phase.region)):
            sink.error(3087, "doubles need shader model 5.0", entry.position)
        optimise = not self.flags & Flags.SKIP_OPTIMIZATION
        with self.timed("optimise"):
            for phase in shader.phases:
                combine(phase.region)
                remove_dead_code(phase.region)
                join_pairs(phase.region)
        if self.failed():
            return None
        with self.timed("generate"):
            blob = build(shader, lowering.module, unit, lowering.params, sink, model=model, optimise=optimise, creator=CREATOR,
                         flags=int(self.flags) & 0xFFFF, position=entry.position)  # fmt: skip
        if cache is not None and key and not sink.diagnostics:
            cache.put(key, blob)
        return blob

    def failed(self) -> bool:
        return self.sink.errors > 0

    def find_entry(self, unit: tree.Unit) -> tree.Function:
        listed = [f for f in unit.functions.get(self.entry, []) if f.body is not None]
        if not listed:
            self.sink.fatal(3501, f"'{self.entry}': entrypoint not found", self.start)
        if len(listed) > 1:
            self.sink.fatal(3003, f"'{self.entry}': entrypoint is overloaded", listed[1].position)
        return listed[0]

    def check_recursion(self, entry: tree.Function) -> None:
        """X3500: functions are inlined, so no function may come back to itself."""
        done: set[tree.Function] = set()
        active: set[tree.Function] = set()
        stack: list[tuple[tree.Function, int]] = [(entry, 0)]
        active.add(entry)
        while stack:
            function, index = stack.pop()
            if index < len(function.calls):
                stack.append((function, index + 1))
                callee, at = function.calls[index]
                if callee in active:
                    self.sink.fatal(3500, f"'{callee.name}': recursive functions are not allowed", at)
                if callee not in done:
                    active.add(callee)
                    stack.append((callee, 0))
                continue
            active.discard(function)
            done.add(function)

    def lower(self, unit: tree.Unit, entry: tree.Function, stage: str, model: int) -> tuple[Shader, StageLowering]:  # noqa: RET503 - the last call does not return
        for _ in range(MAX_RESTARTS):
            lowering = StageLowering(self.sink, stage, model, self.profile, unit)
            lowering.b.precise = bool(self.flags & Flags.IEEE_STRICTNESS)
            if self.flags & Flags.AVOID_FLOW_CONTROL:
                lowering.flatten_cost = 1 << 30
            elif self.flags & Flags.PREFER_FLOW_CONTROL:
                lowering.flatten_cost = 0
            mark = self.sink.mark()
            try:
                shader = lowering.run(entry)
                if not lowering.restart_wanted:
                    return shader, lowering
            except Restart:
                pass
            except (LoweringProblem, TooLarge):
                if not lowering.restart_wanted:
                    raise
            self.sink.forget_since(mark)
        self.sink.fatal(3584, "the program needs too many variables in memory", entry.position)


_active = 0
_lock = threading.Lock()
_normal_limit = 0


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Room for recursive descent; the nesting of the source is bounded well below it."""
    global _active, _normal_limit
    with _lock:
        if _active == 0:
            _normal_limit = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_normal_limit, _RECURSION))
        _active += 1
    try:
        yield
    finally:
        with _lock:
            _active -= 1
            if _active == 0:
                sys.setrecursionlimit(_normal_limit)
