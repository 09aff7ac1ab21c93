"""The compiler on the command line: ``wddm hlsl shader.hlsl -E main -T ps_5_0 -o shader.dxbc``.

Understands fxc's switches as well (/E /T /D /I /Fo /Fc /Fe /P /Od /Zpr /Zpc /WX /Gis /nologo …), with ``/`` or ``-``,
their value attached or apart.  Messages go to standard error as fxc gives them; the exit code is 0 or 1, 2 for misuse.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from wddm.dxbc import disassemble

from .cache import default_cache
from .compiler import PROFILES, CompileResult, Flags, compile_with_diagnostics
from .diagnostics import Abort, Sink
from .preprocessor import preprocess
from .reflect import reflect

__all__ = ["main"]

_USAGE = """usage: wddm hlsl FILE [options]          (FILE may be - for standard input)

  -E, /E NAME      entry point (default main)        -T, /T PROFILE    {profiles}
  -o, /Fo FILE     write the container               /Fc FILE          write the listing
  -D, /D N[=V]     define a macro                    -I, /I DIR        look for includes there
  --asm            print the listing                 --reflect         print what the shader binds
  /P FILE          preprocess only                   /Fe FILE          write messages there
  /Od              do not optimise                   /Gis              strict float arithmetic
  /Zpr /Zpc        matrices row-/column-major        /WX               warnings are errors
  --timings        milliseconds by phase             --no-cache        do not look for compiled shaders on disk
