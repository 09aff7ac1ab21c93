"""The commands of an immediate context, declared once: code, name, arguments and their types.

A client records ``(code, argument, …)`` tuples; the runtime checks each with :meth:`Command.check` before it looks at what the
arguments mean. Ids are 32-bit numbers, 0 for NULL; data is bytes, or ``[position, size]`` in the upload area of the device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from .message import ProtocolError

MAX_LIST: Final = 128  #: the longest list of a command: D3D11_COMMONSHADER_INPUT_RESOURCE_SLOT_COUNT


class Kind:
    """The type of an argument: what it is called, how a received value is tested, and the same test as an expression."""

    __slots__ = ("expression", "test", "text")

    def __init__(self, text: str, test: Callable[[Any], bool], expression: str = "{test}({0})") -> None:
        self.text = text
        self.test = test
        self.expression = expression


def _u32(value: Any) -> bool:
    return type(value) is int and 0 <= value <= 0xFFFF_FFFF


def _i32(value: Any) -> bool:
    return type(value) is int and -0x8000_0000 <= value <= 0x7FFF_FFFF


def _number(value: Any) -> bool:
    return type(value) is float or (type(value) is int and abs(value) <= 1 << 64)


def _list_of(test: Callable[[Any], bool], least: int, most: int) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:
        return type(value) is list and least <= len(value) <= most and all(map(test, value))

    return check


def _box(value: Any) -> bool:
    return value is None or (type(value) is list and len(value) == 6 and all(map(_u32, value)))


def _data(value: Any) -> bool:
    if type(value) is bytes:
        return True
    return type(value) is list and len(value) == 2 and type(value[0]) is int and 0 <= value[0] < 1 << 63 and _u32(value[1])


_U32: Final = "type({0}) is int and 0 <= {0} <= 0xFFFF_FFFF"
U: Final = Kind("32-bit unsigned integer", _u32, _U32)
I: Final = Kind("32-bit integer", _i32, "type({0}) is int and -0x8000_0000 <= {0} <= 0x7FFF_FFFF")  # noqa: E741
F: Final = Kind("number", _number)
B: Final = Kind("boolean", lambda value: type(value) is bool, "type({0}) is bool")
ID: Final = Kind("id", _u32, _U32)
IDS: Final = Kind(f"list of at most {MAX_LIST} ids", _list_of(_u32, 0, MAX_LIST))
US: Final = Kind(f"list of at most {MAX_LIST} 32-bit unsigned integers", _list_of(_u32, 0, MAX_LIST))
F4: Final = Kind("list of 4 numbers", _list_of(_number, 4, 4))
U4: Final = Kind("list of 4 32-bit unsigned integers", _list_of(_u32, 4, 4))
BOX: Final = Kind("box of 6 numbers (left, top, front, right, bottom, back), or nil", _box)
DATA: Final = Kind("bytes, or a place in the upload area", _data, "(type({0}) is bytes or {test}({0}))")
VIEWPORTS: Final = Kind("list of at most 16 lists of 6 numbers", _list_of(_list_of(_number, 6, 6), 0, 16))
RECTS: Final = Kind("list of at most 16 lists of 4 integers", _list_of(_list_of(_i32, 4, 4), 0, 16))


class Command(int):
    """The code of a command, with its name and arguments."""

    name: str
    arguments: tuple[tuple[str, Kind], ...]

    def check(self, command: Sequence[Any]) -> None:
        """Raise ProtocolError unless a received command has the right number and types of arguments."""
        if len(command) != len(self.arguments) + 1:
            raise ProtocolError(f"command {self.name} with {len(command) - 1} arguments, it has {len(self.arguments)}")
        for (name, kind), value in zip(self.arguments, command[1:], strict=True):
            if not kind.test(value):
                raise ProtocolError(f"command {self.name}: {name} is no {kind.text}")

    def carrier(self, handler: Callable[..., Any]) -> Callable[[list[Any]], Any]:
        """What carries out a received command: tests it as :meth:`check` does, and gives its arguments to ``handler``.

        One function for all tests and the call: a draw takes several commands, and a call for each argument costs more than the
        rest. Raises ProtocolError.
        """
        kinds = [kind for _, kind in self.arguments]
        names = [f"a{i}" for i in range(len(kinds))]
        tests = [kind.expression.format(name, test=f"test{i}") for i, (kind, name) in enumerate(zip(kinds, names, strict=True))]
        known: dict[str, Any] = {f"test{i}": kind.test for i, kind in enumerate(kinds)} | {"check": self.check, "handler": handler}
        source = f"""
