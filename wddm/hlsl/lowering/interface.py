"""The outside of an entry point: attributes, inputs and outputs, and what every stage shares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wddm.dxbc.opcodes import Primitive, RegisterType, TessDomain, TessOutput, TessPartitioning, Topology
from wddm.hlsl import layout, tree
from wddm.hlsl.diagnostics import Position, Sink
from wddm.hlsl.ir.nodes import ZERO, Region, Value, Vec, fixed
from wddm.hlsl.lexer import Token
from wddm.hlsl.signature import Element, assign_system_values, collect, pack
from wddm.hlsl.types import Array, Object, Type, lane_count

from .convert import change_base
from .effects import assigned_in
from .places import Place
from .resources import ResourceLowering
from .state import UNDEFINED, LoweringProblem

__all__ = ["InterfaceLowering", "Phase", "Shader", "VertexArray"]

_DOMAINS = {"isoline": TessDomain.ISOLINE, "tri": TessDomain.TRI, "quad": TessDomain.QUAD}
_PARTITIONINGS = {
    "integer": TessPartitioning.INTEGER, "pow2": TessPartitioning.POW2,
    "fractional_odd": TessPartitioning.FRACTIONAL_ODD, "fractional_even": TessPartitioning.FRACTIONAL_EVEN,
}  # fmt: skip
_TESS_OUTPUTS = {
    "point": TessOutput.POINT, "line": TessOutput.LINE, "triangle_cw": TessOutput.TRIANGLE_CW,
    "triangle_ccw": TessOutput.TRIANGLE_CCW,
}  # fmt: skip


@dataclass(eq=False)
class Phase:
    """Code of one phase; all stages but the hull shader have just ``main``."""

    kind: str  # main, control_point, fork
    region: Region
    special_inputs: dict[RegisterType, int] = field(default_factory=dict)


@dataclass(eq=False)
class Shader:
    """A lowered shader: phases, signatures, and what the attributes said."""

    stage: str
    phases: list[Phase] = field(default_factory=list)
    inputs: list[Element] = field(default_factory=list)
    outputs: list[Element] = field(default_factory=list)
    patch_constants: list[Element] = field(default_factory=list)
    thread_group: tuple[int, int, int] = (1, 1, 1)
    early_depth_stencil: bool = False
    input_vertices: int = 0
    primitive: Primitive = Primitive.UNDEFINED
    topology: Topology = Topology.UNDEFINED
    streams: list[Topology] = field(default_factory=list)
    max_vertices: int = 0
    instances: int = 0
    domain: TessDomain = TessDomain.UNDEFINED
    partitioning: TessPartitioning = TessPartitioning.UNDEFINED
    tess_output: TessOutput = TessOutput.UNDEFINED
    output_control_points: int = 0
    max_tess_factor: float = 0.0


@dataclass(eq=False)
class VertexArray:
    """What a place of storage ``vertex`` stands for: the registers of one element, in a register file."""

    file: str
    elements: list[Element]
    count: int

    def register_of(self, lane: int) -> tuple[Element, int]:
        for element in self.elements:
            if lane in element.lanes:
                return element, element.start + element.lanes.index(lane)
        raise KeyError(lane)


class InterfaceLowering(ResourceLowering):
    def __init__(self, sink: Sink, stage: str, model: int, profile: str, unit: tree.Unit) -> None:
        super().__init__(sink, stage, model)
        self.profile = profile
        self.unit = unit
        self.shader = Shader(stage)
        self.params = tree.ConstantBuffer("$Params", "cbuffer", Position("", 1, 1))
        self.entry_token: Token | None = None
        self._assigned: set[tree.Variable] | None = None

    def report(self, code: int, message: str, at: Position) -> None:
        self.sink.error(code, message, at)

    def assigned_later(self, variable: tree.Variable) -> bool:
        if self._assigned is None:
            bodies = [f.body for listed in self.unit.functions.values() for f in listed if f.body is not None]
            self._assigned = assigned_in(bodies)
        return variable in self._assigned

    def start(self) -> None:
        raise NotImplementedError

    # -- attributes ----------------------------------------------------------------------------------------------

    def read_attributes(self, entry: tree.Function) -> None:
        attributes, shader = entry.attributes, self.shader
        at = entry.position
        if self.stage == "c":
            sizes = attributes.get("numthreads")
            if sizes is None:
                self.report(3519, f"'{entry.name}': a compute shader needs [numthreads(x, y, z)]", at)
                raise LoweringProblem
            numbers = [n for n in sizes if isinstance(n, int)]
            limit = 1024 if self.model >= 50 else 768
            if len(numbers) != 3 or min(numbers) < 1 or max(numbers[:2]) > limit or numbers[2] > (64 if self.model >= 50 else 1):
                self.report(3520, "[numthreads] is out of range", at)
                raise LoweringProblem
            x, y, z = numbers
            if x * y * z > limit:
                self.report(3520, f"[numthreads]: the product must not exceed {limit}", at)
                raise LoweringProblem
            shader.thread_group = (x, y, z)
        if self.stage == "p":
            shader.early_depth_stencil = "earlydepthstencil" in attributes
        if self.stage == "g":
            count = self.number(attributes, "maxvertexcount", entry, required=True)
            if not 1 <= count <= 1024:
                self.report(3520, "[maxvertexcount] must be between 1 and 1024", at)
                raise LoweringProblem
            shader.max_vertices = count
            if "instance" in attributes:
                shader.instances = self.number(attributes, "instance", entry)
                if not 1 <= shader.instances <= 32:
                    self.report(3520, "[instance] must be between 1 and 32", at)
        if self.stage in "hd":
            shader.domain = self.word(attributes, "domain", entry, _DOMAINS)
        if self.stage == "h":
            shader.partitioning = self.word(attributes, "partitioning", entry, _PARTITIONINGS)
            self.partitioning = str(attributes["partitioning"][0])
            shader.tess_output = self.word(attributes, "outputtopology", entry, _TESS_OUTPUTS)
            shader.output_control_points = self.number(attributes, "outputcontrolpoints", entry, required=True)
            if not 0 <= shader.output_control_points <= 32:
                self.report(3520, "[outputcontrolpoints] must be between 0 and 32", at)
            factor = attributes.get("maxtessfactor")
            if factor and isinstance(factor[0], int | float):
                shader.max_tess_factor = float(factor[0])
                if not 1.0 <= shader.max_tess_factor <= 64.0:
                    self.report(3520, "[maxtessfactor] must be between 1 and 64", at)

    def number(self, attributes: dict[str, list[int | str | float]], name: str, entry: tree.Function, *,
               required: bool = False) -> int:  # fmt: skip
        values = attributes.get(name)
        if values is None and not required:
            return 0
        if not values or not isinstance(values[0], int):
            self.report(3519, f"'{entry.name}': the entry point needs [{name}(n)]", entry.position)
            raise LoweringProblem
        return values[0]

    def word(self, attributes: dict[str, list[int | str | float]], name: str, entry: tree.Function, table: dict[str, Any]) -> Any:
        values = attributes.get(name)
        if not values or str(values[0]) not in table:
            listed = ", ".join(f'"{key}"' for key in table)
            self.report(3519, f"'{entry.name}': the entry point needs [{name}(…)] with one of {listed}", entry.position)
            raise LoweringProblem
        return table[str(values[0])]

    # -- inputs and outputs --------------------------------------------------------------------------------------

    def elements_of(self, variable: tree.Variable, what: str = "") -> list[Element]:
        return collect(variable.type, variable.semantic, variable.modifiers, variable.position,
                       what or f"'{variable.name}'", self.report)  # fmt: skip

    def finish_signature(self, elements: list[Element], *, output: bool, patch: bool = False) -> None:
        before = self.sink.errors
        assign_system_values(elements, self.stage, output=output, profile=self.profile, report=self.report,
                             patch_constant=patch, domain=self.shader.domain)  # fmt: skip
        pack(elements, self.stage, output=output, profile=self.profile, report=self.report)
        if self.sink.errors > before:
            raise LoweringProblem

    def input_values(self, type_: Type, elements: list[Element], file: str, phase: Phase) -> Vec:
        """The lanes of an input parameter, straight from the registers."""
        lanes: list[Value] = [ZERO] * lane_count(type_)
        for element in elements:
            special = element.register_type
            register_file = special.name if special is not None else file
            number = 0 if special is not None else element.register
            same_for_group = special is RegisterType.INPUT_THREAD_GROUP_ID
            register = fixed(self.b.fixed, register_file, None, number, varying=not same_for_group)
            if special is not None:
                phase.special_inputs[special] = phase.special_inputs.get(special, 0)
            values: Vec = tuple(register.lanes[element.start + i] for i in range(element.count))
            if element.type.kind == "b" and element.upper != "SV_ISFRONTFACE":
                values = self.b.op("ine", values, (ZERO,))
            for lane, value in zip(element.lanes, values, strict=True):
                lanes[lane] = value
        return tuple(lanes)

    def write_outputs(self, elements: list[Element], lanes: Vec, what: str, position: Position) -> None:
        """Store lanes of an output parameter or result into output registers."""
        for element in elements:
            values = tuple(lanes[lane] for lane in element.lanes)
            if UNDEFINED in values:
                self.sink.error(4000, f"{what}: output '{element.name}{element.index or ''}' is used without having been "
                                "completely initialized", position)  # fmt: skip
                raise LoweringProblem
            values = change_base(self.b, values, "b", "u") if element.type.kind == "b" else values
            file = element.register_type.name if element.register_type is not None else "OUTPUT"
            number = element.register if element.register_type is None else 0
            self.b.effect("output", [values], (file, number, tuple(range(element.start, element.start + element.count)), element))

    def uniform_parameter(self, parameter: tree.Variable) -> bool:
        """Parameters of the entry point that are no inputs: resources, and ``uniform`` ones in ``$Params``."""
        inner = parameter.type
        while isinstance(inner, Array):
            inner = inner.element
        if isinstance(inner, Object) and inner.kind.register:
            parameter.storage = "uniform"
            return True
        if "uniform" in parameter.modifiers:
            if parameter.buffer is None:
                start = layout.place(parameter.type, self.params.size, "cbuffer")
                parameter.storage, parameter.buffer, parameter.offset = "uniform", self.params, start
                self.params.size = start + layout.size(parameter.type, "cbuffer")
                self.params.variables.append(parameter)
            return True
        return False

    # -- bodies --------------------------------------------------------------------------------------------------

    def at(self, entry: tree.Function) -> Token:
        assert entry.body is not None
        return entry.body.token

    def bind(self, parameter: tree.Variable, lanes: Vec) -> None:
        if parameter.scalarised:
            self.env[parameter] = lanes
        else:
            assert self.entry_token is not None
            self.store(self.of_memory(parameter), lanes, self.entry_token)

    def body(self, entry: tree.Function) -> Vec:
        """The statements of an entry point, its parameters bound already; its result."""
        assert entry.body is not None
        scope = self.enter(entry)
        self.b.precise = self.b.precise or entry.precise
        self.statements(entry.body.statements)
        result = self.leave(entry, scope, entry.body.token)
        self.dead = ""
        if self.sink.errors:
            raise LoweringProblem
        return result

    def patch_elements(self, parameter: tree.Variable, element: Type) -> list[Element]:
        return collect(element, parameter.semantic, parameter.modifiers, parameter.position, f"'{parameter.name}'", self.report)

    def load_vertex(self, place: Place, lanes: tuple[int, ...], token: Token) -> Vec:
        """From an input that is an array over vertices or control points."""
        array = place.base
        assert isinstance(array, VertexArray)
        out: list[Value] = []
        if not place.address:  # the whole array
            step = lane_count(place.type) // array.count
            for lane in lanes:
                out += self.vertex_lane(array, lane // step, lane % step)
            return tuple(out)
        index = place.address[0]
        bits = getattr(index, "bits", None)
        if bits is not None:
            if bits >= array.count:
                self.fail(3504, f"array index out of bounds: {bits} of {array.count}", token)
            for lane in lanes:
                out += self.vertex_lane(array, bits, lane)
            return tuple(out)
        got: dict[tuple[int, int], Value] = {}
        homes = [array.register_of(lane) for lane in lanes]
        for number in dict.fromkeys(element.register for element, _ in homes):
            wanted = tuple(sorted({c for element, c in homes if element.register == number}))
            loaded = self.b.vector("vertex_load", [(index,)], wanted, (array.file, number), key=(array.file, number), varying=True)
            got.update({(number, c): lane for c, lane in zip(wanted, loaded, strict=True)})
        for element, component in homes:
            value = got[element.register, component]
            out.append(self.b.one("ine", value, ZERO) if element.type.kind == "b" else value)
        return tuple(out)

    def vertex_lane(self, array: VertexArray, vertex: int, lane: int) -> Vec:
        element, component = array.register_of(lane)
        register = fixed(self.b.fixed, array.file, None, element.register, vertex)
        value: Vec = (register.lanes[component],)
        return self.b.op("ine", value, (ZERO,)) if element.type.kind == "b" else value


def variable_token(variable: tree.Variable, fallback: Token | None) -> Token:
    at = variable.position
    return fallback or Token("id", variable.name, at.file, at.line, at.column)
