"""What the driver makes is executed by the reference engine: shaders mean what Direct3D says, pictures come out right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.unit.umd.fake_gpu import B, FakeGpu, tokens
from wddm.ddi import d3d10umddi as d3d
from wddm.ddi.dxgiformat import DXGI_FORMAT

SIGNATURES = d3d.D3D10DDIARG_STAGE_IO_SIGNATURES()


@pytest.fixture
async def gpu() -> FakeGpu:
    gpu = FakeGpu()
    await gpu.start()
    return gpu


def floats(words: Any) -> list[float]:
    return [float(x) for x in words.view(np.float32)]


GROUP = "dcl_thread_group 1, 1, 1"


async def test_swizzles_are_read_before_they_are_written(gpu: FakeGpu) -> None:
    out = await gpu.compute(
        f"""{GROUP}
        dcl_temps 2
        mov r0.xyzw, l(1.0, 2.0, 3.0, 4.0)
        mov r0.xyzw, r0.wzyx
        add r0.xy, r0.yxyy, r0.xyxx
        mad r0.zw, r0.wwwz, l(10.0, 10.0, 10.0, 10.0), r0.xxxz
        store_raw u0.xyzw, l(0), r0.xyzw"""
    )
    assert floats(out)[:4] == [7.0, 7.0, 17.0, 22.0]


async def test_swapc_reads_everything_first(gpu: FakeGpu) -> None:
    out = await gpu.compute(
        f"""{GROUP}
        dcl_temps 2
        mov r0.xyzw, l(1, 2, 3, 4)
        mov r1.xyzw, l(5, 6, 7, 8)
        swapc r0.xyzw, r1.xyzw, l(1, 0, 1, 0), r0.yxwz, r1.xyzw
        swapc r0.xy, r1.xy, r0.zwzz, r1.xyxx, r0.xyxx
        store_raw u0.xyzw, l(0), r0.xyzw
        store_raw u0.xyzw, l(16), r1.xyzw"""
    )
    # First: r0 = (5, 1, 7, 3), r1 = (2, 6, 4, 8); then both lanes swap again.
    assert out[:8].tolist() == [5, 1, 7, 3, 2, 6, 4, 8]


async def test_dot_products_and_saturate(gpu: FakeGpu) -> None:
    out = await gpu.compute(
        f"""{GROUP}
        dcl_temps 2
        mov r0.xyzw, l(1.0, 2.0, 3.0, 4.0)
        dp4 r1.xy, r0.xyzw, r0.wzyx
        dp3 r1.z, -r0.xyzx, |r0.xyzx|
        dp2_sat r1.w, r0.xyxx, l(0.1, 0.2, 0, 0)
        store_raw u0.xyzw, l(0), r1.xyzw"""
    )
    assert floats(out)[:3] == [20.0, 20.0, -14.0]
    assert abs(floats(out)[3] - 0.5) < 1e-6


async def test_integer_pairs(gpu: FakeGpu) -> None:
    out = await gpu.compute(
        f"""{GROUP}
        dcl_temps 4
        mov r0.xy, l(0x80000001, 7, 0, 0)
        umul r1.x, r1.y, r0.x, r0.y
        imul r1.z, r1.w, r0.x, r0.y
        udiv r0.x, r0.y, r0.x, r0.y
        uaddc r2.x, r2.y, l(0xFFFFFFFF), l(2)
        usubb r2.z, r2.w, l(1), l(2)
        store_raw u0.xyzw, l(0), r1.xyzw
        store_raw u0.xy, l(16), r0.xyxx
        store_raw u0.xyzw, l(32), r2.xyzw"""
    )
    product = 0x80000001 * 7
    signed = ((0x80000001 - (1 << 32)) * 7) & (1 << 64) - 1
    assert out[:4].tolist() == [product >> 32, product & 0xFFFFFFFF, signed >> 32, signed & 0xFFFFFFFF]
    assert out[4:6].tolist() == [0x80000001 // 7, 0x80000001 % 7]
    assert out[8:12].tolist() == [1, 1, 0xFFFFFFFF, 1]


async def test_switch_with_labels_default_in_the_middle_and_breaks(gpu: FakeGpu) -> None:
    out = await gpu.compute(
        """dcl_thread_group 8, 1, 1
        dcl_input vThreadIDInGroupFlattened
        dcl_temps 2
        ishl r0.y, vThreadIDInGroupFlattened, l(2)
        switch vThreadIDInGroupFlattened
          case l(1)
          case l(2)
            mov r0.x, l(12)
            break
          default
            mov r0.x, l(99)
            break
          case l(3)
            ieq r0.z, r0.y, l(12)
            if_nz r0.z
              mov r0.x, l(33)
              break
            endif
            mov r0.x, l(34)
            break
          case l(5)
            mov r0.x, l(55)
            break
        endswitch
        store_raw u0.x, r0.y, r0.x"""
    )
    assert out[:8].tolist() == [99, 12, 12, 33, 99, 55, 99, 99]


async def test_loops_with_continue_inside_a_switch(gpu: FakeGpu) -> None:
    out = await gpu.compute(
        """dcl_thread_group 4, 1, 1
        dcl_input vThreadIDInGroupFlattened
        dcl_temps 2
        mov r0.xy, l(0, 0, 0, 0)
        loop
          uge r0.z, r0.x, l(10)
          breakc_nz r0.z
          iadd r0.x, r0.x, l(1)
          and r0.w, r0.x, l(3)
          switch r0.w
            case l(0)
              continue
            case l(1)
              iadd r0.y, r0.y, vThreadIDInGroupFlattened
              break
            default
              iadd r0.y, r0.y, l(100)
              break
          endswitch
          ieq r0.z, r0.x, l(9)
          breakc_nz r0.z
        endloop
        ishl r1.x, vThreadIDInGroupFlattened, l(2)
        store_raw u0.x, r1.x, r0.y"""
    )
    expected = []
    for lane in range(4):
        total = 0
        for x in range(1, 11):
            if x & 3 == 0:
                continue
            total += lane if x & 3 == 1 else 100
            if x == 9:
                break
        expected.append(total)
    assert out[:4].tolist() == expected


async def test_subroutines_return_from_the_middle(gpu: FakeGpu) -> None:
    out = await gpu.compute(
        """dcl_thread_group 4, 1, 1
        dcl_input vThreadIDInGroupFlattened
        dcl_temps 2
        mov r0.x, l(1)
        call l0
        ine r0.z, vThreadIDInGroupFlattened, l(2)
        callc_nz r0.z, l1
        ishl r1.x, vThreadIDInGroupFlattened, l(2)
        store_raw u0.x, r1.x, r0.x
        ret
        label l0
          loop
            retc_nz vThreadIDInGroupFlattened
            iadd r0.x, r0.x, l(10)
            break
          endloop
          call l1
          ret
        label l1
          iadd r0.x, r0.x, l(100)"""
    )
    assert out[:4].tolist() == [211, 101, 1, 101]


async def test_indexed_constants_arrays_and_icb_outside_read_zero(gpu: FakeGpu) -> None:
    constants = np.arange(16, dtype=np.uint32)
    out = await gpu.compute(
        """dcl_thread_group 8, 1, 1
        dcl_input vThreadIDInGroupFlattened
        dcl_temps 2
        dcl_indexableTemp x0[3], 2
        mov x0[0].xy, l(1, 2, 0, 0)
        mov x0[1].xy, l(3, 4, 0, 0)
        iadd r0.w, vThreadIDInGroupFlattened, l(-1)
        mov x0[r0.w + 0].y, l(77)
        mov r0.x, cb0[r0.w + 1].z
        mov r0.y, x0[vThreadIDInGroupFlattened].y
        mov r0.z, icb[vThreadIDInGroupFlattened].x
        imul null, r1.x, vThreadIDInGroupFlattened, l(12)
        store_raw u0.xyz, r1.x, r0.xyzx""",
        size=96,
        constants=constants,
        declarations="dcl_immediateConstantBuffer { {5,0,0,0}, {6,0,0,0} }\ndcl_constantbuffer CB0[4], dynamicIndexed",
    )
    rows = out.reshape(8, 3)
    assert rows[:, 0].tolist() == [2, 6, 10, 14, 0, 0, 0, 0]
    assert rows[:, 2].tolist() == [5, 6, 0, 0, 0, 0, 0, 0]
    assert rows[:4, 1].tolist() == [2, 4, 0, 0]


async def test_shared_memory_barriers_and_atomics(gpu: FakeGpu) -> None:
    out = await gpu.compute(
        """dcl_thread_group 16, 1, 1
        dcl_input vThreadIDInGroupFlattened
        dcl_tgsm_raw g0, 64
        dcl_tgsm_structured g1, 8, 4
        dcl_temps 2
        ishl r0.x, vThreadIDInGroupFlattened, l(2)
        store_raw g0.x, r0.x, vThreadIDInGroupFlattened
        and r0.y, vThreadIDInGroupFlattened, l(3)
        mov r0.z, l(4)
        atomic_iadd g1, r0.yzyy, vThreadIDInGroupFlattened
        sync_g_t
        xor r1.y, r0.x, l(60)
        ld_raw r1.x, r1.y, g0.xxxx
        ld_structured r1.z, r0.y, l(4), g1.xxxx
        imm_atomic_umax r1.w, u0, l(252), vThreadIDInGroupFlattened
        ishl r0.w, vThreadIDInGroupFlattened, l(3)
        store_raw u0.xy, r0.w, r1.xzxx""",
        size=256,
    )
    pairs = out[:32].reshape(16, 2)
    assert pairs[:, 0].tolist() == [15 - n for n in range(16)]
    assert pairs[:, 1].tolist() == [sum(range(n & 3, 16, 4)) for n in range(16)]
    assert out[63] == 15


async def test_doubles(gpu: FakeGpu) -> None:
    out = await gpu.compute(
        f"""dcl_globalFlags enableDoublePrecisionFloatOps
        {GROUP}
        dcl_temps 3
        mov r0.xy, l(3.0, 0.5, 0, 0)
        ftod r1.xyzw, r0.xyxx
        dadd r1.xyzw, r1.zwxy, d(0.25, 1.5)
        dmul r2.xy, -r1.xyxy, r1.zwzw
        dlt r0.xy, r1.xyzw, r1.zwxy
        dtof r0.z, r2.xyxy
        store_raw u0.xyzw, l(0), r1.xyzw
        store_raw u0.xyz, l(16), r0.xyzx"""
    )
    assert out[:4].view(np.float64).tolist() == [0.75, 4.5]
    assert out[4:6].tolist() == [0xFFFFFFFF, 0]
    assert floats(out[6:7]) == [-3.375]


async def test_append_counter(gpu: FakeGpu) -> None:
    h = await gpu.buffer(128, B.UNORDERED_ACCESS, ByteStride=4, MiscFlags=0x40)
    part = d3d.D3D11DDIARG_BUFFER_UNORDEREDACCESSVIEW(0, 32, d3d.D3D11_DDI_BUFFER_UAV_FLAG.APPEND)
    arg = d3d.D3D11DDIARG_CREATEUNORDEREDACCESSVIEW(h, DXGI_FORMAT.UNKNOWN, d3d.D3D10DDIRESOURCE_TYPE.BUFFER, Buffer=part)
    view = await gpu.create("pfnCreateUnorderedAccessView", arg)
    shader = next(gpu.handles)
    code = tokens(
        """cs_5_0
        dcl_uav_structured u0, 4
        dcl_input vThreadID.x
        dcl_temps 1
        dcl_thread_group 8, 1, 1
        imm_atomic_alloc r0.x, u0
        store_structured u0.x, r0.x, l(0), vThreadID.x
        ret
        """
    )
    await gpu.call("pfnCreateComputeShader", code, shader, 0)
    await gpu.call("pfnCsSetShader", shader)
    await gpu.call("pfnCsSetUnorderedAccessViews", 0, 1, [view], [3])
    await gpu.call("pfnDispatch", 2, 1, 1)
    count = await gpu.buffer(16, B.VERTEX_BUFFER)
    await gpu.call("pfnCopyStructureCount", count, 4, view)
    data = (await gpu.read_buffer(h, 128)).view(np.uint32)
    assert sorted(data[3:19].tolist()) == list(range(16))
    assert (await gpu.read_buffer(count, 16)).view(np.uint32).tolist() == [0, 19, 0, 0]
    assert gpu.errors == []


VERTEX = """vs_5_0
dcl_constantbuffer CB0[1], immediateIndexed
dcl_input v0.xy
dcl_input v1.xyz
dcl_output_siv o0.xyzw, position
dcl_output o1.xyzw
add o0.xy, v0.xyxx, cb0[0].xyxx
mov o0.zw, l(0, 0, 0, 1.0)
mov o1.xyz, v1.xyzx
mov o1.w, l(1.0)
ret
"""
PIXEL = """ps_5_0
dcl_sampler s0, mode_default
dcl_resource_texture2d (float,float,float,float) t0
dcl_input_ps linear v1.xyzw
dcl_output o0.xyzw
dcl_temps 1
sample r0.xyzw, v1.xyxx, t0.xyzw, s0
mul o0.xyz, r0.xyzx, v1.zzzz
mov o0.w, v1.w
ret
"""


async def quad(gpu: FakeGpu) -> tuple[int, int, int]:
    """A textured quad over a 16x16 target, everything bound: target, its view, the constant buffer."""
    corners = np.array([[-1, 1], [1, 1], [-1, -1], [1, -1]], np.float32)
    coords = np.array([[0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1]], np.float32)
    vb = await gpu.buffer(80, B.VERTEX_BUFFER, data=np.concatenate([corners, coords], axis=1))
    cb = await gpu.buffer(16, B.CONSTANT_BUFFER)
    texels = np.zeros((4, 4, 4), np.uint8)
    texels[..., 0] = np.arange(4)[None, :] * 60
    texels[..., 1] = np.arange(4)[:, None] * 60
    texels[..., 3] = 255
    initial = [d3d.D3D10_DDIARG_SUBRESOURCE_UP(texels, 16)]
    tex = await gpu.texture(4, 4, pInitialDataUP=initial)
    arg = d3d.D3D11DDIARG_CREATESHADERRESOURCEVIEW(
        tex,
        DXGI_FORMAT.R8G8B8A8_UNORM,
        d3d.D3D10DDIRESOURCE_TYPE.TEXTURE2D,
        Tex2D=d3d.D3D10DDIARG_TEX_SHADERRESOURCEVIEW(0, 0xFFFFFFFF),
    )
    srv = await gpu.create("pfnCreateShaderResourceView", arg)
    sampler = await gpu.create("pfnCreateSampler", d3d.D3D10_DDI_SAMPLER_DESC(d3d.D3D10_DDI_FILTER.MIN_MAG_MIP_POINT))
    target = await gpu.texture(16, 16, bind=B.RENDER_TARGET)
    view = await gpu.target(target)
    layout = d3d.D3D10DDIARG_CREATEELEMENTLAYOUT(
        [
            d3d.D3D10DDIARG_INPUT_ELEMENT_DESC(0, 0, DXGI_FORMAT.R32G32_FLOAT),
            d3d.D3D10DDIARG_INPUT_ELEMENT_DESC(0, 8, DXGI_FORMAT.R32G32B32_FLOAT, InputRegister=1),
        ],
        2,
    )
    await gpu.call("pfnIaSetInputLayout", await gpu.create("pfnCreateElementLayout", layout))
    await gpu.call("pfnIaSetTopology", d3d.D3D10_DDI_PRIMITIVE_TOPOLOGY.TRIANGLESTRIP)
    await gpu.call("pfnIaSetVertexBuffers", 0, 1, [vb], [20], [0])
    await gpu.call("pfnVsSetShader", await gpu.create_shader("pfnCreateVertexShader", tokens(VERTEX)))
    await gpu.call("pfnPsSetShader", await gpu.create_shader("pfnCreatePixelShader", tokens(PIXEL)))
    await gpu.call("pfnVsSetConstantBuffers", 0, 1, [cb])
    await gpu.call("pfnPsSetShaderResources", 0, 1, [srv])
    await gpu.call("pfnPsSetSamplers", 0, 1, [sampler])
    await gpu.call("pfnSetViewports", 1, 0, [d3d.D3D10_DDI_VIEWPORT(0, 0, 16, 16)])
    await gpu.set_targets(view)
    return target, view, cb


async def test_a_textured_quad(gpu: FakeGpu) -> None:
    target, view, _ = await quad(gpu)
    await gpu.call("pfnClearRenderTargetView", view, (0.0, 0.0, 1.0, 1.0))
    await gpu.call("pfnDraw", 4, 0)
    image = await gpu.read_texture(target, 16, 16)
    assert gpu.errors == []
    expected = np.zeros((16, 16, 4), np.uint8)
    expected[..., 0] = (np.arange(16) // 4 * 60)[None, :]
    expected[..., 1] = (np.arange(16) // 4 * 60)[:, None]
    expected[..., 3] = 255
    assert (image == expected).all()


async def test_constants_between_draws_move_the_picture(gpu: FakeGpu) -> None:
    target, view, cb = await quad(gpu)
    await gpu.call("pfnClearRenderTargetView", view, (0.0, 0.0, 1.0, 1.0))
    for x in (1.0, 1.5):
        data = np.array([x, 0, 0, 0], np.float32)
        await gpu.call("pfnDefaultConstantBufferUpdateSubresourceUP", cb, 0, None, data, 0, 0)
        await gpu.call("pfnDraw", 4, 0)
    image = await gpu.read_texture(target, 16, 16)
    assert image[0, :8, 2].tolist() == [255] * 8
    assert image[0, 8:, 2].tolist() == [0] * 8
    assert image[0, 8:12, 0].tolist() == [0, 0, 0, 0]  # the first draw's left column, partly under the second's
    assert image[0, 12:, 0].tolist() == [0] * 4


async def test_occlusion_and_update_and_region_copy(gpu: FakeGpu) -> None:
    target, view, _ = await quad(gpu)
    q = await gpu.create("pfnCreateQuery", d3d.D3D10DDIARG_CREATEQUERY(d3d.D3D10DDI_QUERY.OCCLUSION))
    await gpu.call("pfnClearRenderTargetView", view, (1.0,) * 4)
    await gpu.call("pfnQueryBegin", q)
    await gpu.call("pfnDraw", 4, 0)
    await gpu.call("pfnFlush")
    await gpu.call("pfnDraw", 4, 0)
    await gpu.call("pfnQueryEnd", q)
    await gpu.call("pfnFlush")
    data = bytearray(8)
    await gpu.call("pfnQueryGetData", q, data, 8, 0)
    assert int.from_bytes(data, "little") == 512
    patch = np.arange(2 * 3 * 4, dtype=np.uint8)
    await gpu.call("pfnResourceUpdateSubresourceUP", target, 0, d3d.D3D10_DDI_BOX(5, 6, 0, 8, 8, 1), patch, 12, 0)
    other = await gpu.texture(8, 8, bind=B.RENDER_TARGET)
    await gpu.call("pfnResourceCopyRegion", other, 0, 1, 2, 0, target, 0, d3d.D3D10_DDI_BOX(5, 6, 0, 8, 8, 1))
    image = await gpu.read_texture(other, 8, 8)
    assert image[2:4, 1:4].reshape(-1).tolist() == patch.tolist()
    assert image[0].sum() == 0
    assert gpu.errors == []


async def test_stream_output_and_draw_auto(gpu: FakeGpu) -> None:
    target, view, _ = await quad(gpu)
    arg = d3d.D3D11DDIARG_CREATEGEOMETRYSHADERWITHSTREAMOUTPUT(
        None,
        [
            d3d.D3D11DDIARG_STREAM_OUTPUT_DECLARATION_ENTRY(0, 0, 0, 3),
            d3d.D3D11DDIARG_STREAM_OUTPUT_DECLARATION_ENTRY(0, 0, 1, 7),
        ],
        2,
        [20],
        1,
        0xFFFFFFFF,
    )
    gs = await gpu.create("pfnCreateGeometryShaderWithStreamOutput", arg, SIGNATURES)
    so = await gpu.buffer(1024, B.STREAM_OUTPUT | B.VERTEX_BUFFER)
    await gpu.call("pfnClearRenderTargetView", view, (0.0, 0.0, 1.0, 1.0))
    await gpu.call("pfnGsSetShader", gs)
    await gpu.call("pfnSoSetTargets", 1, 0, [so], [0])
    await gpu.call("pfnDraw", 4, 0)
    untouched = await gpu.read_texture(target, 16, 16)
    assert untouched[..., 2].min() == 255
    await gpu.call("pfnGsSetShader", 0)
    await gpu.call("pfnSoSetTargets", 0, 1, [], [])
    await gpu.call("pfnIaSetVertexBuffers", 0, 1, [so], [20], [0])
    await gpu.call("pfnIaSetTopology", d3d.D3D10_DDI_PRIMITIVE_TOPOLOGY.TRIANGLELIST)
    await gpu.call("pfnDrawAuto")
    image = await gpu.read_texture(target, 16, 16)
    assert image[..., 2].max() == 0
    assert image[15, 15, :2].tolist() == [180, 180]
    assert gpu.errors == []


async def test_predicated_draw(gpu: FakeGpu) -> None:
    target, view, _ = await quad(gpu)
    await gpu.call("pfnClearRenderTargetView", view, (0.0, 0.0, 1.0, 1.0))
    q = await gpu.create("pfnCreateQuery", d3d.D3D10DDIARG_CREATEQUERY(d3d.D3D10DDI_QUERY.OCCLUSIONPREDICATE))
    await gpu.call("pfnQueryBegin", q)
    await gpu.call("pfnQueryEnd", q)
    await gpu.call("pfnSetPredication", q, False)
    await gpu.call("pfnDraw", 4, 0)  # nothing was visible: dropped
    await gpu.call("pfnSetPredication", 0, False)
    image = await gpu.read_texture(target, 16, 16)
    assert image[..., 2].min() == 255
    await gpu.call("pfnSetPredication", q, True)
    await gpu.call("pfnDraw", 4, 0)
    await gpu.call("pfnSetPredication", 0, False)
    assert (await gpu.read_texture(target, 16, 16))[..., 2].max() == 0


TESSELLATED = """vs_5_0
dcl_input v0.xy
dcl_output o0.xy
mov o0.xy, v0.xyxx
ret
"""
HULL = """hs_5_0
hs_decls
dcl_input_control_point_count 4
dcl_output_control_point_count 4
dcl_tessellator_domain domain_quad
dcl_tessellator_partitioning partitioning_integer
dcl_tessellator_output_primitive output_triangle_cw
hs_control_point_phase
dcl_input vOutputControlPointID
dcl_input v[4][0].xy
dcl_output o0.xy
mov o0.xy, v[vOutputControlPointID][0].xyxx
ret
hs_fork_phase
dcl_hs_fork_phase_instance_count 4
dcl_input vForkInstanceID
dcl_output_siv o0.x, finalQuadUeq0EdgeTessFactor
dcl_output_siv o1.x, finalQuadVeq0EdgeTessFactor
dcl_output_siv o2.x, finalQuadUeq1EdgeTessFactor
dcl_output_siv o3.x, finalQuadVeq1EdgeTessFactor
dcl_temps 1
dcl_indexrange o0.x, 4
mov r0.x, vForkInstanceID
mov o[r0.x + 0].x, l(2.0)
ret
hs_join_phase
dcl_hs_join_phase_instance_count 2
dcl_input vJoinInstanceID
dcl_input vpc0.x
dcl_output_siv o4.x, finalQuadUInsideTessFactor
dcl_output_siv o5.x, finalQuadVInsideTessFactor
dcl_temps 1
dcl_indexrange o4.x, 2
mov r0.x, vJoinInstanceID
mov o[r0.x + 4].x, vpc0.x
ret
"""
DOMAIN = """ds_5_0
dcl_input_control_point_count 4
dcl_tessellator_domain domain_quad
dcl_input vDomain.xy
dcl_input vcp[4][0].xy
dcl_output_siv o0.xyzw, position
dcl_output o1.xyzw
dcl_temps 1
add r0.xy, vcp[3][0].xyxx, -vcp[0][0].xyxx
mad o0.xy, vDomain.xyxx, r0.xyxx, vcp[0][0].xyxx
mov o0.zw, l(0, 0, 0, 1.0)
mov o1.xy, vDomain.xyxx
mov o1.zw, l(0, 0, 1.0, 1.0)
ret
"""


async def test_tessellated_quad(gpu: FakeGpu) -> None:
    target, view, _ = await quad(gpu)
    await gpu.call("pfnClearRenderTargetView", view, (0.0, 0.0, 1.0, 1.0))
    signatures = d3d.D3D11DDIARG_TESSELLATION_IO_SIGNATURES()
    await gpu.call("pfnVsSetShader", await gpu.create_shader("pfnCreateVertexShader", tokens(TESSELLATED)))
    await gpu.call("pfnHsSetShader", await gpu.create_with("pfnCreateHullShader", tokens(HULL), signatures))
    await gpu.call("pfnDsSetShader", await gpu.create_with("pfnCreateDomainShader", tokens(DOMAIN), signatures))
    assert gpu.errors == [], gpu.error_text
    await gpu.call("pfnIaSetTopology", d3d.D3D10_DDI_PRIMITIVE_TOPOLOGY.CONTROL_POINT_PATCHLIST_4)
    rasterizer = d3d.D3D10_DDI_RASTERIZER_DESC(CullMode=d3d.D3D10_DDI_CULL_MODE.NONE)
    await gpu.call("pfnSetRasterizerState", await gpu.create("pfnCreateRasterizerState", rasterizer))
    await gpu.call("pfnDraw", 4, 0)
    image = await gpu.read_texture(target, 16, 16)
    assert image[..., 2].max() == 0
    assert image[0, 0, :2].tolist() == [0, 0]
    assert image[15, 15, :2].tolist() == [180, 180]


GEOMETRY = """gs_5_0
dcl_input_siv v[3][0].xyzw, position
dcl_input v[3][1].xyzw
dcl_temps 2
dcl_inputPrimitive triangle
dcl_outputTopology trianglestrip
dcl_stream m0
dcl_output_siv o0.xyzw, position
dcl_output o1.xyzw
dcl_maxout 6
mov r0.x, l(0)
loop
  uge r0.y, r0.x, l(3)
  breakc_nz r0.y
  mul o0.xy, v[r0.x + 0][0].xyxx, l(0.5, 0.5, 0, 0)
  mov o0.zw, v[r0.x + 0][0].zzzw
  mov o1.xyzw, v[r0.x + 0][1].xyzw
  emit_stream m0
  iadd r0.x, r0.x, l(1)