def carry_out(command):
    if len(command) != {len(kinds) + 1}:
        check(command)
    {", ".join(["_", *names])}, = command
    if not ({" and ".join(tests) or True}):
        check(command)
    return handler({", ".join(names)})
"""
        exec(source, known)
        found: Callable[[list[Any]], Any] = known["carry_out"]
        return found


#: All commands by code.
COMMANDS: Final[dict[int, Command]] = {}


def _command(code: int, name: str, **arguments: Kind) -> Command:
    command = Command(code)
    command.name = name
    command.arguments = tuple(arguments.items())
    if code in COMMANDS:
        raise ValueError(f"command code {code} is declared twice")
    COMMANDS[code] = command
    return command


def check_command(command: Any) -> Command:
    """The declaration of a received command. Raises ProtocolError for anything that is none."""
    if type(command) is not list or not command:
        raise ProtocolError("a command is a list that begins with its code")
    code = command[0]
    found = COMMANDS.get(code) if type(code) is int else None
    if found is None:
        raise ProtocolError(f"no command has the code {code!r:.40}")
    found.check(command)
    return found


# ----- life of objects, whole state ----------------------------------------------------------------------------------------

DESTROY = _command(0, "destroy", id=ID)
CLEAR_STATE = _command(1, "clear_state")
FLUSH = _command(2, "flush")

# ----- input assembler -----------------------------------------------------------------------------------------------------

IA_SET_INPUT_LAYOUT = _command(10, "ia_set_input_layout", input_layout=ID)
IA_SET_VERTEX_BUFFERS = _command(11, "ia_set_vertex_buffers", start_slot=U, vertex_buffers=IDS, strides=US, offsets=US)
IA_SET_INDEX_BUFFER = _command(12, "ia_set_index_buffer", index_buffer=ID, format=U, offset=U)
IA_SET_PRIMITIVE_TOPOLOGY = _command(13, "ia_set_primitive_topology", topology=U)

# ----- shader stages: VS 0, HS 1, DS 2, GS 3, PS 4, CS 5 -------------------------------------------------------------------

SET_SHADER = _command(20, "set_shader", stage=U, shader=ID)
SET_CONSTANT_BUFFERS = _command(21, "set_constant_buffers", stage=U, start_slot=U, constant_buffers=IDS)
SET_SHADER_RESOURCES = _command(22, "set_shader_resources", stage=U, start_slot=U, shader_resource_views=IDS)
SET_SAMPLERS = _command(23, "set_samplers", stage=U, start_slot=U, samplers=IDS)
CS_SET_UNORDERED_ACCESS_VIEWS = _command(
    24, "cs_set_unordered_access_views", start_slot=U, unordered_access_views=IDS, initial_counts=US
)
SO_SET_TARGETS = _command(25, "so_set_targets", targets=IDS, offsets=US)

# ----- rasterizer and output merger ----------------------------------------------------------------------------------------

RS_SET_STATE = _command(30, "rs_set_state", rasterizer_state=ID)
RS_SET_VIEWPORTS = _command(31, "rs_set_viewports", viewports=VIEWPORTS)
RS_SET_SCISSOR_RECTS = _command(32, "rs_set_scissor_rects", rects=RECTS)
OM_SET_BLEND_STATE = _command(33, "om_set_blend_state", blend_state=ID, blend_factor=F4, sample_mask=U)
OM_SET_DEPTH_STENCIL_STATE = _command(34, "om_set_depth_stencil_state", depth_stencil_state=ID, stencil_ref=U)
OM_SET_RENDER_TARGETS = _command(35, "om_set_render_targets", render_target_views=IDS, depth_stencil_view=ID)
OM_SET_RENDER_TARGETS_AND_UNORDERED_ACCESS_VIEWS = _command(
    36,
    "om_set_render_targets_and_unordered_access_views",
    keep_render_targets=B,
    render_target_views=IDS,
    depth_stencil_view=ID,
    uav_start_slot=U,
    keep_unordered_access_views=B,
    unordered_access_views=IDS,
    initial_counts=US,
)

# ----- draws and dispatches ------------------------------------------------------------------------------------------------

DRAW = _command(40, "draw", vertex_count=U, start_vertex_location=U)
DRAW_INDEXED = _command(41, "draw_indexed", index_count=U, start_index_location=U, base_vertex_location=I)
DRAW_INSTANCED = _command(
    42,
    "draw_instanced",
    vertex_count_per_instance=U,
    instance_count=U,
    start_vertex_location=U,
    start_instance_location=U,
)
DRAW_INDEXED_INSTANCED = _command(
    43,
    "draw_indexed_instanced",
    index_count_per_instance=U,
    instance_count=U,
    start_index_location=U,
    base_vertex_location=I,
    start_instance_location=U,
)
DRAW_AUTO = _command(44, "draw_auto")
DRAW_INSTANCED_INDIRECT = _command(45, "draw_instanced_indirect", buffer=ID, offset=U)
DRAW_INDEXED_INSTANCED_INDIRECT = _command(46, "draw_indexed_instanced_indirect", buffer=ID, offset=U)
DISPATCH = _command(47, "dispatch", thread_group_count_x=U, thread_group_count_y=U, thread_group_count_z=U)
DISPATCH_INDIRECT = _command(48, "dispatch_indirect", buffer=ID, offset=U)

# ----- clears --------------------------------------------------------------------------------------------------------------

CLEAR_RENDER_TARGET_VIEW = _command(50, "clear_render_target_view", view=ID, color=F4)
CLEAR_DEPTH_STENCIL_VIEW = _command(51, "clear_depth_stencil_view", view=ID, flags=U, depth=F, stencil=U)
CLEAR_UNORDERED_ACCESS_VIEW_UINT = _command(52, "clear_unordered_access_view_uint", view=ID, values=U4)
CLEAR_UNORDERED_ACCESS_VIEW_FLOAT = _command(53, "clear_unordered_access_view_float", view=ID, values=F4)

# ----- copies and updates --------------------------------------------------------------------------------------------------

COPY_RESOURCE = _command(60, "copy_resource", destination=ID, source=ID)
COPY_SUBRESOURCE_REGION = _command(
    61,
    "copy_subresource_region",
    destination=ID,
    destination_subresource=U,
    x=U,
    y=U,
    z=U,
    source=ID,
    source_subresource=U,
    box=BOX,
)
UPDATE_SUBRESOURCE = _command(
    62, "update_subresource", destination=ID, subresource=U, box=BOX, data=DATA, row_pitch=U, depth_pitch=U
)
COPY_STRUCTURE_COUNT = _command(63, "copy_structure_count", destination=ID, offset=U, view=ID)
RESOLVE_SUBRESOURCE = _command(
    64,
    "resolve_subresource",
    destination=ID,
    destination_subresource=U,
    source=ID,
    source_subresource=U,
    format=U,
)
GENERATE_MIPS = _command(65, "generate_mips", view=ID)
SET_RESOURCE_MIN_LOD = _command(66, "set_resource_min_lod", resource=ID, min_lod=F)
UNMAP = _command(67, "unmap", resource=ID, subresource=U)
#: Unmap where the bytes of a write map travel back: ``data`` goes to the start of the mapped subresource first.
UNMAP_WRITTEN = _command(68, "unmap_written", resource=ID, subresource=U, data=DATA)
#: Map (WRITE_DISCARD or WRITE_NO_OVERWRITE), write ``data`` at byte ``offset``, unmap: without a round trip.
WRITE_DYNAMIC = _command(69, "write_dynamic", resource=ID, subresource=U, type=U, offset=U, data=DATA)

# ----- queries -------------------------------------------------------------------------------------------------------------

BEGIN = _command(70, "begin", query=ID)
END = _command(71, "end", query=ID)
SET_PREDICATION = _command(72, "set_predication", predicate=ID, value=B)