"""

_WITH_VALUE = {
    "E": "entry", "T": "profile", "Fo": "output", "o": "output", "Fc": "listing", "Fe": "messages", "P": "preprocessed",
}  # fmt: skip
_FLAGS = {
    "Od": Flags.SKIP_OPTIMIZATION, "Zpr": Flags.PACK_MATRIX_ROW_MAJOR, "Zpc": Flags.PACK_MATRIX_COLUMN_MAJOR,
    "WX": Flags.WARNINGS_ARE_ERRORS, "Gis": Flags.IEEE_STRICTNESS, "Ges": Flags.ENABLE_STRICTNESS,
    "Gec": Flags.ENABLE_BACKWARDS_COMPATIBILITY, "Gfa": Flags.AVOID_FLOW_CONTROL, "Gfp": Flags.PREFER_FLOW_CONTROL,
    "Zi": Flags.DEBUG, "Vd": Flags.SKIP_VALIDATION, "O0": Flags.NONE, "O1": Flags.NONE, "O2": Flags.NONE, "O3": Flags.NONE,
    "nologo": Flags.NONE, "Gpp": Flags.PARTIAL_PRECISION, "Qstrip_reflect": Flags.NONE, "Qstrip_debug": Flags.NONE,
}  # fmt: skip


class _Misuse(Exception):
    pass


@dataclass
class _Options:
    file: str = ""
    entry: str = "main"
    profile: str = "ps_5_0"
    output: str = ""
    listing: str = ""
    messages: str = ""
    preprocessed: str = ""
    defines: dict[str, str] = field(default_factory=dict)
    include: list[str] = field(default_factory=list)
    flags: Flags = Flags.NONE
    asm: bool = False
    reflect: bool = False
    timings: bool = False
    cache: bool = True


def main(argv: list[str]) -> int:
    """Run the command; returns the exit code.  Prints, but raises nothing for bad input."""
    if not argv or argv[0] in ("-h", "--help", "/?", "-?"):
        print(_USAGE.format(profiles=" ".join(PROFILES[:3]) + " …"), end="")
        return 0 if argv else 2
    try:
        options = _parse(argv)
    except _Misuse as problem:
        print(f"wddm hlsl: {problem}", file=sys.stderr)
        return 2
    try:
        return _run(options)
    except OSError as error:
        print(f"wddm hlsl: {error.filename or options.file}: {error.strerror}", file=sys.stderr)
        return 1


def _parse(argv: list[str]) -> _Options:
    options = _Options()
    waiting = list(argv)
    while waiting:
        word = waiting.pop(0)
        switch = word[1:] if word[:1] == "-" or _is_fxc_switch(word) else ""
        if word.startswith("--"):
            name = word[2:]
            if name not in ("asm", "reflect", "timings", "no-cache"):
                raise _Misuse(f"unknown option {word}")
            setattr(options, {"no-cache": "cache"}.get(name, name), name != "no-cache")
        elif not switch:
            if options.file:
                raise _Misuse(f"two files: {options.file} and {word}")
            options.file = word
        elif switch in _FLAGS:
            options.flags |= _FLAGS[switch]
        else:
            _value_switch(options, word, switch, waiting)
    if not options.file:
        raise _Misuse("no source file")
    return options


def _is_fxc_switch(word: str) -> bool:
    """``/Tps_5_0`` against a path that begins at the root."""
    names = (*_FLAGS, *_WITH_VALUE, "D", "I")
    return word.startswith(tuple("/" + name for name in names if name != "o")) and not Path(word).exists()


def _value_switch(options: _Options, word: str, switch: str, waiting: list[str]) -> None:
    for name in sorted([*_WITH_VALUE, "D", "I"], key=len, reverse=True):
        if not switch.startswith(name):
            continue
        value = switch[len(name) :]
        if not value:
            if not waiting:
                raise _Misuse(f"{word} needs a value")
            value = waiting.pop(0)
        if name == "D":
            macro, _, text = value.partition("=")
            options.defines[macro] = text if "=" in value else "1"
        elif name == "I":
            options.include.append(value)
        else:
            setattr(options, _WITH_VALUE[name], value)
        return
    raise _Misuse(f"unknown option {word}")


def _run(options: _Options) -> int:
    if options.file == "-":
        source, name = sys.stdin.read(), "<stdin>"
    else:
        source, name = Path(options.file).read_text(encoding="utf-8", errors="replace"), options.file
    include = [str(Path(name).parent), *options.include]
    if options.preprocessed:
        return _preprocess(options, source, name, include)
    result = compile_with_diagnostics(
        source, options.entry, options.profile, defines=options.defines, include=include, flags=options.flags, filename=name,
        cache=default_cache() if options.cache and not options.timings else None,
    )  # fmt: skip
    if result.diagnostics:
        if options.messages:
            Path(options.messages).write_text(result.text + "\n", encoding="utf-8")
        else:
            print(result.text, file=sys.stderr)
    if options.timings:
        _print_timings(result)
    if result.blob is None:
        print("compilation failed; no code produced", file=sys.stderr)
        return 1
    if options.output:
        Path(options.output).write_bytes(result.blob)
    if options.listing:
        Path(options.listing).write_text(disassemble(result.blob), encoding="utf-8")
    if options.reflect:
        _print_reflection(result.blob)
    if options.asm or not (options.output or options.listing or options.reflect):
        print(disassemble(result.blob), end="")
    return 0


def _preprocess(options: _Options, source: str, name: str, include: list[str]) -> int:
    sink = Sink()
    try:
        text = preprocess(source, name, options.defines, include, sink).text()
    except Abort:
        text = ""
    for diagnostic in sink.diagnostics:
        print(diagnostic, file=sys.stderr)
    if sink.errors:
        return 1
    Path(options.preprocessed).write_text(text + "\n", encoding="utf-8")
    return 0


def _print_timings(result: CompileResult) -> None:
    total = sum(result.timings.values())
    for phase, ms in result.timings.items():
        print(f"{phase:>12} {ms:8.2f} ms", file=sys.stderr)
    rate = result.tokens / total * 1e3 if total else 0.0
    print(f"{'total':>12} {total:8.2f} ms, {result.tokens} tokens, {rate:.0f} tokens/s", file=sys.stderr)


def _print_reflection(blob: bytes) -> None:
    found = reflect(blob)
    print(found.profile)
    for buffer in found.constant_buffers:
        print(f"{buffer.kind.name.lower()} {buffer.name}: {buffer.size} bytes")
        for variable in buffer.variables:
            used = "" if variable.flags & 2 else "  (unused)"
            type_ = variable.type.name or variable.type.base.name.lower()
            print(f"  {variable.start:5} +{variable.size:<5} {type_} {variable.name}{used}")
    for binding in found.bindings:
        count = f"[{binding.bind_count}]" if binding.bind_count > 1 else ""
        print(f"{binding.type.name.lower():>28} {binding.bind_point:3}  {binding.name}{count}")
    for title, elements in (("input", found.inputs), ("output", found.outputs), ("patch constant", found.patch_constants)):
        for element in elements:
            place = "-" if element.register == 0xFFFFFFFF else str(element.register)
            mask = "".join(c if element.mask >> i & 1 else " " for i, c in enumerate("xyzw"))
            print(f"{title:>16} {place:>3} {mask} {element.component_type.name.lower():8} {element.semantic}")