endloop
cut_stream m0
ret
"""


async def test_geometry_shader_halves_the_quad(gpu: FakeGpu) -> None:
    target, view, _ = await quad(gpu)
    await gpu.call("pfnClearRenderTargetView", view, (0.0, 0.0, 1.0, 1.0))
    await gpu.call("pfnGsSetShader", await gpu.create_shader("pfnCreateGeometryShader", tokens(GEOMETRY)))
    assert gpu.errors == [], gpu.error_text
    await gpu.call("pfnDraw", 4, 0)
    image = await gpu.read_texture(target, 16, 16)
    inside = image[..., 2] == 0
    assert inside.sum() == 64
    assert inside[4:12, 4:12].all()


INTERFACES = """ps_5_0
dcl_constantbuffer CB0[4], dynamicIndexed
dcl_output o0.xyzw
dcl_temps 1
dcl_function_body fb0
dcl_function_body fb1
dcl_function_table ft0 = {fb0}
dcl_function_table ft1 = {fb1}
dcl_interface fp0[1][1] = {ft0, ft1}
mov r0.xyzw, l(0, 0, 0, 1.0)
fcall fp0[0][0]
mov o0.xyzw, r0.xyzw
ret
label fb0
mov r0.x, l(1.0)
ret
label fb1
mov r0.xyz, cb[this[0].x + 0][this[0].y + 1].xyzx
ret
"""


async def test_class_instances(gpu: FakeGpu) -> None:
    target, _, _ = await quad(gpu)
    constants = np.zeros((4, 4), np.float32)
    constants[3, 1] = 1.0
    cb = await gpu.buffer(64, B.CONSTANT_BUFFER, data=constants)
    await gpu.call("pfnPsSetConstantBuffers", 0, 1, [cb])
    shader = await gpu.create_shader("pfnCreatePixelShader", tokens(INTERFACES))
    for table, expected in ((0, [255, 0, 0, 255]), (1, [0, 255, 0, 255])):
        await gpu.call("pfnPsSetShaderWithIfaces", shader, 1, [table], [d3d.D3D11DDIARG_POINTERDATA(0, 2, 0, 0)])
        await gpu.call("pfnDraw", 4, 0)
        image = await gpu.read_texture(target, 16, 16)
        assert gpu.errors == [], gpu.error_text
        assert image[8, 8].tolist() == expected


async def test_compressed_and_depth_and_mips(gpu: FakeGpu) -> None:
    block = np.array([0xFFFF, 0xFFFF, 0, 0], np.uint16).tobytes()  # white
    initial = [d3d.D3D10_DDIARG_SUBRESOURCE_UP(block * 4, 16)]
    bc1 = await gpu.texture(8, 8, DXGI_FORMAT.BC1_UNORM, pInitialDataUP=initial)
    other = await gpu.texture(2, 2, DXGI_FORMAT.R32G32_UINT)
    await gpu.call("pfnResourceCopyRegion", other, 0, 0, 0, 0, bc1, 0, None)
    words = await gpu.read_texture(other, 2, 2, 8, format=DXGI_FORMAT.R32G32_UINT)
    assert words.tobytes() == block * 4
    depth = await gpu.texture(16, 16, DXGI_FORMAT.D24_UNORM_S8_UINT, bind=B.DEPTH_STENCIL)
    arg = d3d.D3D11DDIARG_CREATEDEPTHSTENCILVIEW(
        depth, DXGI_FORMAT.D24_UNORM_S8_UINT, d3d.D3D10DDIRESOURCE_TYPE.TEXTURE2D, Tex2D=d3d.D3D10DDIARG_TEX_VIEW(0)
    )
    dsv = await gpu.create("pfnCreateDepthStencilView", arg)
    await gpu.call("pfnClearDepthStencilView", dsv, 3, 1.0, 0x5A)
    raw = await gpu.read_texture(depth, 16, 16, format=DXGI_FORMAT.D24_UNORM_S8_UINT)
    assert (raw.view(np.uint32) == 0x5AFFFFFF).all()
    mipped = await gpu.texture(16, 16, mips=5, bind=B.RENDER_TARGET | B.SHADER_RESOURCE)
    await gpu.call("pfnClearRenderTargetView", await gpu.target(mipped), (1.0, 0.0, 0.0, 1.0))
    view = d3d.D3D11DDIARG_CREATESHADERRESOURCEVIEW(
        mipped,
        DXGI_FORMAT.R8G8B8A8_UNORM,
        d3d.D3D10DDIRESOURCE_TYPE.TEXTURE2D,
        Tex2D=d3d.D3D10DDIARG_TEX_SHADERRESOURCEVIEW(0, 5),
    )
    await gpu.call("pfnGenMips", await gpu.create("pfnCreateShaderResourceView", view))
    small = await gpu.texture(1, 1, bind=B.RENDER_TARGET)
    await gpu.call("pfnResourceCopyRegion", small, 0, 0, 0, 0, mipped, 4, None)
    assert (await gpu.read_texture(small, 1, 1)).reshape(-1).tolist() == [255, 0, 0, 255]
    assert gpu.errors == []


async def test_update_of_a_band_of_whole_rows(gpu: FakeGpu) -> None:
    width, height, top, bottom = 100, 6000, 10, 5900  # with the pitch of its rows, several pieces
    h = await gpu.texture(width, height)
    before = np.full((height, width, 4), 7, np.uint8)
    await gpu.call("pfnResourceUpdateSubresourceUP", h, 0, None, before, 4 * width, 0)
    data = np.random.default_rng(1).integers(0, 256, (bottom - top, width + 5, 4), np.uint8)
    box = d3d.D3D10_DDI_BOX(0, top, 0, width, bottom, 1)
    await gpu.call("pfnResourceUpdateSubresourceUP", h, 0, box, data, 4 * (width + 5), 0)
    image = await gpu.read_texture(h, width, height)
    assert np.array_equal(image[top:bottom], data[:, :width])
    assert (image[:top] == 7).all()
    assert (image[bottom:] == 7).all()
    assert gpu.errors == []
    short = data.reshape(-1)[: -6 * 4]  # the pitch behind the last row is not read, the row is
    await gpu.call("pfnResourceUpdateSubresourceUP", h, 0, box, short, 4 * (width + 5), 0)
    assert len(gpu.errors) == 1


async def test_update_of_one_slice_of_a_volume(gpu: FakeGpu) -> None:
    T = d3d.D3D10DDIRESOURCE_TYPE
    infos = [d3d.D3D10DDI_MIPINFO(8, 4, 4, 8, 4, 4)]
    volume = d3d.D3D11DDIARG_CREATERESOURCE(infos, T.TEXTURE3D, DXGI_FORMAT.R8_UINT, B.SHADER_RESOURCE)
    h = await gpu.create("pfnCreateResource", volume)
    data = np.arange(32, dtype=np.uint8)
    await gpu.call("pfnResourceUpdateSubresourceUP", h, 0, d3d.D3D10_DDI_BOX(0, 0, 2, 8, 4, 3), data, 8, 0)
    one = await gpu.texture(8, 4, DXGI_FORMAT.R8_UINT)
    for z, expected in ((1, np.zeros(32)), (2, data), (3, np.zeros(32))):
        await gpu.call("pfnResourceCopyRegion", one, 0, 0, 0, 0, h, 0, d3d.D3D10_DDI_BOX(0, 0, z, 8, 4, z + 1))
        found = await gpu.read_texture(one, 8, 4, 1, format=DXGI_FORMAT.R8_UINT)
        assert (found.reshape(-1) == expected).all()
    assert gpu.errors == []


async def test_volume_update_copy_and_map(gpu: FakeGpu) -> None:
    T = d3d.D3D10DDIRESOURCE_TYPE
    infos = [d3d.D3D10DDI_MIPINFO(8, 4, 4, 8, 4, 4), d3d.D3D10DDI_MIPINFO(4, 2, 2, 4, 2, 2)]
    volume = d3d.D3D11DDIARG_CREATERESOURCE(infos, T.TEXTURE3D, DXGI_FORMAT.R8_UINT, B.SHADER_RESOURCE, MipLevels=2)
    h = await gpu.create("pfnCreateResource", volume)
    box = d3d.D3D10_DDI_BOX(1, 1, 1, 4, 2, 3)
    await gpu.call("pfnResourceUpdateSubresourceUP", h, 0, box, np.arange(64, dtype=np.uint8), 8, 32)
    volume = d3d.D3D11DDIARG_CREATERESOURCE(
        infos, T.TEXTURE3D, DXGI_FORMAT.R8_UINT, B.NONE, 3, d3d.D3D10_DDI_CPU_ACCESS.READ, MipLevels=2  # type: ignore[arg-type]
    )
    staging = await gpu.create("pfnCreateResource", volume)
    await gpu.call("pfnResourceCopyRegion", staging, 0, 0, 0, 2, h, 0, d3d.D3D10_DDI_BOX(0, 0, 1, 8, 4, 3))
    m = d3d.D3D10DDI_MAPPED_SUBRESOURCE()
    await gpu.call("pfnStagingResourceMap", staging, 0, d3d.D3D10_DDI_MAP.READ, 0, m)
    assert gpu.errors == [], gpu.error_text
    assert m.pData is not None
    cells = np.stack([m.pData[z * m.DepthPitch :][: 4 * m.RowPitch].reshape(4, m.RowPitch)[:, :8] for z in range(4)])
    expected = np.zeros((4, 4, 8), np.uint8)
    expected[2, 1, 1:4] = [0, 1, 2]
    expected[3, 1, 1:4] = [32, 33, 34]
    assert (cells == expected).all()


async def test_array_slices_and_mips_are_addressed(gpu: FakeGpu) -> None:
    h = await gpu.texture(8, 8, DXGI_FORMAT.R32_UINT, mips=2, slices=6, bind=B.SHADER_RESOURCE | B.RENDER_TARGET)
    for index in range(12):
        size = 8 >> (index % 2)
        data = np.full((size, size), index + 1, np.uint32)
        await gpu.call("pfnResourceUpdateSubresourceUP", h, index, None, data, size * 4, 0)
    one = await gpu.texture(4, 4, DXGI_FORMAT.R32_UINT)
    for array_slice in range(6):
        await gpu.call("pfnResourceCopyRegion", one, 0, 0, 0, 0, h, 1 + array_slice * 2, None)
        texels = await gpu.read_texture(one, 4, 4, format=DXGI_FORMAT.R32_UINT)
        assert (texels.view(np.uint32) == 2 + array_slice * 2).all()
    assert gpu.errors == []


async def test_multisampled_clear_and_resolve(gpu: FakeGpu) -> None:
    four = await gpu.texture(8, 8, bind=B.RENDER_TARGET, SampleDesc=d3d.DXGI_SAMPLE_DESC(4))
    await gpu.call("pfnClearRenderTargetView", await gpu.target(four), (0.0, 1.0, 0.0, 1.0))
    flat = await gpu.texture(8, 8, bind=B.RENDER_TARGET)
    await gpu.call("pfnResourceResolveSubresource", flat, 0, four, 0, DXGI_FORMAT.R8G8B8A8_UNORM)
    assert (await gpu.read_texture(flat, 8, 8)).reshape(-1, 4).tolist() == [[0, 255, 0, 255]] * 64
    assert gpu.errors == []


async def test_typed_buffers_and_structured_reads(gpu: FakeGpu) -> None:
    T = d3d.D3D10DDIRESOURCE_TYPE
    data = np.arange(16, dtype=np.uint32)
    typed = await gpu.buffer(64, B.SHADER_RESOURCE, data=data)
    structured = await gpu.buffer(64, B.SHADER_RESOURCE, data=data * 10, ByteStride=16, MiscFlags=0x40)
    a = d3d.D3D11DDIARG_CREATESHADERRESOURCEVIEW(
        typed, DXGI_FORMAT.R32G32_UINT, T.BUFFER, Buffer=d3d.D3D10DDIARG_BUFFER_VIEW(2, 4)
    )
    b = d3d.D3D11DDIARG_CREATESHADERRESOURCEVIEW(
        structured, DXGI_FORMAT.UNKNOWN, T.BUFFER, Buffer=d3d.D3D10DDIARG_BUFFER_VIEW(1, 3)
    )
    views = [await gpu.create("pfnCreateShaderResourceView", v) for v in (a, b)]
    await gpu.call("pfnCsSetShaderResources", 0, 2, views)
    out = await gpu.compute(
        f"""{GROUP}
        dcl_temps 3
        ld r0.xyzw, l(1, 0, 0, 0), t0.yxzw
        ld r1.xyzw, l(4, 0, 0, 0), t0.xyzw
        ld_structured r2.xyz, l(1), l(4), t1.zyxx
        bufinfo r2.w, t1.x
        store_raw u0.xyzw, l(0), r0.xyzw
        store_raw u0.xyzw, l(16), r1.xyzw
        store_raw u0.xyzw, l(32), r2.xyzw""",
        declarations="dcl_resource_buffer (uint,uint,uint,uint) t0\ndcl_resource_structured t1, 16",
    )
    assert out[:4].tolist() == [7, 6, 0, 1]
    assert out[4:7].tolist() == [0, 0, 0]
    assert out[8:12].tolist() == [110, 100, 90, 3]
