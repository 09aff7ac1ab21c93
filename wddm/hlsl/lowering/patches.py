"""Lowering of geometry and hull shaders: entry points whose inputs are arrays over vertices."""

from __future__ import annotations

from wddm.dxbc.opcodes import Primitive, TessDomain, Topology
from wddm.hlsl import tree
from wddm.hlsl.ir.nodes import Region, Vec
from wddm.hlsl.signature import Element, assign_system_values, collect
from wddm.hlsl.types import VOID, Array, Object, Struct, Type, lane_count

from .convert import convert
from .interface import InterfaceLowering, Phase, VertexArray
from .places import Place
from .state import UNDEFINED, LoweringProblem

__all__ = ["PatchLowering"]

_PRIMITIVES = {
    "point": (Primitive.POINT, 1), "line": (Primitive.LINE, 2), "triangle": (Primitive.TRIANGLE, 3),
    "lineadj": (Primitive.LINE_ADJ, 4), "triangleadj": (Primitive.TRIANGLE_ADJ, 6),
}  # fmt: skip
_TOPOLOGIES = {"PointStream": Topology.POINTLIST, "LineStream": Topology.LINESTRIP, "TriangleStream": Topology.TRIANGLESTRIP}
_FACTORS = {TessDomain.ISOLINE: (2, 0), TessDomain.TRI: (3, 1), TessDomain.QUAD: (4, 2)}


class PatchLowering(InterfaceLowering):
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
