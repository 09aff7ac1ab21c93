"""The workloads keep their names, draw what they say, and can be asked for."""

import numpy as np
import pytest

from bench import __main__ as command
from bench import geometry
from bench.options import Options
from bench.peers import session
from bench.scenes import GROUPS, compute, drawrate, fill, frameloop, latency, shader
from bench.scenes.library import COLOURED, QUAD, compiled
from bench.scenes.runner import scenes

NAMES = ["fill.clear.finish", "fill.clear.flush", "fill.quad.finish", "fill.quad.flush", "fill.gradient.flush", "blend.x16.instanced", "blend.x16.draws", "blend.x16.flushed", "texture.nearest.uv1", "texture.bilinear.uv1", "texture.bilinear.uv4", "texture.trilinear.uv4", "texture.trilinear.uv1", "tri_small.soup", "tri_small.grid", "tri_large.random", "tri_large.b2f", "tri_large.f2b", "shader.mad200.ms", "shader.mad200.gflops", "shader.mandel64.fixed.ms", "shader.mandel64.fixed.gflops", "shader.mandel64.break.ms", "shader.trig16.ms", "drawrate.same", "drawrate.uniform", "drawrate.blend", "drawrate.texture", "drawrate.clipped", "compute.saxpy16M.wg64", "compute.saxpy16M.wg256", "compute.matmul512.naive", "compute.matmul512.tiled", "latency.draw1px.finish", "latency.draw1px.finish.p99", "latency.empty.finish", "latency.empty.finish.p99", "latency.clear64.finish", "latency.clear64.finish.p99", "latency.draw1px.read1px", "latency.draw1px.read1px.p99", "latency.draw1px.finish.720p", "latency.draw1px.finish.720p.p99", "readback.1080p.idle", "readback.1080p.after_clear", "readback.1080p.bgra", "upload.1080p", "upload.buffer8MB", "frameloop.cube.readback", "frameloop.cube.finish", "frameloop.cube.flush"] + [
    f"jit.{kind}.{step}" for kind in ("trivial", "mad100", "texlit") for step in ("link", "first_draw", "new_variant", "warm_draw", "hlsl")
]


def test_every_workload_of_the_peers_is_there_under_its_name():
    assert [test for group in GROUPS for scene in scenes(group) for test in scene.tests] == NAMES


@pytest.mark.parametrize("name", [name for name in command.SETS if name != "peers"])
def test_every_set_can_be_measured(name):
    assert callable(command._measurement(name))


def test_options_choose_by_pattern():
    options = Options(only=("fill.*", "jit.*.link"))
    assert options.wants("fill.quad.flush")
    assert options.wants("blend.x", "jit.trivial.link")
    assert not options.wants("jit.trivial.hlsl")
    assert Options().wants("anything")


def test_small_triangles_have_ten_pixels_and_the_grid_covers_the_target():
    vertices = geometry.soup(2000)
    x, y = ((vertices["p"][:, i].astype(float) * size / 2).reshape(-1, 3) for i, size in enumerate(geometry.SMALL_SIZE))
    area = abs((x[:, 1] - x[:, 0]) * (y[:, 2] - y[:, 0]) - (y[:, 1] - y[:, 0]) * (x[:, 2] - x[:, 0])) / 2
    np.testing.assert_allclose(area, 10, rtol=0.01)
    mesh, indices = geometry.grid()
    assert len(indices) == 3 * geometry.SMALL_COUNT
    assert indices.max() == len(mesh) - 1
    assert np.abs(mesh["p"][:, :2]).max() == 1


def test_large_triangles_are_the_same_in_every_order():
    shown = [geometry.large(order) for order in geometry.ORDERS]
    assert {len(vertices) for vertices in shown} == {3 * geometry.LARGE_COUNT}
    depths = [vertices["p"][::3, 2] for vertices in shown]
    assert (np.diff(depths[1]) < 0).mean() > 0.9
    assert (np.diff(depths[2]) > 0).mean() > 0.9
    for vertices in shown:
        np.testing.assert_array_equal(vertices["p"][:, :2], shown[0]["p"][:, :2])


def test_the_cube_is_in_front_of_the_camera():
    corners = np.concatenate([geometry.cube()[:, :3], np.ones((36, 1), np.float32)], 1)
    for matrix in geometry.cube_matrices(16):
        clip = corners @ matrix
        assert (np.abs(clip[:, :2]) < clip[:, 3:]).all()
        assert ((clip[:, 2] > 0) & (clip[:, 2] < clip[:, 3])).all()


def test_mips_end_at_one_texel():
    assert [level.shape[0] for level in geometry.mip_chain(geometry.noise(64))] == [64, 32, 16, 8, 4, 2, 1]


@pytest.mark.parametrize(
    ("source", "entry", "profile"),
    [
        (QUAD, "vs_main", "vs_5_0"),
        (COLOURED, "vs_main", "vs_5_0"),
        (COLOURED, "ps_main", "ps_5_0"),
        (QUAD + fill.FLAT, "ps_main", "ps_5_0"),
        *((QUAD + body, "ps_main", "ps_5_0") for body in (shader.MAD, shader.FIXED, shader.BREAK, shader.TRIG)),
        (drawrate.TEXTURED, "ps_main", "ps_5_0"),
        (latency.PIXEL, "vs_main", "vs_5_0"),
        (frameloop.CUBE, "vs_main", "vs_5_0"),
        (frameloop.CUBE, "ps_main", "ps_5_0"),
        *((body, "cs_main", "cs_5_0") for body in (compute.SAXPY.replace("GROUP", "64"), compute.NAIVE, compute.TILED)),
    ],
)
def test_shaders_compile(source, entry, profile):
    assert compiled(source, entry, profile)[:4] == b"DXBC"


def test_every_group_has_a_side_of_the_peers_and_every_peer_a_name():
    folder = session.Path(session.__file__).parent / "workloads"
    assert {path.stem for path in folder.glob("*.py")} - {"__init__", "library"} == set(GROUPS)
    assert [peer.name for peer in session.peers()] == ["llvmpipe", "vtest", "lavapipe", "swiftshader"]


def test_the_command_explains_itself(capsys):
    with pytest.raises(SystemExit) as end:
        command.main(["--help"])
    assert end.value.code == 0
    told = capsys.readouterr().out
    assert all(name in told for name in command.SETS)


def test_the_command_lists_tests(capsys):
    assert command.main(["--list"]) == 0
    assert capsys.readouterr().out.split() == NAMES


@pytest.mark.parametrize(("arguments", "word"), [(["speed"], "speed"), (["latency", "--runs", "0"], "'0'"), (["--engine", "gpu"], "gpu")])
def test_the_command_says_what_is_wrong(arguments, word, capsys):
    with pytest.raises(SystemExit) as end:
        command.main(arguments)
    assert end.value.code == 2
    assert word in capsys.readouterr().err
