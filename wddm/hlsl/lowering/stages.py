"""Lowering of entry points: inputs, outputs, attributes and the shapes of the six stages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wddm.dxbc.opcodes import Primitive, RegisterType, TessDomain, TessOutput, TessPartitioning, Topology
from wddm.hlsl import layout, tree
from wddm.hlsl.diagnostics import Position, Sink
from wddm.hlsl.ir.nodes import ZERO, Region, Value, Vec, fixed
from wddm.hlsl.lexer import Token
from wddm.hlsl.signature import Element, assign_system_values, collect, pack
from wddm.hlsl.types import VOID, Array, Object, Struct, Type, lane_count

from .convert import change_base, convert
from .effects import assigned_in
from .places import Place
from .resources import ResourceLowering
from .state import UNDEFINED, LoweringProblem

__all__ = ["Phase", "Shader", "StageLowering"]

_PRIMITIVES = {
    "point": (Primitive.POINT, 1), "line": (Primitive.LINE, 2), "triangle": (Primitive.TRIANGLE, 3),
    "lineadj": (Primitive.LINE_ADJ, 4), "triangleadj": (Primitive.TRIANGLE_ADJ, 6),
}  # fmt: skip
_TOPOLOGIES = {"PointStream": Topology.POINTLIST, "LineStream": Topology.LINESTRIP, "TriangleStream": Topology.TRIANGLESTRIP}
_DOMAINS = {"isoline": TessDomain.ISOLINE, "tri": TessDomain.TRI, "quad": TessDomain.QUAD}
_PARTITIONINGS = {
    "integer": TessPartitioning.INTEGER, "pow2": TessPartitioning.POW2,
    "fractional_odd": TessPartitioning.FRACTIONAL_ODD, "fractional_even": TessPartitioning.FRACTIONAL_EVEN,
}  # fmt: skip
_TESS_OUTPUTS = {
    "point": TessOutput.POINT, "line": TessOutput.LINE, "triangle_cw": TessOutput.TRIANGLE_CW,
    "triangle_ccw": TessOutput.TRIANGLE_CCW,
}  # fmt: skip
_FACTORS = {TessDomain.ISOLINE: (2, 0), TessDomain.TRI: (3, 1), TessDomain.QUAD: (4, 2)}


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


class StageLowering(ResourceLowering):
    def __init__(self, sink: Sink, stage: str, model: int, profile: str, unit: tree.Unit) -> None:
        super().__init__(sink, stage, model)
        self.profile = profile
        self.unit = unit
        self.shader = Shader(stage)
        self.params = tree.ConstantBuffer("$Params", "cbuffer", Position("", 1, 1))
        self._assigned: set[tree.Variable] | None = None

    def report(self, code: int, message: str, at: Position) -> None:
        self.sink.error(code, message, at)

    def assigned_later(self, variable: tree.Variable) -> bool:
        if self._assigned is None:
            bodies = [f.body for listed in self.unit.functions.values() for f in listed if f.body is not None]
            self._assigned = assigned_in(bodies)
        return variable in self._assigned

    # -- the whole -----------------------------------------------------------------------------------------------

    def run(self, entry: tree.Function) -> Shader:
        """Lower an entry point.  Raises LoweringProblem when errors were recorded."""
        self.entry_token = entry.body.token if entry.body is not None else None
        self.read_attributes(entry)
        if self.stage == "h":
            self.hull(entry)
        else:
            phase = Phase("main", self.b.region)
            self.shader.phases.append(phase)
            self.start()
            if self.stage == "g":
                self.geometry(entry)
            else:
                self.simple(entry, phase)
        return self.shader

    def start(self) -> None:
        """Initial values of the statics."""
        for variable in self.unit.globals:
            if variable.storage == "static" and variable.constant is None and lane_count(variable.type):
                if variable.initializer is not None:
                    value = self.value(variable.initializer)
                else:
                    value = (ZERO,) * lane_count(variable.type)
                if variable.scalarised:
                    self.env[variable] = value
                else:
                    self.store(self.of_memory(variable), value, variable_token(variable, self.entry_token))

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

    # -- vertex, pixel, domain, compute --------------------------------------------------------------------------

    def simple(self, entry: tree.Function, phase: Phase) -> None:
        shader = self.shader
        ins: list[tuple[tree.Variable, list[Element], str]] = []
        outs: list[tuple[tree.Variable | None, list[Element]]] = []
        patches: list[tree.Variable] = []
        for parameter in entry.parameters:
            if self.uniform_parameter(parameter):
                continue
            if isinstance(parameter.type, Object):
                if self.stage == "d" and parameter.type.kind.name == "OutputPatch":
                    patches.append(parameter)
                    continue
                self.report(3034, f"'{parameter.name}': '{parameter.type}' cannot be a parameter here", parameter.position)
                raise LoweringProblem
            if parameter.is_in or "inout" in parameter.modifiers:
                elements = self.elements_of(parameter)
                file = "INPUT"
                if self.stage == "d" and not all(e.upper == "SV_DOMAINLOCATION" or e.upper == "SV_PRIMITIVEID" for e in elements):
                    file = "INPUT_PATCH_CONSTANT"
                    shader.patch_constants += elements
                else:
                    shader.inputs += elements
                ins.append((parameter, elements, file))
            if parameter.is_out:
                elements = self.elements_of(parameter)
                outs.append((parameter, elements))
                shader.outputs += elements
        if entry.returns is not VOID:
            code_at = entry.position
            if not isinstance(entry.returns, Struct) and not entry.semantic:
                self.report(3503, f"'{entry.name}': function return value missing semantics", code_at)
                raise LoweringProblem
            elements = collect(entry.returns, entry.semantic, entry.modifiers, code_at, f"'{entry.name}'", self.report)
            outs.append((None, elements))
            shader.outputs += elements
        if self.sink.errors:
            raise LoweringProblem
        if self.stage == "d":
            self.domain_patches(patches)
            self.finish_signature(shader.patch_constants, output=False, patch=True)
        if self.stage == "c" and shader.outputs:
            self.report(3530, f"'{entry.name}': a compute shader has no outputs", entry.position)
            raise LoweringProblem
        if self.stage != "d":
            self.finish_signature(shader.inputs, output=False)
        else:
            specials = [e for e in shader.inputs if e.upper in ("SV_DOMAINLOCATION", "SV_PRIMITIVEID")]
            assign_system_values(specials, "d", output=False, profile=self.profile, report=self.report)
        self.finish_signature(shader.outputs, output=True)
        for parameter, elements, file in ins:
            self.bind(parameter, self.input_values(parameter.type, elements, file, phase))
        for parameter in entry.parameters:
            if parameter.is_out and parameter.is_in is False and parameter.storage != "uniform":
                self.bind(parameter, (UNDEFINED,) * lane_count(parameter.type))
        result = self.body(entry)
        for variable, elements in outs:
            lanes = result if variable is None else self.quiet_load(self.of_variable(variable, self.at(entry)), self.at(entry))
            name = entry.name if variable is None else variable.name
            self.write_outputs(elements, lanes, f"'{name}'", entry.position)

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

    def domain_patches(self, patches: list[tree.Variable]) -> None:
        for parameter in patches:
            type_ = parameter.type
            assert isinstance(type_, Object)
            assert type_.element is not None
            elements = self.patch_elements(parameter, type_.element)
            self.shader.inputs += elements
            self.finish_signature(elements, output=False)
            self.shader.input_vertices = type_.count
            array = VertexArray("INPUT_CONTROL_POINT", elements, type_.count)
            self.env[parameter] = Place("vertex", array, Array.of(type_.element, type_.count))

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

    # -- geometry ------------------------------------------------------------------------------------------------

    def geometry(self, entry: tree.Function) -> None:
        shader, phase = self.shader, self.shader.phases[0]
        streams: list[tree.Variable] = []
        plain: list[tuple[tree.Variable, list[Element]]] = []
        found = False
        if entry.returns is not VOID:
            self.report(3089, f"'{entry.name}': a geometry shader returns nothing", entry.position)
            raise LoweringProblem
        for parameter in entry.parameters:
            if self.uniform_parameter(parameter):
                continue
            type_ = parameter.type
            word = next((w for w in _PRIMITIVES if w in parameter.modifiers), "")
            if isinstance(type_, Object) and type_.kind.family == "stream":
                streams.append(parameter)
            elif isinstance(type_, Object) and type_.kind.name == "InputPatch":
                assert type_.element is not None
                shader.primitive = Primitive(type_.count + 7)
                self.vertices(parameter, type_.element, type_.count)
                found = True
            elif word and isinstance(type_, Array):
                shader.primitive, count = _PRIMITIVES[word]
                if type_.size != count:
                    self.report(3090, f"'{parameter.name}': a {word} has {count} vertices, not {type_.size}", parameter.position)
                    raise LoweringProblem
                self.vertices(parameter, type_.element, count)
                found = True
            elif not isinstance(type_, Object):
                elements = self.elements_of(parameter)
                plain.append((parameter, elements))
                shader.inputs += elements
        if not found:
            self.report(3098, f"'{entry.name}': a geometry shader needs an input such as 'triangle T input[3]'", entry.position)
            raise LoweringProblem
        if not streams or len(streams) > (4 if self.model >= 50 else 1):
            self.report(3098, f"'{entry.name}': a geometry shader needs one output stream (up to four in 5.0)", entry.position)
            raise LoweringProblem
        extra = [e for _, elements in plain for e in elements]
        assign_system_values(extra, "g", output=False, profile=self.profile, report=self.report)
        for element in extra:
            if element.register_type is None and self.sink.errors == 0:
                self.report(4502, f"invalid {self.profile} input semantic '{element.name}'", element.position)
        for number, parameter in enumerate(streams):
            type_ = parameter.type
            assert isinstance(type_, Object)
            assert type_.element is not None
            topology = _TOPOLOGIES[type_.kind.name]
            if len(streams) > 1 and topology is not Topology.POINTLIST:
                self.report(3660, "several streams must all be point streams", parameter.position)
            elements = self.patch_elements(parameter, type_.element)
            for element in elements:
                element.stream = number
            shader.streams.append(topology)
            shader.topology = topology
            shader.outputs += elements
            self.env[parameter] = Place("stream", (number, elements), type_.element)
        if self.sink.errors:
            raise LoweringProblem
        self.finish_signature(shader.outputs, output=True)
        components = max(sum(e.count for e in shader.outputs if e.stream == s) for s in range(len(streams)))
        if components * shader.max_vertices > 1024:
            self.report(3661, f"the geometry shader writes {components} components for {shader.max_vertices} vertices: "
                        "more than 1024", entry.position)  # fmt: skip
            raise LoweringProblem
        for parameter, elements in plain:
            self.bind(parameter, self.input_values(parameter.type, elements, "INPUT", phase))
        self.body(entry)

    def vertices(self, parameter: tree.Variable, element: Type, count: int) -> None:
        elements = self.patch_elements(parameter, element)
        self.finish_signature(elements, output=False)
        self.shader.inputs += elements
        self.shader.input_vertices = count
        self.env[parameter] = Place("vertex", VertexArray("INPUT", elements, count), Array.of(element, count))

    def stream_method(self, node: tree.CallMethod, type_: Object) -> Vec:
        held = self.env.get(node.object.variable) if isinstance(node.object, tree.Reference) else None
        if not isinstance(held, Place) or held.storage != "stream":
            self.fail(3000, "this stream is not known here", node.token)
        number, elements = held.base
        if node.name == "RestartStrip":
            self.b.effect("cut", [], number)
            return ()
        lanes = convert(self.b, self.value(node.arguments[0]), node.arguments[0].type, held.type)
        self.write_outputs(elements, lanes, "Append", node.token.position)
        self.b.effect("emit", [], number)
        return ()

    # -- hull ----------------------------------------------------------------------------------------------------

    def hull(self, entry: tree.Function) -> None:
        shader = self.shader
        name = entry.attributes.get("patchconstantfunc")
        candidates = self.unit.functions.get(str(name[0]), []) if name else []
        patch_function = next((f for f in candidates if f.body is not None), None)
        if patch_function is None:
            self.report(3519, f"'{entry.name}': [patchconstantfunc(\"…\")] must name a function", entry.position)
            raise LoweringProblem
        phase = Phase("control_point", self.b.region)
        shader.phases.append(phase)
        self.start()
        self.hull_parameters(entry, phase, fork=False)
        if entry.returns is VOID or (not isinstance(entry.returns, Struct) and not entry.semantic):
            self.report(3503, f"'{entry.name}': function return value missing semantics", entry.position)
            raise LoweringProblem
        shader.outputs = collect(entry.returns, entry.semantic, entry.modifiers, entry.position, f"'{entry.name}'", self.report)
        self.finish_signature(shader.outputs, output=True)
        self.write_outputs(shader.outputs, self.body(entry), f"'{entry.name}'", entry.position)
        region: Region = []
        phase = Phase("fork", region)
        shader.phases.append(phase)
        self.b.known = [{}]
        self.b.region = region
        self.env = {}
        self.start()
        outs = self.hull_parameters(patch_function, phase, fork=True)
        if patch_function.returns is not VOID:
            elements = collect(patch_function.returns, patch_function.semantic, patch_function.modifiers,
                               patch_function.position, f"'{patch_function.name}'", self.report)  # fmt: skip
            outs.append((None, elements))
        shader.patch_constants = [e for _, elements in outs for e in elements]
        self.finish_signature(shader.patch_constants, output=True, patch=True)
        edges = sum(e.upper == "SV_TESSFACTOR" for e in shader.patch_constants)
        insides = sum(e.upper == "SV_INSIDETESSFACTOR" for e in shader.patch_constants)
        if (edges, insides) != _FACTORS[shader.domain]:
            want = _FACTORS[shader.domain]
            self.report(3514, f"'{patch_function.name}': this domain needs SV_TessFactor[{want[0]}] and "
                        f"SV_InsideTessFactor[{want[1]}], there are {edges} and {insides}", patch_function.position)  # fmt: skip
            raise LoweringProblem
        result = self.body(patch_function)
        at = self.at(patch_function)
        for variable, elements in outs:
            lanes = result if variable is None else self.quiet_load(self.of_variable(variable, at), at)
            self.write_outputs(elements, lanes, f"'{patch_function.name}'", patch_function.position)

    def hull_parameters(
        self, function: tree.Function, phase: Phase, *, fork: bool
    ) -> list[tuple[tree.Variable | None, list[Element]]]:
        shader = self.shader
        outs: list[tuple[tree.Variable | None, list[Element]]] = []
        for parameter in function.parameters:
            if self.uniform_parameter(parameter):
                continue
            type_ = parameter.type
            if isinstance(type_, Object) and type_.kind.family == "patch":
                assert type_.element is not None
                elements = self.patch_elements(parameter, type_.element)
                output = type_.kind.name == "OutputPatch"
                if output and not fork:
                    self.report(3034, f"'{parameter.name}': OutputPatch is for the patch constant function", parameter.position)
                    raise LoweringProblem
                self.finish_signature(elements, output=output)
                if not output:
                    shader.input_vertices = type_.count
                    if not shader.inputs:
                        shader.inputs = elements
                file = "OUTPUT_CONTROL_POINT" if output else "INPUT_CONTROL_POINT" if fork else "INPUT"
                array = VertexArray(file, elements, type_.count)
                self.env[parameter] = Place("vertex", array, Array.of(type_.element, type_.count))
                continue
            if parameter.is_out:
                outs.append((parameter, self.elements_of(parameter)))
                self.bind(parameter, (UNDEFINED,) * lane_count(type_))
                continue
            elements = self.elements_of(parameter)
            assign_system_values(elements, "h", output=False, profile=self.profile, report=self.report)
            for element in elements:
                if element.register_type is None:
                    self.report(4502, f"invalid {self.profile} input semantic '{element.name}'", element.position)
            if self.sink.errors:
                raise LoweringProblem
            self.bind(parameter, self.input_values(type_, elements, "INPUT", phase))
        return outs


def variable_token(variable: tree.Variable, fallback: Token | None) -> Token:
    at = variable.position
    return fallback or Token("id", variable.name, at.file, at.line, at.column)
