"""The protocols as a page for people: ``python -m wddm.wire.document`` prints docs/messages.md.

Everything on it is read from the declarations, so that it cannot say anything else than the codec does.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Iterator
from enum import IntEnum
from typing import Annotated, Any, Final

from . import api_commands
from .api import API
from .bus import BUS
from .message import Declaration, Descriptor, MaxLen, MessageKind, Protocol, Range, Struct, fields_of
from .thunk import THUNK

_HEADER: Final = """# The messages

Made by `./dev python -m wddm.wire.document` from the declarations in `wddm/wire/`, which codec, checks and tests use as well.

All three sockets speak [MessagePack-RPC](https://github.com/msgpack-rpc/msgpack-rpc/blob/master/spec.md): a request is
`[0, id, method, [fields]]`, its answer `[1, id, null, fields]` or `[1, id, [code, name, sentence], null]`, a notification
`[2, method, [fields]]`; `fields` is one map by name. A field with a default may be left out. `hello` comes first. What breaks the
protocol is answered with `[1, 0, [0, "PROTOCOL_ERROR", sentence], null]`, and the connection ends. A *descriptor* is the extension
type 1 without content; the file descriptor itself travels beside the bytes (SCM_RIGHTS), in the order of the fields.

`tests/e2e/test_foreign_client.py` is a whole client with a socket and a MessagePack library and nothing else.
"""
_BOUNDS: Final = {
    (0, 0xFF): "u8",
    (0, 0xFFFF): "u16",
    (0, 0xFFFF_FFFF): "u32",
    (0, 0xFFFF_FFFF_FFFF_FFFF): "u64",
    (-0x8000_0000, 0x7FFF_FFFF): "i32",
    (-0x8000_0000_0000_0000, 0x7FFF_FFFF_FFFF_FFFF): "i64",
}


def type_name(annotation: Any) -> str:
    """What a field may hold, in a few words."""
    limit = ""
    if typing.get_origin(annotation) is Annotated:
        annotation, *extras = typing.get_args(annotation)
        for extra in extras:
            if isinstance(extra, Range):
                return _BOUNDS.get((extra.low, extra.high), f"integer {extra.low}…{extra.high}")
            if isinstance(extra, MaxLen):
                limit = f", at most {extra.length}"
            elif extra == "commands":
                return "commands"
    if typing.get_origin(annotation) is list:
        return f"list of {type_name(typing.get_args(annotation)[0])}{limit}"
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return " or ".join("null" if a is types.NoneType else type_name(a) for a in typing.get_args(annotation))
    if annotation is Descriptor:
        return "descriptor"
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    if isinstance(annotation, type) and issubclass(annotation, IntEnum):
        return " or ".join(f"{int(member)} {member.name}" for member in annotation)
    return f"{annotation.__name__}{limit}"


def _remarks(struct: type[Struct]) -> dict[str, str]:
    """The ``#:`` comments behind the fields."""
    return dict(re.findall(r"^\s+(\w+):.*?#: (.*)$", inspect.getsource(struct), re.MULTILINE))


def _fields(struct: type[Struct]) -> Iterator[str]:
    remarks = _remarks(struct)
    for field, hint in fields_of(struct):
        default = ""
        if field.default is not dataclasses.MISSING:
            default = " = null" if field.default is None else f" = {field.default!r}".replace("b''", "no bytes")
        elif field.default_factory is not dataclasses.MISSING:
            default = " = []"
        remark = f": {remarks[field.name]}" if field.name in remarks else ""
        yield f"* `{field.name}` {type_name(hint)}{default}{remark}"


def _text(thing: Any) -> str:
    text = inspect.cleandoc(thing.__doc__ or "")
    return re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text).replace("``", "`")


def _nested(struct: type[Struct], found: dict[str, type[Struct]]) -> None:
    """Every struct inside ``struct``, in the order of appearance."""

    def look(annotation: Any) -> None:
        if isinstance(annotation, type) and issubclass(annotation, Struct):
            if annotation.__name__ not in found:
                found[annotation.__name__] = annotation
                _nested(annotation, found)
        for inner in typing.get_args(annotation):
            look(inner)

    for _, hint in fields_of(struct):
        look(hint)


def _message(declaration: Declaration) -> Iterator[str]:
    kind = "request" if declaration.kind is MessageKind.REQUEST else "notification"
    way = "from the server" if declaration.from_server else "to the server"
    yield f"### `{declaration.method}`\n"
    reply = declaration.reply
    answer = "" if reply is None or not dataclasses.fields(reply) else f" → {type_name(reply)}"  # type: ignore[arg-type]
    yield f"*{kind} {way}*{answer}\n"
    yield _text(declaration.struct) + "\n"
    fields = list(_fields(declaration.struct))
    if fields:
        yield "\n".join(fields) + "\n"


def protocol_page(protocol: Protocol) -> Iterator[str]:
    """The messages of a protocol, then the structures in them."""
    yield f"## {protocol.name}, version {protocol.version}\n"
    structs: dict[str, type[Struct]] = {}
    for declaration in protocol.by_method.values():
        yield from _message(declaration)
        _nested(declaration.struct, structs)
        if declaration.reply is not None and dataclasses.fields(declaration.reply):  # type: ignore[arg-type]
            structs.setdefault(declaration.reply.__name__, declaration.reply)
            _nested(declaration.reply, structs)
    yield f"## Structures of {protocol.name}\n"
    for name, struct in structs.items():
        yield f"### {name}\n\n{_text(struct)}\n"
        yield "\n".join(_fields(struct)) + "\n"


def commands_page() -> Iterator[str]:
    """The commands of an immediate context."""
    yield "## Commands of `execute_commands`\n"
    yield "Each is a list: its code, then its arguments in this order.\n"
    rows = ["| code | name | arguments |", "|---|---|---|"]
    for code, command in sorted(api_commands.COMMANDS.items()):
        arguments = ", ".join(f"{name}: {kind.text}" for name, kind in command.arguments)
        rows.append(f"| {code} | `{command.name}` | {arguments} |")
    yield "\n".join(rows) + "\n"


def page() -> str:
    """All of docs/messages.md."""
    parts = [_HEADER]
    for protocol in (API, THUNK, BUS):
        parts += protocol_page(protocol)
        if protocol is API:
            parts += commands_page()
    return "\n".join(parts)


if __name__ == "__main__":
    print(page(), end="")
