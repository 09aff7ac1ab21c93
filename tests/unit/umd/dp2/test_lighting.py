"""Transformation, lighting and vertex fog against numpy in double precision, over random scenes.

Every vertex is drawn as a point into a pixel of its own, so that the picture is the vertices' colours.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.umd.dp2.rig import Legacy
from wddm.client.dp2_commands import Dp2CommandBuffer
from wddm.ddi.d3dhal import D3DFVF, D3DLIGHTTYPE, D3DTRANSFORMSTATETYPE
from wddm.ddi.d3dhal import D3DRENDERSTATETYPE as RS

T = D3DTRANSFORMSTATETYPE
SIZE = 8
FVF = D3DFVF.XYZ | D3DFVF.NORMAL | D3DFVF.DIFFUSE | D3DFVF.SPECULAR
POINTS = [(1, 1), (6, 1), (3, 4), (1, 6), (6, 6)]


def projection() -> Any:
    near, far = 0.5, 20.0
    q = far / (far - near)
    return np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, q, 1], [0, 0, -near * q, 0]])


def rotation(rng: np.random.Generator) -> Any:
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


@dataclass
class Scene:
    """What a seed and some switches make."""

    world: Any
    view: Any
    eye: Any
    normals: Any  #: of the object
    diffuse: Any
    specular: Any
    material: dict[str, Any]
    lights: list[dict[str, Any]]
    ambient: Any
    switches: dict[str, int]


def scene(seed: int, types: list[int], switches: dict[str, int]) -> Scene:
    rng = np.random.default_rng(seed)
    world, view = np.eye(4), np.eye(4)
    world[:3, :3] = rotation(rng) * rng.uniform(0.5, 2)
    world[3, :3] = rng.normal(size=3)
    view[:3, :3], view[3, :3] = rotation(rng), rng.normal(size=3)
    z = rng.uniform(1, 6, len(POINTS))
    at = np.array(POINTS) / SIZE * 2 - 1
    eye = np.stack([at[:, 0] * z, -at[:, 1] * z, z], 1)
    normals = rng.normal(size=(len(POINTS), 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    if switches["normalize"]:
        normals *= rng.uniform(0.5, 2, (len(POINTS), 1))
    colors = rng.integers(0, 256, (2, len(POINTS), 4))
    material = {name: rng.uniform(0, 0.8, 4).astype(np.float32) for name in ("diffuse", "ambient", "specular", "emissive")}
    material["emissive"] *= np.float32(0.25)
    material["power"] = float(np.float32(rng.uniform(1, 12)))
    lights = []
    for type in types:
        lights.append(
            {
                "type": type, "Diffuse": rng.uniform(0, 0.7, 4), "Specular": rng.uniform(0, 0.7, 4), "Ambient": rng.uniform(0, 0.2, 4),
                "Position": rng.normal(size=3) * 3, "Direction": rng.normal(size=3), "Range": rng.uniform(2, 12),
                "Falloff": rng.uniform(0.5, 2), "Attenuation0": rng.uniform(0.2, 1), "Attenuation1": rng.uniform(0, 0.3),
                "Attenuation2": rng.uniform(0, 0.1), "Theta": rng.uniform(0.3, 1), "Phi": rng.uniform(1.2, 2.8),
            }
        )  # fmt: skip
    return Scene(world, view, eye, normals, colors[0], colors[1], material, lights, rng.integers(0, 64, 3), switches)


def unit(v: Any) -> Any:
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    return v / np.where(length > 0, length, 1)


def expected(s: Scene) -> Any:
    """The colours by the book: (points, 4)."""
    world_view = s.world @ s.view
    n = s.normals @ np.linalg.inv(world_view[:3, :3]).T
    if s.switches["normalize"]:
        n = unit(n)
    position = s.eye
    sources = {0: None, 1: s.diffuse / 255, 2: s.specular / 255}

    def material(name: str, source: int) -> Any:
        chosen = sources[source] if s.switches["colorvertex"] else None
        return np.broadcast_to(s.material[name], (len(POINTS), 4)) if chosen is None else chosen

    diffuse, ambient, specular, emissive = (
        material(name, s.switches[name]) for name in ("diffuse", "ambient", "specular", "emissive")
    )
    sum_d, sum_s, sum_a = np.zeros((len(POINTS), 3)), np.zeros((len(POINTS), 3)), np.tile(s.ambient / 255, (len(POINTS), 1))
    towards = unit(-position) if s.switches["local"] else np.tile([0.0, 0, -1], (len(POINTS), 1))
    for light in s.lights:
        direction = unit(light["Direction"] @ s.view[:3, :3])
        if light["type"] == D3DLIGHTTYPE.DIRECTIONAL:
            to, attenuation = np.tile(-direction, (len(POINTS), 1)), np.ones(len(POINTS))
        else:
            place = np.append(light["Position"], 1) @ s.view
            to = place[:3] - position
            d = np.linalg.norm(to, axis=1)
            to = unit(to)
            attenuation = 1 / (light["Attenuation0"] + light["Attenuation1"] * d + light["Attenuation2"] * d * d)
            attenuation = np.where(d <= light["Range"], attenuation, 0)
        if light["type"] == D3DLIGHTTYPE.SPOT:
            rho = -(to @ direction)
            inner, outer = np.cos(light["Theta"] / 2), np.cos(light["Phi"] / 2)
            attenuation = attenuation * np.clip((rho - outer) / (inner - outer), 0, 1) ** light["Falloff"]
        cosine = np.clip((n * to).sum(1), 0, None)
        sum_a = sum_a + attenuation[:, None] * light["Ambient"][:3]
        sum_d = sum_d + (attenuation * cosine)[:, None] * light["Diffuse"][:3]
        if s.switches["shine"]:
            half = unit(to + towards)
            shine = np.clip((n * half).sum(1), 0, None) ** s.material["power"] * (cosine > 0)
            sum_s = sum_s + (attenuation * shine)[:, None] * light["Specular"][:3]
    rgb = np.clip(emissive[:, :3] + sum_a * ambient[:, :3] + sum_d * diffuse[:, :3], 0, 1)
    if s.switches["shine"]:
        rgb = np.clip(rgb + np.clip(sum_s * specular[:, :3], 0, 1), 0, 1)
    if s.switches["fog"]:
        distance = np.linalg.norm(position, axis=1) if s.switches["range"] else np.abs(position[:, 2])
        factor = {1: np.exp(-distance * 0.25), 2: np.exp(-((distance * 0.25) ** 2)), 3: np.clip((7 - distance) / 6, 0, 1)}[s.switches["fog"]]
        rgb = factor[:, None] * rgb + (1 - factor)[:, None] * np.array([0, 0x80, 0xFF]) / 255
    return np.concatenate([rgb, np.clip(diffuse[:, 3:], 0, 1)], 1) * 255


def argb(rows: Any) -> Any:
    return (rows[:, 3] << 24 | rows[:, 0] << 16 | rows[:, 1] << 8 | rows[:, 2]).astype(np.uint32)


async def drawn(s: Scene) -> Any:
    legacy = await Legacy.start(SIZE, SIZE)
    place = np.append(s.eye, np.ones((len(POINTS), 1)), 1) @ np.linalg.inv(s.world @ s.view)
    data = b"".join(
        struct.pack("<6f2I", *p[:3], *n, int(d), int(c))
        for p, n, d, c in zip(place, s.normals, argb(s.diffuse), argb(s.specular), strict=True)
    )
    sw = s.switches
    commands = (
        Dp2CommandBuffer().set_transform(T.WORLD, s.world).set_transform(T.VIEW, s.view).set_transform(T.PROJECTION, projection())
        .set_material(**s.material)
        .render_states({
            RS.AMBIENT: 0xFF000000 | int(s.ambient[0]) << 16 | int(s.ambient[1]) << 8 | int(s.ambient[2]), RS.COLORVERTEX: sw["colorvertex"],
            RS.DIFFUSEMATERIALSOURCE: sw["diffuse"], RS.AMBIENTMATERIALSOURCE: sw["ambient"], RS.SPECULARMATERIALSOURCE: sw["specular"],
            RS.EMISSIVEMATERIALSOURCE: sw["emissive"], RS.NORMALIZENORMALS: sw["normalize"], RS.LOCALVIEWER: sw["local"],
            RS.SPECULARENABLE: sw["shine"], RS.FOGENABLE: int(sw["fog"] > 0), RS.FOGVERTEXMODE: sw["fog"], RS.RANGEFOGENABLE: sw["range"],
            RS.FOGCOLOR: 0xFF0080FF, RS.FOGSTART: 1.0, RS.FOGEND: 7.0, RS.FOGDENSITY: 0.25,
        })
    )  # fmt: skip
    for index, light in enumerate(s.lights):
        members = {name: value for name, value in light.items() if name != "type"}
        commands.set_light(index * 3, light["type"], **members).enable_light(index * 3)
    await legacy.draw(commands.points((0, len(POINTS))), data, FVF)
    image = await legacy.pixels()
    found = np.array([image[y, x] for x, y in POINTS])
    return np.stack([found >> shift & 255 for shift in (16, 8, 0, 24)], 1).astype(float)


SWITCHES = st.fixed_dictionaries(
    {
        **{name: st.integers(0, 1) for name in ("colorvertex", "normalize", "local", "shine", "range")},
        **{name: st.integers(0, 2) for name in ("diffuse", "ambient", "specular", "emissive")},
        "fog": st.integers(0, 3),
    }
)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 1 << 30), st.lists(st.sampled_from([1, 2, 3]), max_size=4), SWITCHES)
def test_random_scenes(seed: int, types: list[int], switches: dict[str, int]) -> None:
    s = scene(seed, types, switches)
    assert np.abs(trio.run(drawn, s) - expected(s)).max() <= 1.6
