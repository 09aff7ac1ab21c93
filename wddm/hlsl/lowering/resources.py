"""Lowering of everything that touches resources: samples, loads, stores, atomics, queries, streams."""

from __future__ import annotations

from dataclasses import dataclass

from wddm.hlsl import layout, tree
from wddm.hlsl.ir.nodes import ZERO, Imm, Value, Vec, imm
from wddm.hlsl.lexer import Token
from wddm.hlsl.methods import signatures
from wddm.hlsl.types import FLOAT, OBJECTS, UINT, Numeric, Object, lane_count, vector

from .convert import convert
from .intrinsics import IntrinsicLowering
from .places import Place
from .state import Binding, Resource

__all__ = ["ResourceLowering", "TextureAccess"]

_CHANNELS = {"Red": 0, "Green": 1, "Blue": 2, "Alpha": 3}


@dataclass(frozen=True, slots=True)
class TextureAccess:
    """What an access needs besides its values: registers, immediate offsets, the gathered component."""

    texture: Resource
    sampler: Resource | None = None
    offset: tuple[int, int, int] | None = None
    channel: int = 0


class ResourceLowering(IntrinsicLowering):
    # -- texture buffers -----------------------------------------------------------------------------------------

    def load_texture_buffer(self, place: Place, dwords: list[int]) -> Vec:
        """A tbuffer is a typed buffer of float4 under the names of its members."""
        buffer = place.base
        key = (id(buffer), "t")
        binding = self.module.bindings.get(key)
        if binding is None:
            stand_in = tree.Variable(buffer.name, Object(OBJECTS["Buffer"], vector("float", 4)), "uniform", buffer.position)
            if buffer.slot is not None:
                stand_in.registers["t"] = buffer.slot
            binding = Binding(buffer.name, Object(OBJECTS["Buffer"], vector("float", 4)), "t", 1, stand_in, dimension="tbuffer")
            self.module.bindings[key] = binding
        access = TextureAccess(Resource(binding))
        self.use(access.texture)
        got: dict[int, Value] = {}
        for register in dict.fromkeys(d >> 2 for d in dwords):
            wanted = tuple(sorted({d & 3 for d in dwords if d >> 2 == register}))
            index: Value = imm(register)
            if place.dynamic is not None:
                index = self.b.one("iadd", place.dynamic, index)
            lanes = self.b.vector("ld", [(index,)], wanted, access)
            got.update({register * 4 + c: lane for c, lane in zip(wanted, lanes, strict=True)})
        return tuple(got[d] for d in dwords)

    # -- operator[] ----------------------------------------------------------------------------------------------

    def resource_element(self, node: tree.Element) -> Place:
        type_ = node.object.type
        assert isinstance(type_, Object)
        kind = type_.kind
        if kind.family == "patch":
            held = self.held(node.object)
            return self.element(held, self.scalar(node.index), node.token)
        resource = self.resource(node.object)
        self.use(resource)
        assert type_.element is not None
        index = self.value(node.index)
        if kind.family == "structured":
            return Place("structured", resource, type_.element, address=index[:1])
        level = self.value(node.level) if node.level is not None else ()
        return Place("typed", (resource, level), type_.element, address=index)

    def held(self, node: tree.Expression) -> Place:  # noqa: RET503 - the last call does not return
        """The place that a patch parameter is bound to."""
        if isinstance(node, tree.Reference):
            found = self.env.get(node.variable)
            if isinstance(found, Place):
                return found
        self.fail(3000, "this patch is not known here", node.token)

    def load_typed(self, place: Place, token: Token) -> Vec:
        resource, level = place.base
        type_ = place.type
        assert isinstance(type_, Numeric)
        wanted = place.select if place.select is not None else tuple(range(lane_count(type_)))
        return self.fetch(resource, place.address, level, wanted, None, token)

    def fetch(
        self, resource: Resource, address: Vec, level: Vec, wanted: tuple[int, ...],
        offset: tuple[int, int, int] | None, token: Token,
    ) -> Vec:
        """Components ``wanted`` of a texel."""
        kind = resource.binding.type.kind
        self.use(resource)
        access = TextureAccess(resource, offset=offset)
        if kind.writable:
            if self.model < 50:
                self.fail(4532, "typed UAV loads need shader model 5.0", token)
            element = resource.binding.type.element
            if not isinstance(element, Numeric) or lane_count(element) != 1:
                self.fail(3676, "typed UAV loads are only allowed for single-component 32-bit element types", token)
            return self.read("ld_uav_typed", [address], wanted, access, key=(access, self.b.epoch), varying=True)
        if kind.multisampled:
            return self.read("ld_ms", [address, level or (ZERO,)], wanted, access)
        if kind.family == "texture":
            address = (*address, *(address[-1:] * (3 - len(address))), *(level or (ZERO,)))
        return self.read("ld", [address], wanted, access)

    def store_typed(self, place: Place, values: Vec, token: Token) -> None:
        resource, _ = place.base
        type_ = place.type
        assert isinstance(type_, Numeric)
        if place.select is not None and set(place.select) != set(range(lane_count(type_))):
            self.fail(3676, "typed UAV stores must write all declared components", token)
        if place.select is not None:
            ordered: list[Value] = [ZERO] * lane_count(type_)
            for component, value in zip(place.select, values, strict=True):
                ordered[component] = value
            values = tuple(ordered)
        self.use(resource)
        self.need_uav(token)
        values = values + (values[-1],) * (4 - len(values)) if len(values) > 1 else values * 4
        self.b.effect("store_uav_typed", [place.address, values], resource)
        self.b.touch_memory()

    def need_uav(self, token: Token) -> None:
        if self.stage not in "pc":
            self.need_stage("pc", "writing to a UAV", token)

    # -- methods -------------------------------------------------------------------------------------------------

    def method(self, node: tree.CallMethod) -> Vec:
        self.step(node.token)
        type_ = node.object.type
        assert isinstance(type_, Object)
        family, name = type_.kind.family, node.name
        signature = node.signature
        self.need_model(signature.model, name, node.token)
        if signature.clamp >= 0 or signature.status >= 0:
            clamp = self.value(node.arguments[signature.clamp])[:1] if signature.clamp >= 0 else None
            self.feedback = (clamp, node.arguments[signature.status] if signature.status >= 0 else None)
            plain = node.arguments[: min(n for n in (signature.clamp, signature.status) if n >= 0)]
            node = tree.CallMethod(node.token, node.type, node.object, name, plain, signature)
        if family == "stream":
            return self.stream_method(node, type_)
        resource = self.resource(node.object)
        self.use(resource)
        if name == "GetDimensions":
            return self.dimensions(node, resource)
        if family == "raw":
            return self.raw_method(node, resource)
        if family == "structured":
            return self.structured_method(node, resource)
        if name == "Load":
            return self.load_method(node, resource)
        return self.sample_method(node, resource)

    def stream_method(self, node: tree.CallMethod, type_: Object) -> Vec:
        raise NotImplementedError

    def literal_offset(self, node: tree.Expression) -> tuple[int, int, int]:
        """Immediate texel offsets: literals from −8 to 7."""
        lanes = self.value(node)
        out: list[int] = []
        for lane in lanes:
            if not isinstance(lane, Imm):
                self.need_literal(3518, "texture access must have literal offset and multisample index", node.token)
            number = lane.bits - (lane.bits >> 31 << 32)
            if not -8 <= number <= 7:
                self.fail(3518, "texture access offset must be between -8 and 7", node.token)
            out.append(number)
        x, y, z = (*out, 0, 0, 0)[:3]
        return (x, y, z)

    def load_method(self, node: tree.CallMethod, resource: Resource) -> Vec:
        type_ = resource.binding.type
        assert isinstance(type_.element, Numeric)
        wanted = tuple(range(lane_count(type_.element)))
        address = self.value(node.arguments[0])
        kind = type_.kind
        count = kind.coordinates + kind.array
        if kind.multisampled:
            offset = self.literal_offset(node.arguments[2]) if len(node.arguments) > 2 else None
            return self.fetch(resource, address, self.value(node.arguments[1]), wanted, offset, node.token)
        if kind.family == "buffer" or kind.writable:
            return self.fetch(resource, address[:count], (), wanted, None, node.token)
        offset = self.literal_offset(node.arguments[1]) if len(node.arguments) > 1 else None
        return self.fetch(resource, address[:count], address[count : count + 1], wanted, offset, node.token)

    def sample_method(self, node: tree.CallMethod, resource: Resource) -> Vec:
        name, arguments = node.name, node.arguments
        kind = resource.binding.type.kind
        if name == "GetSamplePosition":
            access = TextureAccess(resource)
            return self.b.vector("samplepos", [self.value(arguments[0])], (0, 1), access)
        sampler = self.resource(arguments[0])
        self.use(sampler)
        compare = "Cmp" in name
        if compare:
            sampler.binding.comparison = True
        count = kind.coordinates + kind.array
        address = self.value(arguments[1])
        element = resource.binding.type.element
        assert isinstance(element, Numeric)
        if name.startswith("CalculateLevelOfDetail"):
            self.need_stage("p", name, node.token)
            access = TextureAccess(resource, sampler)
            return self.b.vector("lod", [address], (1 if name.endswith("Unclamped") else 0,), access, varying=True)
        if name.startswith("Gather"):
            return self.gather(node, resource, sampler, address)
        op, extra = {
            "Sample": ("sample", 0), "SampleBias": ("sample_b", 1), "SampleLevel": ("sample_l", 1),
            "SampleGrad": ("sample_d", 2), "SampleCmp": ("sample_c", 1), "SampleCmpLevelZero": ("sample_c_lz", 1),
        }[name]  # fmt: skip
        if op in ("sample", "sample_b", "sample_c"):
            self.need_stage("p", name, node.token)
        rest = [self.value(a) for a in arguments[2 : 2 + extra]]
        offset = self.literal_offset(arguments[2 + extra]) if len(arguments) > 2 + extra else None
        if offset == (0, 0, 0):
            offset = None
        access = TextureAccess(resource, sampler, offset)
        wanted = (0,) if compare else tuple(range(lane_count(element)))
        return self.read(op, [address[:count], *rest], wanted, access)

    def gather(self, node: tree.CallMethod, resource: Resource, sampler: Resource, address: Vec) -> Vec:
        name, arguments = node.name, node.arguments
        compare = "Cmp" in name
        channel = _CHANNELS.get(name.removeprefix("GatherCmp").removeprefix("Gather"), 0)
        reference = [self.value(arguments[2])] if compare else []
        offsets = arguments[3 if compare else 2 :]
        suffix = "_c" if compare else ""
        if len(offsets) == 4:  # one offset per texel: four gathers, of which each gives its own texel
            out: list[Value] = []
            for texel, offset in enumerate(offsets):
                access = TextureAccess(resource, sampler, channel=channel)
                lanes = self.b.vector("gather4_po" + suffix, [address, self.value(offset), *reference], (texel,), access)
                out += lanes
            return tuple(out)
        if not offsets:
            access = TextureAccess(resource, sampler, channel=channel)
            return self.read("gather4" + suffix, [address, *reference], (0, 1, 2, 3), access)
        lanes = self.value(offsets[0])
        literal = all(isinstance(v, Imm) and (v.bits <= 7 or v.bits >= 0xFFFFFFF8) for v in lanes)
        if not literal:
            self.need_model(50, "an offset that is no literal", node.token)
        if literal:
            access = TextureAccess(resource, sampler, self.literal_offset(offsets[0]), channel)
            return self.read("gather4" + suffix, [address, *reference], (0, 1, 2, 3), access)
        access = TextureAccess(resource, sampler, channel=channel)
        return self.read("gather4_po" + suffix, [address, lanes, *reference], (0, 1, 2, 3), access)

    def dimensions(self, node: tree.CallMethod, resource: Resource) -> Vec:
        kind = resource.binding.type.kind
        arguments = node.arguments
        signature = next(s for s in signatures(resource.binding.type, "GetDimensions") if len(s.parameters) == len(arguments))
        access = TextureAccess(resource)
        if kind.family in ("buffer", "raw", "structured"):
            values: list[Value] = [self.b.vector("bufinfo", [], (0,), access)[0]]
            if kind.family == "structured":
                element = resource.binding.type.element
                assert element is not None
                values.append(imm(layout.size(element, "tight") * 4))
            outs = arguments
        else:
            with_mip = not signature.parameters[0].out
            mip = self.value(arguments[0]) if with_mip else (ZERO,)
            outs = arguments[1:] if with_mip else arguments
            sizes = len(outs) - with_mip - kind.multisampled
            values = list(self.b.vector("resinfo", [mip[:1]], tuple(range(sizes)), access))
            if kind.multisampled:
                self.need_model(41, "the number of samples", node.token)
                values.append(self.b.vector("sampleinfo", [], (0,), access)[0])
            if with_mip:
                values.append(self.b.vector("resinfo", [mip[:1]], (3,), access)[0])
        for target, value in zip(outs, values, strict=True):
            self.store(self.place(target), convert(self.b, (value,), UINT, target.type), node.token)
        return ()

    def raw_method(self, node: tree.CallMethod, resource: Resource) -> Vec:
        name = node.name
        address = self.value(node.arguments[0])[:1]
        if name.startswith("Load"):
            count = int(name[4:] or "1")
            writable = resource.binding.type.kind.writable
            key = (resource, self.b.epoch if writable else 0)
            return self.read("ld_raw", [address], tuple(range(count)), resource, key=key, varying=writable)
        self.need_uav(node.token)
        if name.startswith("Store"):
            self.b.effect("store_raw", [address, self.value(node.arguments[1])], resource)
            self.b.touch_memory()
            return ()
        signed = node.arguments[1].numeric.kind == "i"
        return self.atomic(node, name[len("Interlocked") :], resource, address, node.arguments[1:], signed)

    def structured_method(self, node: tree.CallMethod, resource: Resource) -> Vec:
        element = resource.binding.type.element
        name = node.name
        assert element is not None
        if name == "Load":
            index = self.value(node.arguments[0])[:1]
            return self.load(Place("structured", resource, element, address=index), node.token)
        self.need_uav(node.token)
        counter = "append" if name in ("Append", "IncrementCounter") else "consume"
        binding = resource.binding
        if binding.counter not in ("", counter):
            self.fail(3669, f"'{binding.name}': a counter cannot be both incremented and decremented", node.token)
        binding.counter = counter
        index = self.b.effect("alloc" if counter == "append" else "consume", [], resource, (0,))
        self.b.touch_memory()
        if name == "Append":
            self.store(Place("structured", resource, element, address=index), self.value(node.arguments[0]), node.token)
            return ()
        if name == "Consume":
            return self.load(Place("structured", resource, element, address=index), node.token)
        return index

    # -- atomics -------------------------------------------------------------------------------------------------

    def interlocked(self, node: tree.CallIntrinsic) -> Vec:
        target = self.place(node.arguments[0])
        operation = node.name[len("Interlocked") :]
        signed = node.arguments[0].numeric.kind == "i"
        if target.storage == "typed":
            resource, address = target.base[0], target.address
        elif target.storage in ("structured", "shared"):
            resource = target.base
            offset: Value = imm(target.offset * 4)
            if target.dynamic is not None:
                offset = self.b.one("iadd", target.dynamic, offset)
            address = (target.address[0], offset)
        else:
            self.fail(3667, "interlocked targets must be groupshared or UAV elements", node.token)
        if target.choice is not None or (target.select is not None and target.storage == "typed"):
            self.fail(3667, "interlocked targets must be scalars that lie at a known component", node.token)
        if target.select is not None and target.storage != "typed":
            extra = layout.offsets(target.type, "tight")[target.select[0]] * 4
            address = (address[0], self.b.one("iadd", address[1], imm(extra)))
        if isinstance(resource, Resource):
            self.need_uav(node.token)
            if resource.binding.letter != "u":
                self.fail(3667, "interlocked targets must be writable", node.token)
            self.use(resource)
        return self.atomic(node, operation, resource, address, node.arguments[1:], signed)

    def atomic(
        self, node: tree.CallIntrinsic | tree.CallMethod, operation: str, resource: object, address: Vec,
        arguments: list[tree.Expression], signed: bool,
    ) -> Vec:
        values = 2 if operation.startswith("Compare") else 1
        srcs = [self.value(a)[:1] for a in arguments[:values]]
        originals = arguments[values:]
        stem = {"Add": "iadd", "And": "and", "Or": "or", "Xor": "xor", "Exchange": "exch", "CompareExchange": "cmp_exch",
                "CompareStore": "cmp_store", "Min": "imin" if signed else "umin", "Max": "imax" if signed else "umax"}[operation]
        if originals:
            result = self.b.effect("atomic", [address, *srcs], ("imm_atomic_" + stem, resource), (0,))
            target = originals[0]
            type_ = arguments[0].type
            self.store(self.place(target), convert(self.b, result, type_, target.type), node.token)
        else:
            self.b.effect("atomic", [address, *srcs], ("atomic_" + stem, resource))
        self.b.touch_memory()
        return ()

    # -- Direct3D 9 style ----------------------------------------------------------------------------------------

    def legacy_sample(self, node: tree.CallIntrinsic) -> Vec:
        """``tex2D(s, uv)``: the sampler variable stands for a texture and a sampler of the same name."""
        name = node.name
        root = next(r for r in ("texCUBE", "tex1D", "tex2D", "tex3D") if name.startswith(r))
        kind = name[len(root) :]
        dimension = {"tex1D": "Texture1D", "tex2D": "Texture2D", "tex3D": "Texture3D", "texCUBE": "TextureCube"}[root]
        sampler = self.resource(node.arguments[0])
        self.use(sampler)
        texture_binding = self.binding(sampler.binding.variable, "t")
        if texture_binding.type.kind.family == "sampler":
            texture_binding.type = Object(OBJECTS[dimension], vector("float", 4))
        elif texture_binding.type.kind.name != dimension:
            self.fail(3017, f"'{sampler.binding.name}' is used as two kinds of texture", node.token)
        texture = Resource(texture_binding, sampler.index)
        self.use(texture)
        values = [self.value(a) for a in node.arguments[1:]]
        count = OBJECTS[dimension].coordinates
        address = values[0][:count]
        access = TextureAccess(texture, sampler)
        everything = (0, 1, 2, 3)
        if kind == "proj":
            address = self.b.op("div", address, values[0][3:4])
        if kind in ("lod", "grad"):
            rest = [values[0][3:4]] if kind == "lod" else values[1:3]
            return self.b.vector("sample_l" if kind == "lod" else "sample_d", [address, *rest], everything, access)
        self.need_stage("p", name, node.token)
        if kind == "bias":
            return self.b.vector("sample_b", [address, values[0][3:4]], everything, access)
        return self.b.vector("sample", [address], everything, access)

    # -- tessellation helpers ------------------------------------------------------------------------------------

    def process_tessellation(self, node: tree.CallIntrinsic) -> Vec:
        """Edge factors clamped and rounded up; inside factors from the edges, scaled, clamped and rounded up.

        Rounding follows integer partitioning; fractional partitionings keep the fraction.
        """
        self.need_stage("h", node.name, node.token)
        b, name = self.b, node.name
        integral = self.partitioning in ("integer", "pow2")
        one, most = self.c(1.0), self.c(64.0)

        def finish(x: Vec) -> Vec:
            limited = b.op("min", b.op("max", x, one), most)
            return b.op("round_pi", limited) if integral else limited

        if name == "ProcessIsolineTessFactors":
            detail, density = (self.value(a) for a in node.arguments[:2])
            for index, lanes in ((2, finish(detail)), (3, finish(density))):
                self.set_out(node, index, lanes, FLOAT)
            return ()
        edges, scale = (self.value(a) for a in node.arguments[:2])
        outs = node.arguments[2:]
        self.set_out(node, 2, finish(edges), outs[0].numeric)

        def reduce(lanes: list[Value]) -> Value:
            if name.endswith("Avg"):
                total = lanes[0]
                for lane in lanes[1:]:
                    total = b.one("add", total, lane)
                return b.one("mul", total, self.c(1.0 / len(lanes))[0])
            result = lanes[0]
            for lane in lanes[1:]:
                result = b.one("max" if name.endswith("Max") else "min", result, lane)
            return result

        if "2D" in name:
            plain: Vec = (reduce([edges[1], edges[3]]), reduce([edges[0], edges[2]]))
        elif "Tri" in name:
            plain = (reduce(list(edges)),)
        else:
            plain = (reduce(list(edges)),) * 2
        scaled = b.op("mul", plain, b.op("sat", scale))
        self.set_out(node, 4, scaled if "Tri" in name or len(scaled) == 2 else scaled * 2, outs[2].numeric)
        self.set_out(node, 3, finish(scaled), outs[1].numeric)
        return ()

    partitioning = "integer"
