"""Lowering of entry points: which way each of the six stages goes, and the plain ones in full."""

from __future__ import annotations

from wddm.hlsl import tree
from wddm.hlsl.ir.nodes import ZERO
from wddm.hlsl.signature import Element, assign_system_values, collect
from wddm.hlsl.types import VOID, Array, Object, Struct, lane_count

from .interface import Phase, Shader, VertexArray, variable_token
from .patches import PatchLowering
from .places import Place
from .state import UNDEFINED, LoweringProblem

__all__ = ["Phase", "Shader", "StageLowering"]


class StageLowering(PatchLowering):
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
